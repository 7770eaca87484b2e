"""Figures that the guides print are what the code says."""

from __future__ import annotations

import re

from imabo.evaluation import plan
from tests.docs.pages import DOCS


def test_the_table_of_requests_is_what_plan_says() -> None:
    text = (DOCS / "guides" / "how-many-requests.md").read_text(encoding="utf-8")
    table = re.search(r"^\| to within .*?\n\n", text, re.MULTILINE | re.DOTALL)
    assert table is not None
    head, _, *rows = (line.strip("| ").split(" | ") for line in table[0].strip().splitlines())
    shares = [float(cell.removeprefix("share ")) for cell in head[1:]]
    for within, *printed in rows:
        needed = [plan(share, 0.6, float(within)).rewards for share in shares]
        assert [int(cell.replace(",", "")) for cell in printed] == needed
