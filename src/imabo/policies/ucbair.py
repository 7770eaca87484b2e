"""UCB-AIR (Wang, Audibert and Munos, 2008): UCB-V over a set that grows as a power of t."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from imabo.arms import ActiveSet, Floats
from imabo.policies.base import Policy
from imabo.policies.counts import effective_counts, effective_start, effective_total
from imabo.settings import check_fraction


@dataclass(frozen=True, slots=True)
class UCBAIR(Policy):
    """The arm-increasing rule of Wang et al. with its variance-aware index; a baseline.

    The index is mean + sqrt(2 V E / n) + 3 E / n with the exploration sequence
    E = 2 log(10 log t); an arm is drawn while there are fewer than t^beta. It has no warm-up.

    Args:
        beta: Growth exponent, in (0, 1). In the authors' notation it is b / (b + 1) for a
            reservoir whose near-optimal mass is of order b; 0.5 is b = 1.

    Example:
        >>> from imabo import Float, Space
        >>> from imabo.arms import ActiveSet
        >>> arms = ActiveSet.from_rewards(Space(x=Float(0, 1)), [({"x": 0.2}, [1.0, 0.0])])
        >>> UCBAIR().growth(arms)
        'oracle'
    """

    beta: float = 0.5

    def __post_init__(self) -> None:
        check_fraction("beta", self.beta)

    def growth(self, arms: ActiveSet) -> Literal["warmup", "oracle"] | None:
        """A new arm while K < t^beta."""
        due = max(effective_total(arms) + 1.0 - effective_start(arms), 0.0) ** self.beta
        return "oracle" if arms.n_growing - arms.restart.n_arms < due else None

    def scores(self, arms: ActiveSet) -> Floats:
        """UCB-V of every row."""
        n = effective_counts(arms)
        t = max(effective_total(arms) + 1.0, 2.0)
        # The sequence the authors recommend; below t = 2 its inner logarithm is not positive.
        e = 2.0 * math.log(10.0 * math.log(t))
        return arms.known_means() + np.sqrt(2.0 * arms.variances() * e / n) + 3.0 * e / n
