"""IMOSS: the anytime MOSS index over an active set that grows as t^beta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from imabo.arms import ActiveSet, Floats
from imabo.bounds import kl_upper
from imabo.policies.base import Policy
from imabo.policies.counts import (
    effective_counts,
    effective_start,
    effective_total,
    printed_counts,
    rewarded_counts,
)
from imabo.settings import check_count, check_fraction, check_one_of, check_positive


@dataclass(frozen=True, slots=True)
class IMOSS(Policy):
    """The paper's policy: admit an arm while |M_t| < t^beta, else serve the highest index.

    Its regret bound is proved; ``Informed``, the default, has less regret on most problems and no
    proof. ``index="kl"`` suits rewards whose means are near 0 or
    1 (success rates above 0.9, say): its bound is much tighter there.

    Args:
        beta: Growth exponent, in (0, 1); the active set holds about t^beta arms.
        alpha: Confidence parameter of the MOSS bonus, above 0 (the KL form has none).
        warmup: N_s, how many arms are drawn from P0 before anything else.
        index: ``"moss"`` for eq. (moss), ``"kl"`` for the largest q with
            n kl(mean, q) <= log+(t / (K n)).
        delay: How pending pulls count. ``"aware"``: each as a fraction p of a reward, in the index
            and in the growth; equal to the plain rule when feedback is instant. ``"printed"``: the
            same with eq. (delayed-feedback) to the letter (n + 1, and N^beta for K, in the index);
            there an arm whose rewards never come keeps its bonus and draws the traffic.
            ``"blind"``: not at all, and the growth counts rounds instead of rewards.

    Example:
        >>> from imabo import Float, Space
        >>> from imabo.arms import ActiveSet
        >>> from imabo.policies.base import Draws
        >>> arms = ActiveSet.from_rewards(
        ...     Space(x=Float(0, 1)), [({"x": 0.2}, [0.0, 1.0]), ({"x": 0.7}, [1.0, 1.0])])
        >>> IMOSS(warmup=2).decide(arms, Draws(seed=0, number=5))
        Expand(source='oracle', mark=False)
        >>> IMOSS(warmup=2, beta=0.3).decide(arms, Draws(seed=0, number=5))
        Serve(row=1, mark=False)
    """

    beta: float = 0.5
    alpha: float = 0.1
    warmup: int = 10
    index: Literal["moss", "kl"] = "moss"
    delay: Literal["aware", "printed", "blind"] = "aware"

    def __post_init__(self) -> None:
        check_fraction("beta", self.beta)
        check_positive("alpha", self.alpha)
        check_count("warmup", self.warmup)
        check_one_of("index", self.index, ["moss", "kl"])
        check_one_of("delay", self.delay, ["aware", "printed", "blind"])

    def growth(self, arms: ActiveSet) -> Literal["warmup", "oracle"] | None:
        """Algorithm (moss): warm up to N_s arms, then |M_t| - N_0 < (t - t_0)^beta."""
        if arms.n_growing < self.warmup:
            return "warmup"
        if self.delay == "blind":
            t, start = arms.totals.n_pulls + 1.0, float(arms.restart.n_pulls)
        else:
            t = effective_total(arms) + (self.delay == "aware")
            start = effective_start(arms)
        # A late reward can make N~ smaller than it was at the restart for a moment.
        due = max(t - start, 0.0) ** self.beta
        return "oracle" if arms.n_growing - arms.restart.n_arms < due else None

    def scores(self, arms: ActiveSet) -> Floats:
        """Eq. (moss), eq. (delayed-feedback) or the KL form, for every row."""
        k = float(max(arms.n_servable, 1))
        if self.delay == "blind":
            t, n = arms.totals.n_pulls + 1.0, rewarded_counts(arms)
        elif self.delay == "printed":
            # Below 1 the bonus is 0 as well, and log 0 does not come up.
            t, n = max(effective_total(arms), 1.0), printed_counts(arms)
            k = t**self.beta  # eq. (delayed-feedback)
        else:
            t, n = effective_total(arms) + 1.0, effective_counts(arms)  # t: the round being decided
        # log+(t / (K n)) / n, the budget of both forms
        budgets = np.maximum(np.log(t / (k * n)), 0.0) / n
        if self.index == "kl":
            return kl_upper(arms.known_means(), budgets)
        return arms.known_means() + np.sqrt((1.0 + self.alpha) / 2.0 * budgets)  # eq. (moss)
