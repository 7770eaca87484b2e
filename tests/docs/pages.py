"""The pages of the documentation and what in them can be run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
ADDRESS = "http://127.0.0.1:8766"  # of the service in the pages
GATEWAY = "http://127.0.0.1:8767"  # of the gateway in the pages
MODEL = "http://127.0.0.1:8777"  # of the server of models in the pages
FILE = re.compile(r"# ([a-z]+\.toml)\n")  # how a block begins that is a file to write
APPLICATION = "http://127.0.0.1:8000"  # of a reader's own application in the pages
DATABASE = "postgresql://imabo@db/imabo"  # of PostgreSQL in the pages

_BLOCK = re.compile(r"^(?P<before><!-- not run: .+ -->\n\n)?```(?P<kind>\w*)\n(?P<text>.*?)^```",
                    re.MULTILINE | re.DOTALL)  # fmt: skip


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and whether the page says that it is not run."""

    kind: str
    text: str
    is_excused: bool

    @property
    def commands(self) -> list[str]:
        """The commands of a console block: lines after ``$ ``, each with its continuation."""
        lines: list[str] = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                lines.append(line[2:])
            else:
                lines[-1] += f"\n{line}"
        return lines


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    for found in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        yield Block(found["kind"], found["text"], bool(found["before"]))


def name_of(page: Path) -> str:
    """A page for people: its path in the repository."""
    return str(page.relative_to(ROOT))
