"""The story while it happens: a progress line, and a line whenever something is worth telling."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import Any, Final, TextIO

from imabo.demo.traffic import Reply
from imabo.demo.world import NEW_MODEL
from imabo.events import Event

_LINES: Final = 10  # of progress, where there is no terminal
_BAR: Final = 20
_BEST_AT: Final = (0.25, 0.5, 0.75)  # when the best so far is told


class Story:
    """Tells what the study itself knows; the truth about the world is for the summary."""

    def __init__(self, rounds: int, out: TextIO, looks: int) -> None:
        self._rounds, self._out = rounds, out
        self._is_live = out.isatty()
        self._every = max(1, rounds // looks)
        self._line_every = max(1, rounds // (looks if self._is_live else _LINES))
        self._best_at = [max(1, int(rounds * share)) for share in _BEST_AT]
        self._is_warm = self._saw_new = self._found_new = False
        self.noticed: list[tuple[int, str]] = []  # changes of the world: when it told, and what

    def wants_look(self, n: int) -> bool:
        """Whether request ``n`` is one after which to look at the study."""
        return n % self._every == 0 or n == self._rounds or n in self._best_at

    def answered(self, answer: Reply) -> None:
        """A user was served."""
        if answer.config["model"] == NEW_MODEL and not self._saw_new:
            self._saw_new = True
            self.say(answer.visit.n, f"the first user meets the {NEW_MODEL} model")

    def looked(self, n: int, overview: Mapping[str, Any]) -> None:
        """The study was looked at."""
        best = overview["best"]
        if not self._is_warm and overview["state"] in ("learning", "settled"):
            self._is_warm = True
            self.say(n, f"the warm-up is over: {overview['n_arms']} arms tried, now it learns")
        if best and best["config"]["model"] == NEW_MODEL and not self._found_new:
            self._found_new = True
            self.say(n, f"found: the {NEW_MODEL} model is now recommended, {best_text(best)}")
        elif best and n in self._best_at:
            self.say(n, f"best so far: {best['config']['model']} model, {best_text(best)}")
        if n % self._line_every == 0 or n == self._rounds:
            self._progress(n, overview)

    def happened(self, n: int, events: Sequence[Event]) -> None:
        """What has happened to the study by request ``n``; changes that are new are told."""
        drifts = [event for event in events if event.kind == "drift"]
        for event in drifts[len(self.noticed) :]:
            self.noticed.append((n, str(event)))
            self.say(n, f"the study noticed a change: {event}")

    def say(self, n: int, text: str) -> None:
        """A line that stays."""
        self._write(f"request {n:,}: {text}", stays=True)

    def _progress(self, n: int, overview: Mapping[str, Any]) -> None:
        filled = round(_BAR * n / self._rounds)
        lately = overview["recent_mean"]
        parts = [
            f"[{'#' * filled}{'.' * (_BAR - filled)}] {n:,} of {self._rounds:,}",
            f"good lately {'-' if lately is None else format(lately, '.0%')}",
            f"arms {overview['n_arms']}",
            f"ratings {overview['n_rewards']}",
            f"waiting {overview['n_pending']}",
            f"given up {overview['n_expired']}",
        ]
        self._write("  ".join(parts), stays=not self._is_live or n == self._rounds)

    def _write(self, line: str, *, stays: bool) -> None:
        if self._is_live:
            # Over the progress line, which is cut rather than wrapped.
            width = shutil.get_terminal_size().columns - 1
            line = "\r" + (line if stays else line[:width]).ljust(width)
        self._out.write(line.rstrip() + "\n" if stays else line)
        self._out.flush()


def best_text(best: Mapping[str, Any]) -> str:
    """A recommendation in a few words."""
    low, high = best["interval"]
    rate = f"good {best['mean']:.0%} of the time"
    return f"{rate} (95% interval {low:.0%} to {high:.0%}, {best['n_rewards']} ratings)"
