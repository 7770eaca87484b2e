"""The kinds of events: the ones that are written, and the ones that the guide lists."""

from __future__ import annotations

import re
from pathlib import Path

from imabo.event_kinds import KINDS

GUIDE = Path(__file__).parents[2] / "docs/guides/webhooks.md"


def test_the_guide_lists_every_kind() -> None:
    table = GUIDE.read_text(encoding="utf-8").split("|---|---|---|\n")[1].split("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()]
    assert sorted(name for one in cells for name in re.findall("`([^`]+)`", one)) == sorted(KINDS)
