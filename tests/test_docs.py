"""What the documentation shows runs: every Python block of a page, in order, in one namespace."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from tests.server.running import RunningServer

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
ADDRESS = "http://127.0.0.1:8766"  # of the service in the pages
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


def blocks(page: Path) -> list[str]:
    return BLOCK.findall(page.read_text())


@contextmanager
def running_code(page: Path) -> Iterator[list[str]]:
    """The Python blocks of a page; a page that talks to a service gets one to talk to."""
    code = blocks(page)
    if not any(ADDRESS in block for block in code):
        yield code
        return
    with RunningServer() as server:
        yield [block.replace(ADDRESS, server.url) for block in code]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name
)
def test_the_code_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    module = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    with running_code(page) as code:
        for block in code:
            exec(compile(block, str(page), "exec", dont_inherit=True), module.__dict__)
    shown = [line for block in blocks(page) for line in block.splitlines() if "print(" in line]
    assert len(capsys.readouterr().out.splitlines()) >= len(shown)


def test_some_pages_have_code() -> None:
    assert sum(bool(blocks(page)) for page in PAGES) >= 3


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "ARCHITECTURE.md"], ids=lambda page: str(page.relative_to(ROOT))
)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    missing = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert missing == []
