"""Informed: an index that counts what a model expects of an arm as rewards of that arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from imabo.arms import ActiveSet, Floats
from imabo.bounds import kl_upper
from imabo.policies.base import Decision, Policy, Rounds, Serve
from imabo.policies.expectations import pooled_variance
from imabo.policies.feedback import effective_start, effective_total
from imabo.policies.leaders import Index, Run
from imabo.randomness import Draws
from imabo.settings import check_count, check_fraction, check_number, check_positive

_SHORT: Final = 3  # rounds in a row up to which each is decided for itself
_LONG: Final = 16  # rounds after which the bounds of a run are made anew


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
        index = self._index
        means, budgets = index.terms(arms, index.moment(arms))
        if arms.reward_range is not None:
            return kl_upper(means, budgets)
        # Rewards without ends: the same with the divergence of normal ones.
        return means + np.sqrt(2.0 * pooled_variance(arms) * budgets)

    def serve(self, arms: ActiveSet, draws: Draws) -> Serve:
        """The servable arm of highest index, found without the index of every arm."""
        if arms.reward_range is None:
            return Policy.serve(self, arms, draws)
        return Serve(_one_of(self._index.leaders(arms), draws), self.starts_phase(arms))

    def rounds(self, arms: ActiveSet, n: int) -> Rounds:
        """See ``Policy.rounds``."""
        if n <= _SHORT or arms.reward_range is None:
            return Rounds(self, arms)
        return _Rounds(self, arms, self._index, n)

    @property
    def _index(self) -> Index:
        return Index(self.bonus, self.trust, self.limit)


class _Rounds(Rounds):
    def __init__(self, policy: Informed, arms: ActiveSet, index: Index, n: int) -> None:
        super().__init__(policy, arms)
        self._index = index
        self._left = n
        self._run: Run | None = None
        self._run_left = 0
        self._served = 0

    def decide(self, draws: Draws) -> Decision:
        return self.policy.expansion(self.arms) or self.serve(draws)

    def serve(self, draws: Draws) -> Serve:
        if self._run is not None and self._run_left:
            self._run.served(self._served)
        else:
            self._run_left = min(max(self._left, 1), _LONG)
            self._run = Run(self._index, self.arms, self._run_left)
        self._left -= 1
        self._run_left -= 1
        self._served = _one_of(self._run.leaders(), draws)
        return Serve(self._served, self.policy.starts_phase(self.arms))


def _one_of(rows: list[int], draws: Draws) -> int:
    return rows[0] if len(rows) == 1 else int(draws.rng.choice(rows))
