"""Figures that the guides print are what the code says."""

from __future__ import annotations

import re

from imabo.demo.running import TYPICAL_SEED
from imabo.evaluation import plan
from tests.docs.pages import DOCS, ROOT, blocks


def test_the_table_of_requests_is_what_plan_says() -> None:
    text = (DOCS / "guides" / "how-many-requests.md").read_text(encoding="utf-8")
    table = re.search(r"^\| to within .*?\n\n", text, re.MULTILINE | re.DOTALL)
    assert table is not None
    head, _, *rows = (line.strip("| ").split(" | ") for line in table[0].strip().splitlines())
    shares = [float(cell.removeprefix("share ")) for cell in head[1:]]
    for within, *printed in rows:
        needed = [plan(share, 0.6, float(within)).rewards for share in shares]
        assert [int(cell.replace(",", "")) for cell in printed] == needed


def test_the_readme_begins_with_one_line_that_installs_and_ten_that_run() -> None:
    install, program, *_ = blocks(ROOT / "README.md")
    assert [line.startswith("pip install ") for line in install.commands] == [True]
    assert program.kind == "python"
    assert len([line for line in program.text.splitlines() if line.strip()]) <= 10
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    places = [text.index(one) for one in ("```python", "images/demo.svg", "images/regret.svg")]
    assert places == sorted(places)


def test_the_demo_page_names_the_seed_that_the_demo_takes() -> None:
    text = (DOCS / "demo.md").read_text(encoding="utf-8")
    assert f"you see seed {TYPICAL_SEED}" in text
    picture = (DOCS / "images" / "demo.svg").read_text(encoding="utf-8")
    assert f"seed {TYPICAL_SEED}: 3,000 requests" in picture


def test_the_first_pages_lead_to_every_guide() -> None:
    for page in ("README.md", "docs/index.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        missing = [
            one.name for one in (DOCS / "guides").glob("*.md") if f"guides/{one.name})" not in text
        ]
        assert missing == [], page


def test_the_table_of_layers_has_every_module() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    layers = text.partition("## Layers")[2].partition("The core imports")[0]
    parts = [one for one in (ROOT / "src/imabo").iterdir() if not one.name.startswith(("_", "py."))]
    assert len(parts) > 40
    assert [one.name for one in parts if not re.search(rf"`{one.stem}[`/]", layers)] == []
