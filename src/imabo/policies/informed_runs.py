"""The fast path of ``Informed``, and nothing else: its leading arm, found from few indices.

``Informed.scores`` defines the index; here is what it takes to serve without working out all of it.
Tests hold every decision against the definition.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from imabo.arms import ActiveSet, Floats
from imabo.bounds import SURELY, contenders, kl_upper, kl_upper_of
from imabo.policies.base import Decision, Rounds, Serve
from imabo.policies.expectations import (
    ANCHOR,
    expected_means,
    freshness,
    most_expected,
    prior_counts,
)
from imabo.policies.feedback import UNSERVED, effective_counts, least_count, rate_of
from imabo.randomness import Draws

if TYPE_CHECKING:
    from imabo.policies.informed import Informed

_LONG: Final = 16  # rounds after which the bounds of a run are made anew


class Moment(NamedTuple):
    """What the indices of all arms share in one round.

    ``rate`` is p, ``round`` is t, ``n_servable`` is K; an expectation counts for at most ``most``
    rewards, of which the part ``fresh`` is left, and ``level`` is the mean of all rewards.
    """

    rate: float
    round: float
    n_servable: int
    most: float
    fresh: float
    level: float


class Known(NamedTuple):
    """What one arm's index rests on, apart from the moment."""

    n_rewards: float
    n_now: float
    n_pulls: float
    n_pending: float
    prior: float
    sum: float


@dataclass(frozen=True, slots=True)
class Index:
    """The mean with what a model expects, and the budget of the bonus, as ``Informed.scores``.

    ``bonus`` is the strength that the policy has now; it changes with rewards only.
    """

    bonus: float
    trust: float
    limit: float

    def moment(self, arms: ActiveSet, later: int = 0) -> Moment:
        """Now, or when ``later`` more pulls were served and nothing else happened."""
        n_pulls, n_rewards, n_pending, reward_sum = arms.totals
        totals = type(arms.totals)(n_pulls + later, n_rewards, n_pending + later, reward_sum)
        rate = rate_of(totals, arms.has_window)
        return Moment(
            rate=rate,
            round=n_rewards + rate * totals.n_pending + 1.0,
            n_servable=max(arms.n_servable, 1),
            most=most_expected(arms, self.trust, self.limit),
            fresh=freshness(arms),
            level=arms.level,
        )

    def terms(self, arms: ActiveSet, now: Moment) -> tuple[Floats, Floats]:
        """Mean and budget of every arm."""
        prior = prior_counts(arms, self.trust, self.limit)
        n = effective_counts(arms, now.rate)
        budgets = np.maximum(np.log(now.round / (now.n_servable * n)), 0.0)
        budgets *= self.bonus / (np.maximum(prior, ANCHOR) + n)
        return expected_means(arms, prior, np.maximum(n - arms.n_rewards, 0.0)), budgets

    def known(self, arms: ActiveSet, row: int, now: Moment) -> Known:
        """What the index of one arm rests on."""
        n_rewards = float(arms.n_rewards[row])
        if arms.memory is None:
            n_now, own = n_rewards, n_rewards * float(arms.means[row]) if n_rewards else 0.0
        else:
            n_now, own = float(arms.n_now[row]), float(arms.sums_now[row])
        prior = min(float(arms.prior_counts[row]), now.most) * now.fresh
        anchor = max(ANCHOR - prior, 0.0)
        return Known(
            n_rewards=n_rewards,
            n_now=n_now,
            n_pulls=float(arms.n_pulls[row]),
            n_pending=float(arms.n_pending[row]),
            prior=prior + anchor,
            sum=prior * float(arms.prior_means[row]) + own + anchor * now.level,
        )

    def terms_of(self, arm: Known, now: Moment) -> tuple[float, float]:
        """Mean and budget of one arm."""
        n_rewards, n_now, n_pulls, n_pending, prior, total = arm
        rate, t, n_servable, _, _, level = now
        # Written out, as this is what most of a decision's time goes to.
        n = n_rewards + rate * n_pending
        least = least_count(rate, n_pulls)
        if n < least:
            n = least
        if n < UNSERVED:
            n = UNSERVED
        waiting = n - n_rewards if n > n_rewards else 0.0
        ratio = t / (n_servable * n)
        budget = log(ratio) * (self.bonus / (prior + n)) if ratio > 1.0 else 0.0
        return (total + waiting * level) / (prior + n_now + waiting), budget

    def leaders(self, arms: ActiveSet) -> list[int]:
        """The servable rows of highest index, ties included, in order."""
        now = self.moment(arms)
        means, budgets = self.terms(arms, now)
        if arms.n_servable == len(arms):
            rows = contenders(means, budgets).tolist()
        else:
            servable = np.flatnonzero(arms.servable)
            rows = servable[contenders(means[servable], budgets[servable])].tolist()
        if len(rows) == 1:
            return [int(rows[0])]
        scores = [kl_upper_of(*self.terms_of(self.known(arms, row, now), now)) for row in rows]
        best = max(scores)
        return [row for row, score in zip(rows, scores, strict=True) if score == best]


class Run:
    """The leaders of several rounds in a row, in which pulls are served and nothing else happens.

    Every such pull lowers p and raises t. So the index of an arm that is not served stays below one
    with the larger of its means at both ends of the run and its budget at the end: the budget
    grows, and the mean goes one way. Arms are looked at in order of that bound until it falls below
    the best index found, which is after a few of them.

    Args:
        index: The index.
        arms: The active set; the caller counts the pulls in it.
        rounds: How many rounds the run has at most.
    """

    def __init__(self, index: Index, arms: ActiveSet, rounds: int) -> None:
        self._index = index
        self._arms = arms
        self._now = index.moment(arms)
        self._end = index.moment(arms, later=rounds)
        means, _ = index.terms(arms, self._now)
        later_means, budgets = index.terms(arms, self._end)
        bounds = kl_upper(np.maximum(means, later_means), budgets) + SURELY
        rows = np.flatnonzero(arms.servable)
        self._heap = list(zip((-bounds[rows]).tolist(), rows.tolist(), strict=True))
        heapq.heapify(self._heap)
        self._known: dict[int, Known] = {}
        self._seen: list[tuple[float, int]] = []

    def leaders(self) -> list[int]:
        """The servable rows of highest index, ties included, in order."""
        heap, seen, known, now = self._heap, self._seen, self._known, self._now
        terms_of = self._index.terms_of
        best, highest = -1.0, [-1]
        while heap and -heap[0][0] >= best:
            entry = heapq.heappop(heap)
            seen.append(entry)
            row = entry[1]
            arm = known.get(row)
            if arm is None:
                arm = known[row] = self._index.known(self._arms, row, now)
            mean, budget = terms_of(arm, now)
            score = kl_upper_of(mean, budget, best - SURELY)
            if score > best:
                best, highest = score, [row]
            elif score == best:
                highest.append(row)
        return sorted(highest)

    def served(self, row: int) -> None:
        """A row that was looked at has been served, and counted; its bound is lower now."""
        index, arms = self._index, self._arms
        now = self._now = index.moment(arms)
        arm = self._known[row] = index.known(arms, row, now)
        mean, _ = index.terms_of(arm, now)
        later_mean, budget = index.terms_of(arm, self._end)
        bound = kl_upper_of(max(mean, later_mean), budget) + SURELY
        for entry in self._seen:
            heapq.heappush(self._heap, (-bound, row) if entry[1] == row else entry)
        self._seen.clear()


class InformedRounds(Rounds):
    """Rounds of ``Informed`` in a row, which share their bounds."""

    policy: Informed

    def __init__(self, policy: Informed, arms: ActiveSet, n: int) -> None:
        super().__init__(policy, arms)
        self._left = n
        self._run: Run | None = None
        self._run_left = 0
        self._served = 0

    def decide(self, draws: Draws) -> Decision:
        """The decision of the next round."""
        return self.policy.expansion(self.arms) or self.serve(draws)

    def serve(self, draws: Draws) -> Serve:
        """The known arm to serve, when no new one is to be had."""
        self._left -= 1
        row = self.policy.tried_again(self.arms)
        if row is not None:
            self._run = None  # it has not seen this arm served
            return Serve(row)
        if self._run is not None and self._run_left:
            self._run.served(self._served)
        else:
            self._run_left = min(max(self._left + 1, 1), _LONG)
            self._run = Run(self.policy.index(self.arms), self.arms, self._run_left)
        self._run_left -= 1
        self._served = one_of(self._run.leaders(), draws)
        return Serve(self._served)


def one_of(rows: list[int], draws: Draws) -> int:
    """One of the rows that lead alike."""
    return rows[0] if len(rows) == 1 else int(draws.rng.choice(rows))
