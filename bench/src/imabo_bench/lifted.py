"""The lift of a run: what its method says, and what is true."""

from __future__ import annotations

from typing import Any, Final

from imabo_bench.methods.base import Player, Served

_EVERY: Final = 50  # rewards between two looks at whether the interval is wrong


class LiftBook:
    """Keeps the true lift of a run with a control, and how often its interval missed it.

    The truth is the average, over the requests whose reward came in, of the tuned side's mean at
    the time less the control's. What the tuned side would have served a request of the control is
    not known: the mean of its last request stands for it.
    """

    def __init__(self, player: Player) -> None:
        self._player = player
        self._last_tuned: float | None = None
        self._lifts: dict[str, float] = {}
        self._total = 0.0
        self.n = self.n_wrong = 0
        self.n_tuned = 0
        self.tuned_regret = 0.0

    def serve(self, served: Served, mean: float, control: float | None, optimum: float) -> None:
        """A request was served, with what has this mean; ``control`` is the control's."""
        if served.group != "control":
            self.n_tuned += 1
            self.tuned_regret += optimum - mean
            self._last_tuned = mean
        if control is not None and self._last_tuned is not None:
            self._lifts[served.key] = self._last_tuned - control

    def tell(self, key: str) -> None:
        """Its reward came in."""
        lift = self._lifts.pop(key, None)
        if lift is None:
            return
        self.n += 1
        self._total += 0.0 if self._player.is_same else lift
        if self.n % _EVERY == 0:
            self.n_wrong += self.covered() is False

    def covered(self, ends: tuple[float, float] | None = None) -> bool | None:
        """Whether the interval holds the truth now; None where there is none."""
        ends = ends or (self._player.lift() if self.n else None)
        return None if ends is None else ends[0] <= self._total / self.n <= ends[1]

    def values(self, played: int) -> dict[str, Any]:
        """What a checkpoint has of it."""
        ends = self._player.lift() if self.n else None
        return {
            "tuned_loss": self.tuned_regret,
            "tuned_regret": self.tuned_regret * played / max(self.n_tuned, 1),
            "lift_covered": None if ends is None else self.covered(ends),
            "lift_width": None if ends is None else ends[1] - ends[0],
        }
