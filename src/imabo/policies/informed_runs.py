"""The index of ``Informed``, and the arm that leads by it without the index of every arm."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from math import log
from typing import NamedTuple

import numpy as np

from imabo.arms import ActiveSet, Floats
from imabo.bounds import SURELY, contenders, kl_upper, kl_upper_of
from imabo.policies.expectations import average_rewards, expected_means, prior_counts
from imabo.policies.feedback import UNSERVED, effective_counts, rate_of


class Moment(NamedTuple):
    """What the indices of all arms share in one round.

    ``rate`` is p, ``round`` is t, ``n_servable`` is K; a prior counts for at most ``most`` rewards,
    and ``mean`` is that of all rewards.
    """

    rate: float
    round: float
    n_servable: int
    most: float
    mean: float


class Known(NamedTuple):
    """What one arm's index rests on, apart from the moment."""

    n_rewards: float
    n_pulls: float
    n_pending: float
    prior: float
    sum: float


@dataclass(frozen=True, slots=True)
class Index:
    """The mean with what a model expects, and the budget of the bonus; see ``Informed``."""

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
            most=min(self.trust * average_rewards(arms), self.limit),
            mean=arms.overall_mean,
        )

    def terms(self, arms: ActiveSet, now: Moment) -> tuple[Floats, Floats]:
        """Mean and budget of every arm."""
        prior = prior_counts(arms, self.trust, self.limit)
        n = effective_counts(arms, now.rate)
        budgets = np.maximum(np.log(now.round / (now.n_servable * n)), 0.0)
        budgets *= self.bonus / (prior + n)
        return expected_means(arms, prior, np.maximum(n - arms.n_rewards, 0.0)), budgets

    def known(self, arms: ActiveSet, row: int, now: Moment) -> Known:
        """What the index of one arm rests on."""
        n_rewards = float(arms.n_rewards[row])
        prior = min(float(arms.prior_counts[row]), now.most)
        known = n_rewards * float(arms.means[row]) if n_rewards else 0.0
        return Known(
            n_rewards=n_rewards,
            n_pulls=float(arms.n_pulls[row]),
            n_pending=float(arms.n_pending[row]),
            prior=prior,
            sum=prior * float(arms.prior_means[row]) + known,
        )

    def terms_of(self, arm: Known, now: Moment) -> tuple[float, float]:
        """Mean and budget of one arm."""
        n_rewards, n_pulls, n_pending, prior, total = arm
        rate, t, n_servable, _, mean = now
        # Written out, as this is what most of a decision's time goes to.
        n = n_rewards + rate * n_pending
        least = 0.5 * rate * n_pulls
        if n < least:
            n = least
        if n < UNSERVED:
            n = UNSERVED
        waiting = n - n_rewards if n > n_rewards else 0.0
        ratio = t / (n_servable * n)
        budget = log(ratio) * (self.bonus / (prior + n)) if ratio > 1.0 else 0.0
        return (total + waiting * mean) / (prior + n_rewards + waiting), budget

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
