"""QRM2 (Roy Chaudhuri and Kalyanakrishnan, 2018): MOSS restarted in phases that double."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from imabo.arms import ActiveSet, Floats
from imabo.policies.base import Policy
from imabo.policies.counts import feedback_rate
from imabo.settings import check_fraction


@dataclass(frozen=True, slots=True)
class QRM2(Policy):
    """Phases of 2, 4, 8, ... pulls; phase r runs MOSS afresh on ceil(2^(alpha r)) arms; a baseline.

    Arms stay from phase to phase, their rewards are forgotten at each start.

    Args:
        alpha: Exponent of the number of arms in the phase's length, in (0, 1); the authors' 0.347.

    Example:
        >>> QRM2().phase(n_pulls=0), QRM2().phase(n_pulls=5), QRM2().phase(n_pulls=6)
        ((1, 0), (2, 2), (3, 6))
    """

    alpha: float = 0.347

    def __post_init__(self) -> None:
        check_fraction("alpha", self.alpha)

    def phase(self, n_pulls: int) -> tuple[int, int]:
        """The number r of the phase that the next pull is in, and the pulls made before it."""
        r = (n_pulls + 2).bit_length() - 1  # phase r holds pulls 2^r - 1 to 2^(r+1) - 2
        return r, 2**r - 2

    def starts_phase(self, arms: ActiveSet) -> bool:
        """True at the first decision of a phase."""
        _, start = self.phase(arms.totals.n_pulls - arms.restart.n_pulls)
        return arms.marked_at < start + arms.restart.n_pulls

    def growth(self, arms: ActiveSet) -> Literal["warmup", "oracle"] | None:
        """New arms until the phase has its ceil(t_r^alpha)."""
        r, _ = self.phase(arms.totals.n_pulls - arms.restart.n_pulls)
        due = math.ceil(2.0 ** (r * self.alpha))
        return "oracle" if arms.n_growing - arms.restart.n_arms < due else None

    def scores(self, arms: ActiveSet) -> Floats:
        """MOSS with the phase's length as its horizon, on the rewards of this phase alone."""
        r, _ = self.phase(arms.totals.n_pulls - arms.restart.n_pulls)
        if self.starts_phase(arms):
            return np.full(len(arms), np.inf)
        n_rewards = arms.n_rewards - arms.marked_rewards
        sums = arms.reward_sums - arms.marked_sums
        p = feedback_rate(arms)
        n = np.maximum(n_rewards + p * arms.n_pending, 1e-9)
        # Otherwise an arm whose feedback never comes would keep a first pull's bonus for ever.
        n = np.where(arms.n_rewards == 0, np.maximum(n, 0.5 * p * arms.n_pulls), n)
        raw = sums / np.maximum(n_rewards, 1.0)
        means = np.where(n_rewards > 0, arms.to_unit(raw), arms.overall_mean)
        k = max(arms.n_servable, 1)
        return means + np.sqrt(np.maximum(np.log(2.0**r / (k * n)), 0.0) / n)
