"""Confidence sequences: intervals for a mean that hold at every moment together.

All three are values: ``update`` returns the next one, score by score or many at once with the same
result, and ``to_dict`` is a small JSON document that can be kept in a row of a store.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Final, Self

import numpy as np

from imabo.errors import InvalidReward
from imabo.evaluation.bets import SIZES, Floats, log_gains, log_weights, reach
from imabo.settings import check_fraction, check_positive

_AT_START: Final = 0.5  # the mean that is expected before the first score
_TIGHT_AT: Final = 300.0  # scores at which the betting sequence is tightest
_WEIGHTS: Final = log_weights(0.25, 0.5, _TIGHT_AT)

Ends = tuple[float, float]


class _Sequence:
    """What the three share: a level, the mean so far, and a document for a store."""

    __slots__ = ()
    level: float
    n: int
    total: float

    def __post_init__(self) -> None:
        check_fraction("level", self.level)

    @property
    def mean(self) -> float | None:
        """Mean of the scores, None without any."""
        return self.total / self.n if self.n else None

    def to_dict(self) -> dict[str, Any]:
        """As a JSON document."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """The sequence that ``to_dict`` wrote."""
        return cls(**{k: tuple(v) if isinstance(v, list) else v for k, v in document.items()})


class _OneByOne(_Sequence, ABC):
    """A sequence that takes its scores one after the other."""

    __slots__ = ()
    in_unit: ClassVar[bool]  # whether scores must be in [0, 1]

    def update(self, scores: Sequence[float] | Floats) -> Self:
        """The sequence with more scores, in their order."""
        sequence = self
        checked = checked_unit if self.in_unit else checked_finite
        for score in checked(scores).tolist():
            sequence = sequence._next(score)
        return sequence

    @abstractmethod
    def _next(self, x: float) -> Self:
        """The sequence with one more score."""


@dataclass(frozen=True, slots=True)
class Betting(_Sequence):
    """A betting sequence for the mean of scores in [0, 1]: the tightest that is proved here.

    Bets of many sizes are made on the scores being higher, and lower, than the mean so far; a mean
    against which they have earned 2 / (1 - level) is left out. Eq. (capital) and (ends).

    ``interval`` holds for the average of the conditional means so far, even if they change.
    ``running`` is the intersection over all moments: tighter, for a mean that stays as it is.

    Args:
        level: Coverage at all moments together, in (0, 1).

    Example:
        >>> sequence = Betting(0.95).update([0.4, 0.6] * 200)
        >>> low, high = sequence.interval
        >>> round(low, 2), round(high, 2)
        (0.48, 0.52)
        >>> Betting.from_dict(sequence.to_dict()) == sequence
        True
    """

    level: float = 0.95
    n: int = 0
    total: float = 0.0
    centres: float = 0.0
    higher: tuple[float, ...] = (0.0,) * len(SIZES)
    lower: tuple[float, ...] = (0.0,) * len(SIZES)
    running: Ends = (0.0, 1.0)

    @property
    def interval(self) -> Ends:
        """Both ends, from all scores so far."""
        ends = self._ends(
            np.array([float(self.n)]),
            np.array([self.centres]),
            np.array([self.higher]),
            np.array([self.lower]),
        )
        return float(ends[0][0]), float(ends[1][0])

    def update(self, scores: Sequence[float] | Floats) -> Self:
        """The sequence with more scores, in their order."""
        x = checked_unit(scores)
        if not len(x):
            return self
        n = self.n + np.arange(len(x) + 1.0)
        totals = np.cumsum(np.concatenate(([self.total], x)))
        centre = (_AT_START + totals[:-1]) / (1.0 + n[:-1])  # known before the score
        higher, lower = log_gains(x - centre, centre, 1.0 - centre)
        highers = np.cumsum(np.vstack(([self.higher], higher)), axis=0)[1:]
        lowers = np.cumsum(np.vstack(([self.lower], lower)), axis=0)[1:]
        centres = np.cumsum(np.concatenate(([self.centres], centre)))[1:]
        lows, highs = self._ends(n[1:], centres, highers, lowers)
        return replace(
            self,
            n=self.n + len(x),
            total=float(totals[-1]),
            centres=float(centres[-1]),
            higher=tuple(highers[-1].tolist()),
            lower=tuple(lowers[-1].tolist()),
            running=(
                max(self.running[0], float(lows.max())),
                min(self.running[1], float(highs.min())),
            ),
        )

    def _ends(
        self, n: Floats, centres: Floats, higher: Floats, lower: Floats
    ) -> tuple[Floats, Floats]:
        limit = math.log(2.0 / (1.0 - self.level))
        centre = centres / np.maximum(n, 1.0)
        low = centre - reach(higher, n, _WEIGHTS, limit)  # (ends)
        high = centre + reach(lower, n, _WEIGHTS, limit)
        return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class Bernstein(_OneByOne):
    """The empirical-Bernstein sequence with predictable plug-in, for scores in [0, 1].

    Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting" (2024),
    theorem 2: eq. (bernstein). Simple and well known, and wider than ``Betting``. It holds for the
    average of the conditional means, weighted by the sizes of its bets.

    Args:
        level: Coverage at all moments together, in (0, 1).

    Example:
        >>> sequence = Bernstein(0.95).update([0.4, 0.6] * 200)
        >>> low, high = sequence.interval
        >>> round(low, 2), round(high, 2)
        (0.48, 0.52)
    """

    in_unit = True
    level: float = 0.95
    n: int = 0
    total: float = 0.0
    spread: float = 0.0  # sum of (x - the mean before it, with it)^2
    bets: float = 0.0
    weighted: float = 0.0
    cost: float = 0.0
    running: Ends = (0.0, 1.0)

    @property
    def interval(self) -> Ends:
        """Both ends, from all scores so far."""
        if not self.n:
            return 0.0, 1.0
        centre = self.weighted / self.bets
        half = (math.log(2.0 / (1.0 - self.level)) + self.cost) / self.bets  # (bernstein)
        return max(centre - half, 0.0), min(centre + half, 1.0)

    def _next(self, x: float) -> Self:
        t = self.n + 1
        before = (_AT_START + self.total) / t
        variance = (0.25 + self.spread) / t
        limit = 2.0 * math.log(2.0 / (1.0 - self.level))
        bet = min(0.5, math.sqrt(limit / (variance * t * math.log1p(t))))  # lambda_t
        after = (_AT_START + self.total + x) / (t + 1)
        sequence = replace(
            self,
            n=t,
            total=self.total + x,
            spread=self.spread + (x - after) ** 2,
            bets=self.bets + bet,
            weighted=self.weighted + bet * x,
            cost=self.cost + (x - before) ** 2 * (-math.log1p(-bet) - bet),  # psi(lambda_t)
        )
        low, high = sequence.interval
        ends = max(self.running[0], low), min(self.running[1], high)
        return replace(sequence, running=ends)


@dataclass(frozen=True, slots=True)
class Asymptotic(_OneByOne):
    """An asymptotic sequence, for scores without ends: right only when there are many.

    Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform central limit theory and
    asymptotic confidence sequences" (2024), theorem 2.2: eq. (asymptotic).

    Args:
        level: Coverage, in (0, 1).
        tight_at: Number of scores at which it is tightest.

    Example:
        >>> sequence = Asymptotic(0.95).update([10.0, 14.0] * 500)
        >>> low, high = sequence.interval
        >>> round(low, 1), round(high, 1)
        (11.8, 12.2)
    """

    in_unit = False
    level: float = 0.95
    tight_at: float = 1000.0
    n: int = 0
    total: float = 0.0
    spread: float = 0.0  # sum of squared distances from the mean (Welford)
    running: Ends | None = field(default=None)

    def __post_init__(self) -> None:
        _Sequence.__post_init__(self)  # super() does not work where there are slots
        check_positive("tight_at", self.tight_at)

    @property
    def interval(self) -> Ends:
        """Both ends, from all scores so far; infinite below two."""
        if self.n < 2:
            return -math.inf, math.inf
        centre = self.total / self.n
        half = asymptotic_half_width(self.n, self.spread / self.n, self.level, self.tight_at)
        return centre - half, centre + half

    def _next(self, x: float) -> Self:
        n, total = self.n + 1, self.total + x
        before = self.total / self.n if self.n else x
        sequence = replace(
            self, n=n, total=total, spread=self.spread + (x - before) * (x - total / n)
        )
        if n < 2:
            return sequence
        low, high = sequence.interval
        if self.running is not None:
            low, high = max(self.running[0], low), min(self.running[1], high)
        return replace(sequence, running=(low, high))


def asymptotic_half_width(n: float, variance: float, level: float, tight_at: float) -> float:
    """Half the width of the asymptotic sequence after n scores; eq. (asymptotic).

    Example:
        >>> round(asymptotic_half_width(5000, 25 / 9, 0.95, 5000), 3)
        0.072
    """
    miss = 1.0 - level
    rho2 = (-2.0 * math.log(miss) + math.log(-2.0 * math.log(miss) + 1.0)) / tight_at
    bound = 2.0 * (n * rho2 + 1.0) / (n * n * rho2) * math.log(math.sqrt(n * rho2 + 1.0) / miss)
    return math.sqrt(variance * bound)


def checked_unit(scores: Sequence[float] | Floats) -> Floats:
    """Scores as an array; all must be in [0, 1]."""
    x = checked_finite(scores)
    wrong = x[(x < 0.0) | (x > 1.0)]
    if len(wrong):
        raise InvalidReward(
            f"a score is {float(wrong[0])!r}",
            "this sequence is for scores in [0, 1]",
            "map the scores to [0, 1] by the ends of their range",
        )
    return x


def checked_finite(scores: Sequence[float] | Floats) -> Floats:
    """Scores as an array; all must be finite numbers."""
    x = np.asarray(scores, dtype=np.float64).reshape(-1)
    wrong = x[~np.isfinite(x)]
    if len(wrong):
        raise InvalidReward(
            f"a score is {float(wrong[0])!r}", "a score is a finite number", "leave it out"
        )
    return x
