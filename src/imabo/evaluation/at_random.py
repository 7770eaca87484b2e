"""What serving at random would give, from rewards that nothing selected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from imabo.confidence import bounded_interval
from imabo.errors import InvalidSetting
from imabo.evaluation.bets import Floats
from imabo.evaluation.sequences import asymptotic_half_width, checked_finite, checked_unit
from imabo.settings import check_count, check_fraction, check_positive

ENOUGH: Final = 0.15  # half-width, as a part of the range, that is surely reached when it is known
_ENOUGH_OPEN: Final = 30  # rewards without a range below which nothing is said
_TIGHT_AT: Final = 100.0
_TRIED: Final = np.unique(np.geomspace(1.0, 1e6, 240).round())

Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class RandomServing:
    """The mean reward of a configuration drawn from P0, on the unit scale if there is a range.

    Attributes:
        mean: The estimate; None while it is not known yet.
        interval: Covers it at every moment together; None without a reward.
        n: Rewards that it rests on.
        is_known: Whether it rests on enough rewards to be shown, whatever these were.
        n_more: Rewards of such requests that are still needed, about; 0 when it is known.
        level: Coverage.
    """

    mean: float | None
    interval: Ends | None
    n: int
    is_known: bool
    n_more: int
    level: float


def random_serving(
    first_rewards: Sequence[float] | Floats,
    *,
    n_control: int = 0,
    control_sum: float = 0.0,
    control_squares: float = 0.0,
    level: float = 0.95,
    enough: float = ENOUGH,
    is_bounded: bool = True,
) -> RandomServing:
    """Estimate what serving at random would give.

    An arm that was unlucky is served less, so the mean of the arms' means is too low. What is used
    here was chosen by nobody: of each arm that was drawn from P0, the reward of the very pull that
    admitted it, where it came; and all rewards of a random control.

    Args:
        first_rewards: Rewards of the pulls that admitted an arm drawn from P0, on the unit scale
            where there is a range. In a finite space only those of the warm-up: later draws skip
            the arms that are there, which are the better ones.
        n_control: Rewards of a random control.
        control_sum: Their sum.
        control_squares: Their squares' sum; needed without a range only.
        level: Coverage.
        enough: It is known after as many rewards as make half the width at most this, whatever they
            are: if a lucky or unlucky beginning were shown sooner, what is shown would be off.
            Without a range it is known after 30 rewards.
        is_bounded: Whether rewards have a range.

    Example:
        >>> few = random_serving([1.0, 0.0, 1.0])
        >>> few.is_known, few.mean, few.n_more > 10
        (False, None, True)
        >>> random_serving([1.0, 0.0, 1.0], n_control=400, control_sum=200.0).mean
        0.5012406947890818
    """
    check_fraction("level", level)
    check_positive("enough", enough)
    check_count("n_control", n_control)
    x = checked_unit(first_rewards) if is_bounded else checked_finite(first_rewards)
    if is_bounded and not 0.0 <= control_sum <= n_control:
        raise InvalidSetting(
            f"control_sum is {control_sum!r}",
            f"{n_control} rewards on the unit scale add up to at most {n_control}",
            "map the rewards to [0, 1] first",
        )
    n = len(x) + n_control
    total = float(x.sum()) + control_sum
    if not is_bounded:
        squares = float((x**2).sum()) + control_squares
        return _open(n, total, squares, level)
    needed = _needed(enough, level)
    is_known = n >= needed
    return RandomServing(
        mean=total / n if is_known else None,
        interval=_ends(n, total, level) if n else None,
        n=n,
        is_known=is_known,
        n_more=max(needed - n, 0),
        level=level,
    )


def _ends(n: float, total: float, level: float) -> Ends:
    low, high = bounded_interval(np.array([float(n)]), np.array([total]), level)
    return float(low[0]), float(high[0])


@lru_cache(maxsize=64)
def _needed(half_width: float, level: float) -> int:
    """Rewards until half the width is that small, for the mean that needs the most: 1/2."""
    low, high = bounded_interval(_TRIED, 0.5 * _TRIED, level)
    wide = 0.5 * (high - low) > half_width
    return int(_TRIED[min(int(np.count_nonzero(wide)), len(_TRIED) - 1)])


def _open(n: int, total: float, squares: float, level: float) -> RandomServing:
    if n < _ENOUGH_OPEN:
        return RandomServing(None, None, n, False, _ENOUGH_OPEN - n, level)
    mean = total / n
    half = asymptotic_half_width(n, max(squares / n - mean**2, 0.0), level, _TIGHT_AT)
    return RandomServing(mean, (mean - half, mean + half), n, True, 0, level)
