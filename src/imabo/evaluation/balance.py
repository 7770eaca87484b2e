"""Whether the two groups' feedback comes in at the same rate, as the lift needs it to."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

import numpy as np

from imabo.evaluation.tally import Outcome
from imabo.settings import check_fraction

_UP: Final = (1.05, 1.1, 1.2, 1.4, 2.0, 4.0)
RATIOS: Final = np.array([*(1.0 / ratio for ratio in _UP), *_UP])


@dataclass(frozen=True, slots=True)
class FeedbackBalance:
    """A test that the control's feedback comes as often as the tuned side's, at every moment.

    If it does, a reward that comes in is the control's with the very probability of the coin,
    whatever came before. Likelihood ratios against rates that differ by a factor, eq. (balance),
    grow when it is not. Without a difference, ``differs`` ever becomes true in at most 1 - level
    of the studies; once true it stays.

    Args:
        level: How sure to be, in (0, 1).

    Example:
        >>> even = [Outcome(1.0, i % 5 == 0, 0.2) for i in range(1000)]
        >>> FeedbackBalance().update(even).differs
        False
        >>> lost = [one for i, one in enumerate(even) if i % 2 or not one.is_control]
        >>> found = FeedbackBalance().update(lost)
        >>> found.differs, round(found.ratio, 1)
        (True, 0.5)
    """

    level: float = 0.99
    n: int = 0
    n_control: int = 0
    expected: float = 0.0  # rewards of the control, if the rates are the same
    evidence: tuple[float, ...] = (0.0,) * len(RATIOS)
    differs: bool = False

    def __post_init__(self) -> None:
        check_fraction("level", self.level)

    @property
    def ratio(self) -> float | None:
        """The control's feedback rate over the tuned side's, as estimated; None before both."""
        tuned = self.n - self.n_control
        if not self.n_control or not tuned:
            return None
        return (self.n_control / self.expected) / (tuned / (self.n - self.expected))

    def update(self, outcomes: Iterable[Outcome]) -> Self:
        """With more rewards, in the order in which they came in."""
        balance = self
        for outcome in outcomes:
            if 0.0 < outcome.share < 1.0:
                balance = balance._next(outcome.is_control, outcome.share)
        return balance

    def _next(self, is_control: bool, e: float) -> Self:
        chance = e * RATIOS / (e * RATIOS + 1.0 - e)  # that it is the control's, at each ratio
        gain = np.log(chance / e) if is_control else np.log((1.0 - chance) / (1.0 - e))
        evidence = np.array(self.evidence) + gain  # (balance)
        highest = float(evidence.max())
        capital = highest + math.log(float(np.exp(evidence - highest).mean()))
        return replace(
            self,
            n=self.n + 1,
            n_control=self.n_control + int(is_control),
            expected=self.expected + e,
            evidence=tuple(evidence.tolist()),
            differs=self.differs or capital >= -math.log(1.0 - self.level),
        )

    def to_dict(self) -> dict[str, Any]:
        """As a JSON document."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**values, "evidence": list(self.evidence)}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """What ``to_dict`` wrote."""
        return cls(**{**document, "evidence": tuple(document["evidence"])})
