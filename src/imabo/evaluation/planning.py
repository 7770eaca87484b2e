"""How wide an interval will be, before there is one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from imabo.errors import InvalidSetting
from imabo.evaluation.bets import Floats, log_gains, log_weights, reach
from imabo.settings import check_fraction, check_number, check_positive

TIGHT_AT: Final = 2000.0  # rewards at which the lift's interval is tightest
_MOST: Final = 1e12  # rewards; who needs more will not live to see them


@dataclass(frozen=True, slots=True)
class Plan:
    """What it takes to tell a lift of some size.

    Attributes:
        rewards: Rewards, of both groups together, until half the width is expected to be enough.
        control_rewards: Those of the control among them.
        requests: Requests that bring so many rewards.
        half_width: Half the width that is expected then.
    """

    rewards: int
    control_rewards: int
    requests: int
    half_width: float


def plan(
    share: float,
    reward: float,
    detect: float,
    level: float = 0.95,
    *,
    feedback_rate: float = 1.0,
) -> Plan:
    """How many rewards and requests it takes until the lift is known to within ``detect``.

    For rewards of 0 and 1 with the same mean in both groups, which is the most that rewards in a
    range of this mean can vary: graded rewards need fewer.

    Args:
        share: The control's share of the requests, in (0, 1).
        reward: The mean reward, as a part of the range, in (0, 1).
        detect: Half the width of the interval to reach, as a part of the range.
        level: Coverage of the interval at all moments together.
        feedback_rate: Share of the requests that bring a reward, in (0, 1].

    Example:
        >>> found = plan(0.1, 0.6, 0.1)
        >>> found.rewards < 5000, found.control_rewards == round(0.1 * found.rewards)
        (True, True)
        >>> plan(0.1, 0.6, 0.1, feedback_rate=0.5).requests == 2 * found.rewards
        True
    """
    check_fraction("share", share)
    check_fraction("reward", reward)
    check_positive("detect", detect)
    check_fraction("level", level)
    check_number("feedback_rate", feedback_rate, 0.0, 1.0, closed=True)
    if not feedback_rate:
        raise InvalidSetting(
            "feedback_rate is 0", "without feedback no number of requests is enough", "raise it"
        )
    variance = reward * (1.0 - reward)
    expected = Expected(share, (reward, reward), (variance, variance))
    n = expected.rewards_for(detect, level)
    return Plan(n, round(share * n), math.ceil(n / feedback_rate), expected.half_width(n, level))


def half_widths(
    share: float,
    reward: float,
    requests: Sequence[int],
    level: float = 0.95,
    *,
    feedback_rate: float = 1.0,
) -> list[float]:
    """Half the width of the lift that is expected after so many requests each; see ``plan``.

    Example:
        >>> after_1000, after_5000 = half_widths(0.1, 0.6, (1000, 5000))
        >>> round(after_1000, 2), round(after_5000, 2)
        (0.16, 0.07)
    """
    check_fraction("share", share)
    check_fraction("reward", reward)
    check_fraction("level", level)
    variance = reward * (1.0 - reward)
    expected = Expected(share, (reward, reward), (variance, variance))
    return [expected.half_width(max(n * feedback_rate, 1.0), level) for n in requests]


@dataclass(frozen=True, slots=True)
class Expected:
    """What is expected of the rewards of two groups, on the unit scale: tuned, then control.

    Rewards are taken to have two values, of the group's mean and variance: 0 and 1 where the
    variance is the largest that this mean allows.
    """

    share: float
    means: tuple[float, float]
    variances: tuple[float, float]

    def half_width(self, n: float, level: float) -> float:
        """Half the width of the lift's interval that is expected after n rewards."""
        higher, lower = self._gains()
        limit = math.log(2.0 / (1.0 - level))
        weights = lift_weights(self.share)
        gains = n * np.array([higher, lower])
        below, above = reach(gains, np.array([n, n], dtype=float), weights, limit)
        return float(0.5 * (below + above))

    def rewards_for(self, half_width: float, level: float) -> int:
        """How many rewards it takes until half the width is expected to be that small."""
        few, many = 1.0, 2.0
        while self.half_width(many, level) > half_width:
            if many > _MOST:
                raise InvalidSetting(
                    f"half_width is {half_width!r}",
                    "no number of rewards that ever comes in is enough for it",
                    "pass a larger one",
                )
            few, many = many, 2.0 * many
        while many - few > 1.0:
            middle = math.floor(0.5 * (few + many))
            if self.half_width(middle, level) > half_width:
                few = middle
            else:
                many = middle
        return int(many)

    def _gains(self) -> tuple[Floats, Floats]:
        """Mean logarithm of each bet's gain on one score, for both directions."""
        (m1, m0), e = self.means, self.share
        scores, chances = [], []
        for mean, variance, chance, sign in (
            (m1, self.variances[0], 1.0 - e, 1.0),
            (m0, self.variances[1], e, -1.0),
        ):
            k = math.sqrt(min(variance / (mean * (1.0 - mean)), 1.0))
            scores += [sign * (1.0 - mean) * k / chance, -sign * mean * k / chance]
            chances += [chance * mean, chance * (1.0 - mean)]
        below = max(m1 / (1.0 - e), (1.0 - m0) / e)
        above = max((1.0 - m1) / (1.0 - e), m0 / e)
        higher, lower = log_gains(np.array(scores), np.full(4, below), np.full(4, above))
        return np.asarray(chances @ higher), np.asarray(chances @ lower)


def lift_weights(share: float) -> Floats:
    """Weights of the lift's bets for the share that the control has at the start; eq. (weights)."""
    return log_weights(score_variance(share), score_risk(share), TIGHT_AT)


def score_variance(share: float) -> float:
    """The most that scores vary when rewards are 0 and 1 with means of 1/2."""
    return 0.25 / (share * (1.0 - share))


def score_risk(share: float) -> float:
    """How far the first score may be from its centre."""
    return 0.5 / min(share, 1.0 - share)
