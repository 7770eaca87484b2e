"""Progress on standard error, for what takes longer than a moment and only on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

Step = Callable[[int], None]


@contextmanager
def progress(label: str, total: int | None = None) -> Iterator[Step]:
    """Show how far something is; yields what counts the steps that were done.

    Args:
        label: What is being done.
        total: How many steps there will be, when that is known.
    """
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    try:
        from imabo.cli.drawing import bar
    except ImportError:
        yield lambda done: None
        return
    with bar(label, total) as step:
        yield step


class CountedLines:
    """A text file that counts the lines that are written to it.

    Args:
        file: Where they go.
        step: Gets how many came.
    """

    def __init__(self, file: TextIO, step: Step) -> None:
        self._file = file
        self._step = step

    def write(self, text: str) -> int:
        """Write a piece of text."""
        self._step(text.count("\n"))
        return self._file.write(text)
