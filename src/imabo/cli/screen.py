"""The live view of a study, drawn by rich."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table as Grid
from rich.text import Text

from imabo.cli.drawing import rich_table
from imabo.cli.look import arm_rows, event_text, key_figures
from imabo.cli.output import clean
from imabo.cli.sparkline import labelled
from imabo.cli.watch import Look


class Screen:
    """The whole terminal, until the block ends.

    Args:
        study: Whose view it is.
    """

    def __init__(self, study: str) -> None:
        self._study = study
        self._console = Console(file=sys.stdout, highlight=False)
        self._live = Live(console=self._console, screen=True, auto_refresh=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
        figures = Grid.grid(padding=(0, 2))
        for name, text in key_figures(look.overview):
            figures.add_row(Text(name, style="dim"), Text(text))
        plain = "utf" not in (self._console.encoding or "").lower()
        line = labelled(look.overview["trend"], max(self._console.width - 20, 10), plain=plain)
        figures.add_row(Text("over time", style="dim"), Text(line, style="green"))
        if look.drift is not None:
            happened = Text(event_text(look.drift), style="yellow")
            figures.add_row(Text("last change", style="dim"), happened)
        parts: list[RenderableType] = [title, Text(), figures]
        if look.table["rows"]:
            parts += [Text(), rich_table(arm_rows(look.table, is_short=True), is_compact=True)]
        return Group(*parts)
