"""Runs pages in a process of their own: ``python -m tests.docs.apart URL PAGE...``.

For pages that show other libraries: these take seconds to import, warn, and leave connections open,
which is no business of the tests that come after. The URL is that of a server of models.
"""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType

from tests.docs.pages import MODEL, blocks


def run(page: Path, url: str) -> None:
    """Run the Python of a page from top to bottom; what fails, or prints too little, raises."""
    name = f"page_{page.stem}"  # not that of a library
    module = ModuleType(name)
    sys.modules[name] = module  # types are looked up there
    for block in blocks(page):
        if block.kind != "python":
            continue
        text, said = block.text.replace(MODEL, url), io.StringIO()
        with redirect_stdout(said):
            exec(compile(text, str(page), "exec", dont_inherit=True), module.__dict__)
        shown = sum("print(" in line for line in block.text.splitlines())
        lines = said.getvalue().splitlines()
        if len(lines) < shown:
            raise AssertionError(f"{page.name} printed {lines} where it prints {shown} times")
        print(*lines, sep="\n")


if __name__ == "__main__":
    for name in sys.argv[2:]:
        run(Path(name), sys.argv[1])
