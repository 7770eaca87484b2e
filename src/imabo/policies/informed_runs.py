"""The fast path of ``Informed``, and nothing else: its leading arm, found from few indices.

``Informed.scores`` defines the index; here is what it takes to serve without working out all of it.
Tests hold every decision against the definition.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from imabo.arms import ActiveSet, Floats, Ints
from imabo.bounds import SURELY, contenders, kl_upper, kl_upper_of, possible
from imabo.policies.base import Decision, Draws, Rounds, Serve
from imabo.policies.counts import (
    ANCHOR,
    FEW,
    UNSERVED,
    effective_counts,
    freshness,
    least_count,
    most_expected,
    rate_of,
    waiting_counts,
)

if TYPE_CHECKING:
    from imabo.policies.informed import Informed

_LONG: Final = 16  # rounds after which the bounds of a run are made anew
_FEW: Final = 12  # kinds of arms up to which each is looked at for itself
_SEVERAL: Final = 64  # arms up to which plain numbers are faster than arrays
_START: Final = np.zeros(1, dtype=np.int64)  # of a single kind
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no bit is lost


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

    ``bonus`` is the strength that the policy has now, and ``lasting`` the share that it keeps
    of the logarithm among ``FEW`` arms; they change with rewards only.
    """

    bonus: float
    lasting: float
    trust: float
    limit: float

    def moment(self, arms: ActiveSet, later: int = 0) -> Moment:
        """Now, or when ``later`` more pulls were served and nothing else happened."""
        totals = arms.totals
        if later:
            n_pulls, n_rewards, n_pending, reward_sum = totals
            totals = type(totals)(n_pulls + later, n_rewards, n_pending + later, reward_sum)
        rate = rate_of(totals, arms.has_window)
        return Moment(
            rate=rate,
            round=totals.n_rewards + rate * totals.n_pending + 1.0,
            n_servable=max(arms.n_servable, 1),
            most=most_expected(arms, self.trust, self.limit),
            fresh=freshness(arms),
            level=arms.level,
        )

    def terms(self, arms: ActiveSet, now: Moment) -> tuple[Floats, Floats]:
        """Mean and budget of every arm; to say which arms may lead, so rounding does not matter."""
        n, level = effective_counts(arms, now.rate), now.level
        weights: Floats | float = ANCHOR
        own = arms.sums_now
        if arms.model_state is not None:  # else there are no expectations
            prior = np.minimum(arms.prior_counts, now.most) * now.fresh  # eq. (expectation)
            weights = np.maximum(prior, ANCHOR)
            own = own + prior * (arms.prior_means - level)
        budgets = np.maximum(np.log(now.round / (now.n_servable * n)), 0.0)
        if self.lasting:
            budgets = np.maximum(budgets, self.lasting * np.log(now.round / (FEW * n)))
        budgets *= self.bonus / (weights + n)
        waiting = waiting_counts(arms, n)
        return (own + (weights + waiting) * level) / (weights + arms.n_now + waiting), budgets

    def known(self, arms: ActiveSet, row: int, now: Moment) -> Known:
        """What the index of one arm rests on."""
        n_rewards = arms.n_rewards.item(row)
        if arms.memory is None:
            n_now, own = n_rewards, n_rewards * arms.means.item(row) if n_rewards else 0.0
        else:
            n_now, own = arms.kept_rewards.item(row), arms.kept_sums.item(row)
        prior = min(arms.prior_counts.item(row), now.most) * now.fresh
        anchor = max(ANCHOR - prior, 0.0)
        return Known(
            n_rewards=n_rewards,
            n_now=n_now,
            n_pulls=arms.n_pulls.item(row),
            n_pending=arms.n_pending.item(row),
            prior=prior + anchor,
            sum=prior * arms.prior_means.item(row) + own + anchor * now.level,
        )

    def alike(self, arms: ActiveSet, rows: Ints) -> Alike:
        """Rows by what ``known`` reads of them: those that agree in it have one index.

        Many arms without a reward, or with a single one of 0 or 1, are a few kinds of arms.
        """
        counts = [arms.prior_counts, arms.n_rewards, arms.n_pending, arms.n_pulls]
        if not (arms.prior_counts[rows].any() or arms.n_rewards[rows].any()) and _are_one(
            arms.n_pending[rows], arms.n_pulls[rows]
        ):
            return Alike(rows, _START)  # as often: neither rewards nor expectations differ
        own = [arms.reward_sums] if arms.memory is None else [arms.kept_rewards, arms.kept_sums]
        return Alike.of([*counts, *own, arms.prior_means], rows)

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
        rest = log(ratio) if ratio > 1.0 else 0.0
        if self.lasting:
            rest = max(rest, self.lasting * log(t / (FEW * n)))
        budget = rest * (self.bonus / (prior + n)) if rest else 0.0
        return (total + waiting * level) / (prior + n_now + waiting), budget

    def leaders(self, arms: ActiveSet) -> Ints:
        """The servable rows of highest index, ties included, in order."""
        now = self.moment(arms)
        means, budgets = self.terms(arms, now)
        if arms.n_servable == len(arms):
            rows, bounds = possible(means, budgets)
        else:
            servable = np.flatnonzero(arms.servable)
            rows, bounds = possible(means[servable], budgets[servable])
            rows = servable[rows]
        if len(rows) == 1:
            return rows
        if len(rows) <= _SEVERAL:
            return self._highest(arms, rows, bounds.tolist(), now)
        kinds = self.alike(arms, rows)
        first = kinds.firsts()
        places = np.arange(len(first))
        if len(first) > _FEW:
            places = contenders(means[first], budgets[first])
        scores = [
            kl_upper_of(*self.terms_of(self.known(arms, row, now), now))
            for row in first[places].tolist()
        ]
        best = max(scores)
        found = zip(places.tolist(), scores, strict=True)
        return kinds.joined([place for place, score in found if score == best])

    def _highest(self, arms: ActiveSet, rows: Ints, bounds: list[float], now: Moment) -> Ints:
        """Of some rows those of highest index, which is below a bound for each."""
        own = arms.reward_sums if arms.memory is None else arms.kept_sums
        columns = [
            arms.n_rewards, arms.n_now, arms.n_pulls, arms.n_pending, arms.prior_counts,
            arms.prior_means, own,
        ]  # fmt: skip
        facts = list(zip(*(column[rows].tolist() for column in columns), strict=True))
        scores: dict[tuple[float, ...], float] = {}  # arms that agree have one index
        best, leading = -1.0, list[int]()
        for place in sorted(range(len(rows)), key=bounds.__getitem__, reverse=True):
            if bounds[place] < best - SURELY:
                break
            score = scores.get(facts[place])
            if score is None:
                arm = self.known(arms, rows.item(place), now)
                score = kl_upper_of(*self.terms_of(arm, now), best - SURELY)
                scores[facts[place]] = score
            if score > best:
                best, leading = score, [place]
            elif score == best:
                leading.append(place)
        return rows[leading[0] : leading[0] + 1] if len(leading) == 1 else rows[sorted(leading)]


@dataclass(frozen=True, slots=True)
class Alike:
    """Rows in kinds: the rows of one kind agree in every column, bit by bit.

    Args:
        rows: The rows, kind after kind; those of one kind rise.
        starts: Where each kind starts in ``rows``.

    Example:
        >>> columns = [np.array([1.0, 2.0, 1.0, 1.0]), np.array([0.0, 0.0, 0.0, 5.0])]
        >>> kinds = Alike.of(columns, np.arange(4))
        >>> sorted(kinds.joined([kind]).tolist() for kind in range(len(kinds.starts)))
        [[0, 2], [1], [3]]
    """

    rows: Ints
    starts: Ints

    @classmethod
    def of(cls, columns: list[Floats], rows: Ints) -> Alike:
        """The kinds of some rising rows."""
        table = [column[rows].view(np.uint64) for column in columns]
        if _are_one(*table):
            return cls(rows, _START)
        mixed = np.zeros(len(rows), dtype=np.uint64)
        for column in table:
            mixed = (mixed ^ column) * _MIX
            mixed ^= mixed >> np.uint64(29)
        # Rows that agree lie side by side then. Two kinds that mix to one number may be torn into
        # several kinds, which costs time and changes nothing.
        order = np.argsort(mixed, kind="stable")
        differs = np.ones(len(rows), dtype=np.bool_)
        differs[1:] = False
        for column in table:
            ordered = column[order]
            differs[1:] |= ordered[1:] != ordered[:-1]
        return cls(rows[order], np.flatnonzero(differs))

    def firsts(self) -> Ints:
        """A row of each kind."""
        return self.rows[self.starts]

    def members(self, kind: int) -> Ints:
        """The rows of a kind, in order."""
        end = self.starts[kind + 1] if kind + 1 < len(self.starts) else len(self.rows)
        return self.rows[self.starts[kind] : end]

    def joined(self, kinds: list[int]) -> Ints:
        """The rows of some kinds, in order."""
        if len(kinds) == 1:
            return self.members(kinds[0])
        return np.sort(np.concatenate([self.members(kind) for kind in kinds]))


class Run:
    """The leaders of several rounds in a row, in which pulls are served and nothing else happens.

    Every such pull lowers p and raises t. So the index of an arm that is not served stays below one
    with the larger of its means at both ends of the run and its budget at the end: the budget
    grows, and the mean goes one way. Arms are looked at in order of that bound until it falls below
    the best index found, which is after a few of them. Arms that agree in all that the index rests
    on are looked at once, as one kind.

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
        kinds = index.alike(arms, np.flatnonzero(arms.servable))
        first = kinds.firsts()
        highest = np.maximum(means, later_means)[first]
        bounds = kl_upper(highest, budgets[first]) + SURELY
        self._kinds = kinds
        self._heap = list(zip((-bounds).tolist(), range(len(first)), strict=True))
        heapq.heapify(self._heap)
        # What has been looked at: the rows of a kind, and what its index rests on.
        self._rows: dict[int, Ints] = {}
        self._known: dict[int, Known] = {}
        self._seen: list[tuple[float, int]] = []
        self._leading: list[int] = []
        self._n_kinds = len(first)

    def leaders(self) -> Ints:
        """The servable rows of highest index, ties included, in order."""
        heap, seen, known, now = self._heap, self._seen, self._known, self._now
        terms_of = self._index.terms_of
        best, leading = -1.0, [-1]
        while heap and -heap[0][0] >= best:
            entry = heapq.heappop(heap)
            seen.append(entry)
            kind = entry[1]
            arm = known.get(kind)
            if arm is None:
                rows = self._rows[kind] = self._kinds.members(kind)
                arm = known[kind] = self._index.known(self._arms, int(rows[0]), now)
            mean, budget = terms_of(arm, now)
            score = kl_upper_of(mean, budget, best - SURELY)
            if score > best:
                best, leading = score, [kind]
            elif score == best:
                leading.append(kind)
        self._leading = leading
        if len(leading) == 1:
            return self._rows[leading[0]]
        return np.sort(np.concatenate([self._rows[kind] for kind in leading]))

    def served(self, row: int) -> None:
        """A row that led has been served, and counted; its bound is lower now."""
        index, arms = self._index, self._arms
        now = self._now = index.moment(arms)
        self._take_out(row)
        new, self._n_kinds = self._n_kinds, self._n_kinds + 1
        self._rows[new] = np.array([row])
        arm = self._known[new] = index.known(arms, row, now)
        mean, _ = index.terms_of(arm, now)
        later_mean, budget = index.terms_of(arm, self._end)
        bound = kl_upper_of(max(mean, later_mean), budget) + SURELY
        heapq.heappush(self._heap, (-bound, new))
        for entry in self._seen:
            if len(self._rows[entry[1]]):
                heapq.heappush(self._heap, entry)
        self._seen.clear()

    def _take_out(self, row: int) -> None:
        """A row is no longer like the others of its kind."""
        for kind in self._leading:
            rows = self._rows[kind]
            place = int(np.searchsorted(rows, row))
            if place < len(rows) and rows[place] == row:
                self._rows[kind] = np.delete(rows, place)


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


def _are_one(*columns: NDArray[Any]) -> bool:
    """Whether each column has one value only."""
    return not any((column != column[0]).any() for column in columns)


def one_of(rows: Ints, draws: Draws) -> int:
    """One of the rows that lead alike."""
    # By its place: the same draw as ``choice`` of the rows, which may be thousands.
    return int(rows[0] if len(rows) == 1 else rows[draws.rng.integers(0, len(rows))])
