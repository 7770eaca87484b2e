"""What rich draws: tables and progress on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich import box
from rich.console import Console, JustifyMethod, OverflowMethod
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table as RichTable
from rich.text import Text

from imabo.cli.output import Table


def rich_table(table: Table, *, is_compact: bool = False) -> RichTable:
    """A table as rich draws it; cells are text, whatever brackets are in them.

    Args:
        table: What to draw.
        is_compact: Cut what is too long, so that a row is a line.
    """
    drawn = RichTable(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for title in table.titles:
        justify: JustifyMethod = "right" if title in table.right else "left"
        drawn.add_column(title, justify=justify, no_wrap=title not in table.long)
    cut: OverflowMethod | None = "ellipsis" if is_compact else None
    for row in table.rows:
        drawn.add_row(*(Text(cell, no_wrap=is_compact or None, overflow=cut) for cell in row))
    return drawn


def draw_table(table: Table) -> None:
    """Print a table on standard output."""
    Console(file=sys.stdout, highlight=False).print(rich_table(table))


@contextmanager
def bar(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A progress bar, or a spinner without a total; it is gone when the work is done."""
    columns = [SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()]
    if total is not None:
        columns[2:2] = [BarColumn(), TaskProgressColumn()]
    shown = Progress(*columns, console=Console(stderr=True), transient=True)
    with shown:
        task = shown.add_task(label, total=total)
        yield lambda done: shown.advance(task, done)
