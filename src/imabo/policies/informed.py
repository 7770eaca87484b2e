"""Informed: an index that counts what a model expects of an arm as rewards of that arm.

This file is the definition: what is due, the index as arrays, and what is looked at again. How the
leading arm is found without the index of every arm is in ``informed_runs``, which must decide the
same. Labels are those of docs/algorithm.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from imabo.arms import ActiveSet, Floats
from imabo.bounds import kl_upper
from imabo.policies.base import Draws, Policy, Rounds, Serve
from imabo.policies.counts import (
    ANCHOR,
    FEW,
    effective_counts,
    expected_means,
    pooled_variance,
    prior_counts,
    rate_of,
    waiting_counts,
)
from imabo.policies.informed_runs import Index, InformedRounds, one_of
from imabo.policies.probing import probe
from imabo.settings import check_count, check_flag, check_fraction, check_number, check_positive

_SHORT: Final = 3  # rounds in a row up to which each is decided for itself
_STEEP: Final = 6  # power by which the bonus grows, the less a space has left to give
_SCARCE: Final = 6.0  # as much growth as this, and no arm is given up for good: ...
_LASTING: Final = 0.4  # ... its bonus keeps this share of what it would be among few arms
_PER_SUCCESS: Final = 10.0  # rounds that one success counts for in the growth, at most ...
_LEAST_SHARE: Final = (
    0.1  # ... and what a round counts for at least: where all fail, others must come
)


@dataclass(frozen=True, slots=True)
class Informed(Policy):
    """IMOSS for an oracle with a model; the default, with ``oracles.GP``.

    What the oracle's model expects of an arm, given the rewards of all others, counts as rewards of
    the arm's own (at most ``trust`` times as many as the average arm has): a new arm that is
    expected to be poor is hardly served, and one whose own rewards say otherwise is believed in the
    end. Rewards that are still out count as average ones, so that a burst of requests spreads. The
    active set grows ``scale`` times faster, because arms that teach about each other need fewer
    pulls each. Among so many arms the best is found almost without a bonus; where the space has few
    more arms to give, the bonus grows to ``top`` of IMOSS's KL form, and no arm is given up for
    good. With ``changes``, rewards that later ones contradict lose weight, a change is noticed, and
    now and then a part of the space that was given up is tried again. With an oracle that has no
    model, it is the KL form with a smaller bonus.

    Args:
        beta: Growth exponent, in (0, 1).
        scale: The active set holds about scale * t^beta arms; above 0.
        warmup: N_s, how many arms are drawn from P0 before anything else, and about as many again
            after a change of everything.
        bonus: Share of the KL form's bonus while the set grows as scheduled, at least 0.
        top: The same where few more arms can be admitted, at least 0; below ``bonus`` it is that.
        trust: How many rewards a model's expectation may count for, as a multiple of the average
            arm's, at least 0.
        limit: How many it may count for at most, at least 0.
        changes: Whether the world may change; False saves what looking for it costs.

    Example:
        >>> from imabo import Float, Space
        >>> from imabo.arms import ActiveSet, Beliefs
        >>> arms = ActiveSet.from_rewards(
        ...     Space(x=Float(0, 1)), [({"x": 0.2}, [1.0, 0.0]), ({"x": 0.7}, [1.0, 0.0])])
        >>> _ = arms.put_beliefs(Beliefs(np.array([0.1, 0.8]), np.array([50.0, 50.0]), {}))
        >>> [round(score, 2) for score in Informed(bonus=0).scores(arms).tolist()]
        [0.34, 0.62]
    """

    beta: float = 0.5
    scale: float = 3.0
    warmup: int = 10
    bonus: float = 0.1
    top: float = 0.6
    trust: float = 1.0
    limit: float = 50.0
    changes: bool = True

    def __post_init__(self) -> None:
        check_fraction("beta", self.beta)
        check_positive("scale", self.scale)
        check_count("warmup", self.warmup)
        check_number("bonus", self.bonus, 0.0, np.inf, closed=True)
        check_number("top", self.top, 0.0, np.inf, closed=True)
        check_number("trust", self.trust, 0.0, np.inf, closed=True)
        check_number("limit", self.limit, 0.0, np.inf, closed=True)
        check_flag("changes", self.changes)

    @property
    def watches(self) -> bool:
        """Whether the study should keep a memory and look for changes."""
        return self.changes

    def growth(self, arms: ActiveSet) -> Literal["warmup", "oracle"] | None:
        """Algorithm (moss), with |M_t| - N_0 < scale (t - t_0)^beta; t counts rewards in hand."""
        if arms.n_growing < self.warmup:
            return "warmup"
        due = self._due(arms, self._rounds(arms) + 1.0)
        if arms.n_growing >= due:
            return None
        start = arms.growth_start
        # After a change of everything the warm-up starts anew with the schedule: what is left of
        # earlier rewards would draw every proposal to where the best was.
        is_new = start != arms.restart and due - start.n_arms <= self.warmup
        return "warmup" if is_new else "oracle"

    def scores(self, arms: ActiveSet) -> Floats:
        """Eq. (informed) for every row."""
        prior = prior_counts(arms, self.trust, self.limit)  # nu
        n = effective_counts(arms)  # n~
        means = expected_means(arms, prior, waiting_counts(arms, n))  # eq. (informed-mean)
        totals = arms.totals
        t = totals.n_rewards + rate_of(totals, arms.has_window) * totals.n_pending + 1.0
        k = max(arms.n_servable, 1)
        strength, lasting = self._shares(arms)  # eq. (informed-bonus)
        kept = lasting * np.maximum(np.log(t / (FEW * n)), 0.0)
        budgets = np.maximum(np.log(t / (k * n)), kept)  # eq. (informed-log)
        budgets *= strength / (np.maximum(prior, ANCHOR) + n)
        if arms.reward_range is not None:
            return kl_upper(means, budgets)  # eq. (informed)
        # Rewards without ends: the same with the divergence of normal ones.
        return means + np.sqrt(2.0 * pooled_variance(arms) * budgets)

    def strength(self, arms: ActiveSet) -> float:
        """Share of the bonus, eq. (informed-bonus): more, the less the space has left to give."""
        return self._shares(arms)[0]

    def lasting(self, arms: ActiveSet) -> float:
        """Share of the logarithm among few arms that stays; c of eq. (informed-log).

        MOSS gives up an arm that has t / K rewards, however unlucky they were. That is right while
        better arms are still to come, and where there are no others a run never comes back.
        """
        return self._shares(arms)[1]

    def serve(self, arms: ActiveSet, draws: Draws) -> Serve:
        """The servable arm of highest index, or one that is tried again."""
        row = self.tried_again(arms)
        if row is not None:
            return Serve(row)
        if arms.reward_range is None or arms.spending is not None:
            return Policy.serve(self, arms, draws)
        return Serve(one_of(self.index(arms).leaders(arms), draws))

    def tried_again(self, arms: ActiveSet) -> int | None:
        """An arm that was given up, in the rounds that are for that; see ``probe``."""
        return probe(arms, self.trust, self.limit) if self.changes else None

    def rounds(self, arms: ActiveSet, n: int) -> Rounds:
        """See ``Policy.rounds``."""
        if n <= _SHORT or arms.reward_range is None or arms.spending is not None:
            return Rounds(self, arms)
        return InformedRounds(self, arms, n)

    def index(self, arms: ActiveSet) -> Index:
        """The index as long as no reward comes in."""
        return Index(*self._shares(arms), self.trust, self.limit)

    def _shares(self, arms: ActiveSet) -> tuple[float, float]:
        due = self._due(arms, self._rounds(arms))
        ratio = max(due / max(arms.n_servable, 1), 1.0 + due / arms.n_reachable)
        scarcity = ratio**_STEEP
        strength = max(min(self.bonus * scarcity, self.top), self.bonus)
        return strength, _LASTING if scarcity >= _SCARCE else 0.0

    def _rounds(self, arms: ActiveSet) -> float:
        """Rewards since the schedule started.

        Pulls that wait teach nothing yet, and where most feedback is lost they never will. Only
        before the first reward they count: all draws from P0 are alike then, and the more of them
        are served, the more is known of them later.
        """
        totals, start = arms.totals, arms.growth_start
        return float(max(totals.n_rewards - start.n_rewards, 0) or totals.n_pulls - start.n_pulls)

    def _due(self, arms: ActiveSet, rounds: float) -> float:
        """How many arms there should be, so many rounds after the schedule started."""
        if arms.reward_range is not None:
            # Where success is rare, rounds without one say little about any arm.
            rounds *= min(max(_PER_SUCCESS * arms.level, _LEAST_SHARE), 1.0)
        return float(arms.growth_start.n_arms + self.scale * rounds**self.beta)
