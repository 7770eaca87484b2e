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
        """With more rewards, in the order in which they came in; the same, however many at once."""
        taken = [outcome for outcome in outcomes if 0.0 < outcome.share < 1.0]
        if not taken:
            return self
        e = np.array([outcome.share for outcome in taken])
        is_control = np.array([outcome.is_control for outcome in taken])
        share = e[:, None]
        chance = share * RATIOS / (share * RATIOS + 1.0 - share)  # the control's, at each ratio
        odds = np.where(is_control[:, None], chance / share, (1.0 - chance) / (1.0 - share))
        # Added one after the other, so that it does not matter how many come at a time.
        evidence = np.cumsum(np.vstack([self.evidence, np.log(odds)]), axis=0)[1:]  # (balance)
        highest = evidence.max(axis=1)
        capital = highest + np.log(np.exp(evidence - highest[:, None]).mean(axis=1))
        return replace(
            self,
            n=self.n + len(taken),
            n_control=self.n_control + int(is_control.sum()),
            expected=float(np.cumsum([self.expected, *e])[-1]),
            evidence=tuple(evidence[-1].tolist()),
            differs=self.differs or bool((capital >= -math.log(1.0 - self.level)).any()),
        )

    def to_dict(self) -> dict[str, Any]:
        """As a JSON document."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**values, "evidence": list(self.evidence)}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """What ``to_dict`` wrote."""
        return cls(**{**document, "evidence": tuple(document["evidence"])})
