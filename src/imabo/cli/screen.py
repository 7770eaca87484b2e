"""What rich draws on a terminal: tables, progress, and the live view of a study."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

from rich import box
from rich import progress as bars
from rich.console import Console, Group, JustifyMethod, OverflowMethod, RenderableType
from rich.live import Live
from rich.table import Table as RichTable
from rich.text import Text

from imabo.cli.budget import goal_lines
from imabo.cli.look import arm_rows, event_text, key_figures
from imabo.cli.output import Table, clean, labelled_sparkline
from imabo.cli.watch import Look


def rich_table(table: Table, *, is_compact: bool = False) -> RichTable:
    """A table as rich draws it; cells are text, whatever brackets are in them.

    With ``is_compact``, what is too long is cut, so that a row is a line.
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
    ends = [bars.SpinnerColumn(), bars.TextColumn("{task.description}"), bars.TimeElapsedColumn()]
    share = [] if total is None else [bars.BarColumn(), bars.TaskProgressColumn()]
    columns = [*ends[:2], *share, ends[2]]
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(label, total=total)
        yield lambda done: shown.advance(task, done)


class Screen:
    """The whole terminal, until the block ends."""

    def __init__(self, study: str) -> None:
        self._study = study
        self._console = Console(file=sys.stdout, highlight=False)
        self._live = Live(console=self._console, screen=True, auto_refresh=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._live.stop()

    def show(self, look: Look) -> None:
        """Draw a look."""
        at = time.strftime("%H:%M:%S", time.localtime(look.at))
        # At the top: what is below the last line of a small terminal is not seen.
        head = Text(f"{at}  q ends", style="dim")
        if look.problem is not None:
            head = Text(f"{at}  away since: {clean(look.problem)}", style="bold red")
        self._live.update(Group(head, self._view(look)), refresh=True)

    def leave(self, look: Look) -> None:
        """Print the last look on the terminal as it was before."""
        self._console.print(self._view(look))

    def _view(self, look: Look) -> RenderableType:
        title = Text(f"{clean(self._study)}: {clean(look.overview['state'])}", style="bold")
        figures = RichTable.grid(padding=(0, 2))
        for name, text in [*key_figures(look.overview), *goal_lines(look.overview)]:
            figures.add_row(Text(name, style="dim"), Text(text))
        plain = "utf" not in (self._console.encoding or "").lower()
        width = max(self._console.width - 20, 10)
        line = labelled_sparkline(look.overview["trend"], width, plain=plain)
        figures.add_row(Text("over time", style="dim"), Text(line, style="green"))
        if look.drift is not None:
            happened = Text(event_text(look.drift), style="yellow")
            figures.add_row(Text("last change", style="dim"), happened)
        parts: list[RenderableType] = [title, Text(), figures]
        if look.table["rows"]:
            parts += [Text(), rich_table(arm_rows(look.table, is_short=True), is_compact=True)]
        return Group(*parts)
