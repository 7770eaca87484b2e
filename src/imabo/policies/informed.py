"""Informed: an index that counts what a model expects of an arm as rewards of that arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from imabo.arms import ActiveSet, Floats
from imabo.bounds import highest_kl_upper, kl_upper
from imabo.policies.base import Policy, Serve
from imabo.policies.expectations import expected_means, pooled_variance, prior_counts
from imabo.policies.feedback import effective_counts, effective_start, effective_total
from imabo.randomness import Draws
from imabo.settings import check_count, check_fraction, check_number, check_positive


@dataclass(frozen=True, slots=True)
class Informed(Policy):
    """IMOSS for an oracle with a model; the default, with ``oracles.GP``.

    Three things differ from IMOSS. What the oracle's model expects of an arm, given the rewards of
    all others, counts as rewards of the arm's own (at most ``trust`` times as many as the average
    arm has): a new arm that is expected to be poor is hardly served, and one whose own rewards say
    otherwise is believed in the end. Rewards that are still out count as average ones, so that a
    burst of requests spreads. The bonus is a part of IMOSS's KL form. And the active set
    grows ``scale`` times faster, because arms that teach about each other need fewer pulls each.
    With an oracle that has no model, the index is the KL form with a smaller bonus.

    Args:
        beta: Growth exponent, in (0, 1).
        scale: The active set holds about scale * t^beta arms; above 0.
        warmup: N_s, how many arms are drawn from P0 before anything else.
        bonus: Share of the KL form's bonus, at least 0.
        trust: How many rewards a model's expectation may count for, as a multiple of the average
            arm's, at least 0.
        limit: How many it may count for at most, at least 0.

    Example:
        >>> from imabo import Float, Space
        >>> from imabo.arms import ActiveSet, Beliefs
        >>> arms = ActiveSet.from_rewards(
        ...     Space(x=Float(0, 1)), [({"x": 0.2}, [1.0, 0.0]), ({"x": 0.7}, [1.0, 0.0])])
        >>> _ = arms.put_beliefs(Beliefs(np.array([0.1, 0.8]), np.array([50.0, 50.0]), {}))
        >>> [round(score, 2) for score in Informed(bonus=0).scores(arms).tolist()]
        [0.3, 0.65]
    """

    beta: float = 0.5
    scale: float = 3.0
    warmup: int = 10
    bonus: float = 0.1
    trust: float = 1.0
    limit: float = 50.0

    def __post_init__(self) -> None:
        check_fraction("beta", self.beta)
        check_positive("scale", self.scale)
        check_count("warmup", self.warmup)
        check_number("bonus", self.bonus, 0.0, np.inf, closed=True)
        check_number("trust", self.trust, 0.0, np.inf, closed=True)
        check_number("limit", self.limit, 0.0, np.inf, closed=True)

    def growth(self, arms: ActiveSet) -> Literal["warmup", "oracle"] | None:
        """Algorithm (moss), with |M_t| - N_0 < scale (t - t_0)^beta."""
        if arms.n_growing < self.warmup:
            return "warmup"
        rounds = max(effective_total(arms) + 1.0 - effective_start(arms), 0.0)
        due = self.scale * rounds**self.beta
        return "oracle" if arms.n_growing - arms.restart.n_arms < due else None

    def scores(self, arms: ActiveSet) -> Floats:
        """The largest q with N kl(mean, q) <= bonus log+(t / (K n)), N and mean with the prior."""
        means, budgets = self._means_and_budgets(arms)
        if arms.reward_range is not None:
            return kl_upper(means, budgets)
        # Rewards without ends: the same with the divergence of normal ones.
        return means + np.sqrt(2.0 * pooled_variance(arms) * budgets)

    def serve(self, arms: ActiveSet, draws: Draws) -> Serve:
        """The servable arm of highest index, found without the index of every arm."""
        if arms.reward_range is None:
            return Policy.serve(self, arms, draws)
        means, budgets = self._means_and_budgets(arms)
        if arms.n_servable == len(arms):
            highest = highest_kl_upper(means, budgets)
        else:
            rows = np.flatnonzero(arms.servable)
            highest = rows[highest_kl_upper(means[rows], budgets[rows])]
        row = highest[0] if len(highest) == 1 else draws.rng.choice(highest)
        return Serve(int(row), self.starts_phase(arms))

    def _means_and_budgets(self, arms: ActiveSet) -> tuple[Floats, Floats]:
        prior = prior_counts(arms, self.trust, self.limit)
        n, t = effective_counts(arms), effective_total(arms) + 1.0
        budgets = np.maximum(np.log(t / (max(arms.n_servable, 1) * n)), 0.0)
        budgets *= self.bonus / (prior + n)
        return expected_means(arms, prior, np.maximum(n - arms.n_rewards, 0.0)), budgets
