"""An A/B test: a few configurations side by side, and the winner for good."""

from __future__ import annotations

from dataclasses import dataclass

from imabo.space import Config
from imabo_bench.methods.base import Method
from imabo_bench.methods.fixed import FixedPlayer
from imabo_bench.problems.base import Problem

_CONFIGS = 5
_SHARE = 5  # the test takes one in so many of the rounds


class ABTestPlayer(FixedPlayer):
    """Round robin for the first fifth of the rounds; then the best mean at that moment.

    Rewards that come later change nothing. Where none has come by then, the test goes on until
    there is one.
    """

    def __init__(self, problem: Problem, rounds: int, seed: int) -> None:
        super().__init__(problem, _CONFIGS, seed)
        self._test_rounds = rounds // _SHARE
        self._n_tested = 0
        self._shipped: int | None = None

    def choose(self) -> tuple[int, Config]:
        """The next in turn, or the one that was shipped."""
        if self._shipped is None and self._n_tested >= self._test_rounds:
            self._shipped = self.best
        number = self._shipped
        if number is None:
            number = self._n_tested % len(self.configs)
            self._n_tested += 1
        return number, self.configs[number]

    def recommend(self) -> Config | None:
        """What was shipped; before that, the highest mean."""
        return super().recommend() if self._shipped is None else self.configs[self._shipped]


@dataclass(frozen=True)
class ABTest(Method):
    """Five draws from P0 in an A/B test (see ``ABTestPlayer``); feedback may be late or lost."""

    name: str = "ab-test"
    summary: str = "an A/B test of 5 configurations for a fifth of the rounds, then the winner"

    def start(
        self, problem: Problem, *, rounds: int, seed: int, window: float | None = None
    ) -> ABTestPlayer:
        """Begin a run; the test's length comes from the horizon, the window is not used."""
        del window
        return ABTestPlayer(problem, rounds, seed)


METHODS = (ABTest(),)
