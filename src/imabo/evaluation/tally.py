"""What the rewards of two groups add up to: the state of the lift, which is a row of sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from imabo.evaluation.bets import SIZES, Floats, log_gains

_SHRINK: Final = 2.0  # rewards of the overall mean that a group's own mean starts from
_AT_START: Final = 0.5  # the overall mean that is expected before the first reward
_J: Final = len(SIZES)
# Places in the row. Of each group (tuned, control): rewards, their sum and their squares' sum. Of
# the scores: their number, the sum of their centres, their own and that of their squares, and the
# gains of the bets that the lift is higher, and lower.
N, SUMS, SQUARES = slice(0, 2), slice(2, 4), slice(4, 6)
SCORES, CENTRES, TOTAL, SPREAD = 6, 7, 8, 9
HIGHER, LOWER = slice(10, 10 + _J), slice(10 + _J, 10 + 2 * _J)
WIDTH: Final = 10 + 2 * _J


class Outcome(NamedTuple):
    """A reward that came in, for the lift.

    Attributes:
        reward: The reward, in the study's own units.
        is_control: Whether the request was served with the control.
        share: The probability that it was: the propensity that is stored with the pull.
        day: Number of the day on which it came in, to tell days apart; any whole number that rises.
    """

    reward: float
    is_control: bool
    share: float
    day: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Sums over a stretch of rewards, and the control's share when it began.

    Of two moments of a study, the later less the earlier is what came between.
    """

    values: Floats
    share: float | None

    @classmethod
    def empty(cls) -> Self:
        """Of no rewards."""
        return cls(np.zeros(WIDTH), None)

    def since(self, earlier: Tally, share: float | None) -> Tally:
        """What came after an earlier moment, at which the control had that share."""
        return Tally(self.values - earlier.values, share)

    @property
    def n(self) -> int:
        """Scores: rewards that could have been the control's as well as the tuned side's."""
        return int(self.values[SCORES])

    @property
    def counts(self) -> tuple[int, int]:
        """Rewards of the tuned side and of the control."""
        tuned, control = self.values[N]
        return int(tuned), int(control)

    def of_control(self) -> tuple[int, float, float]:
        """The control's rewards: how many, their sum and their squares' sum."""
        n, total, squares = (float(self.values[part][1]) for part in (N, SUMS, SQUARES))
        return int(n), total, squares

    def mean(self, group: int) -> float:
        """Mean reward of a group, drawn a little to the overall mean; eq. (means)."""
        n, sums = self.values[N], self.values[SUMS]
        overall = (_AT_START + sums.sum()) / (1.0 + n.sum())
        return float((_SHRINK * overall + sums[group]) / (_SHRINK + n[group]))

    def variance(self, group: int, most: float | None) -> float:
        """Variance of a group's rewards, at most and at first the one given."""
        n, total, squares = (self.values[part][group] for part in (N, SUMS, SQUARES))
        prior = 1.0 if most is None else most
        around = squares - total * total / n if n else 0.0
        found = float((_SHRINK * prior + max(around, 0.0)) / (_SHRINK + n))
        return found if most is None else min(found, most)

    def to_dict(self) -> dict[str, Any]:
        """As a JSON document."""
        return {"share": self.share, "values": self.values.tolist()}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """What ``to_dict`` wrote."""
        return cls(np.array(document["values"], dtype=np.float64), document["share"])


def added(
    before: Floats, reward: Floats, control: NDArray[np.bool_], e: Floats, is_bounded: bool
) -> Floats:
    """The row of sums after each of some rewards, on the unit scale where there is a range.

    The scores of eq. (score). Each uses the groups' means from the rewards that came before it, and
    sums are made one after the other, so that it does not matter how many come at a time.

    Args:
        before: The row before the first of them.
        reward: The rewards.
        control: Which of them are the control's.
        e: The probability that each would be.
        is_bounded: Whether rewards have a range.
    """
    rows = np.zeros((len(reward) + 1, WIDTH))
    rows[0] = before
    groups = np.column_stack((~control, control)).astype(float)
    rows[1:, N] = groups
    rows[1:, SUMS] = groups * reward[:, None]
    rows[1:, SQUARES] = groups * reward[:, None] ** 2
    known = np.cumsum(rows[:, :6], axis=0)[:-1]  # before each reward
    n, sums = known[:, N], known[:, SUMS]
    seen = n.sum(axis=1)
    if is_bounded:
        overall = (_AT_START + sums.sum(axis=1)) / (1.0 + seen)
    else:
        overall = sums.sum(axis=1) / np.maximum(seen, 1.0)
    m = (_SHRINK * overall[:, None] + sums) / (_SHRINK + n)  # (means)
    m1, m0 = m[:, 0], m[:, 1]
    centre = m1 - m0
    z = np.where(control, -(reward - m0) / e, (reward - m1) / (1.0 - e))  # (score)
    score = centre + z
    if is_bounded:
        below = np.maximum(m1 / (1.0 - e), (1.0 - m0) / e)  # (risk)
        above = np.maximum((1.0 - m1) / (1.0 - e), m0 / e)
        rows[1:, HIGHER], rows[1:, LOWER] = log_gains(z, below, above)
        counts = np.ones(len(z))
    else:
        counts = (seen > 0).astype(float)  # the very first reward only sets the scale
    rows[1:, SCORES] = counts
    rows[1:, CENTRES] = counts * centre
    rows[1:, TOTAL] = counts * score
    rows[1:, SPREAD] = counts * score**2
    return np.asarray(np.cumsum(rows, axis=0)[1:])
