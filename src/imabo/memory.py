"""Memory: the arms' counters at some moments of the past, and which rewards still speak of now.

Arrays only. Rewards are on the unit scale here; a *moment* is a number of rewards of the study.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import lgamma
from typing import Any, Final, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from imabo import late_scipy
from imabo.magnitude import LARGEST

Floats = NDArray[np.float64]
Arms = TypeVar("Arms")
Made = TypeVar("Made")

_HAZARD: Final = 1.0 / 4000.0  # prior probability that an arm changed, for each reward of the study
_MOST_LIKELY: Final = 0.5  # the same over all of the past, at most
_SPACING: Final = 32  # a new moment when there are 1/32 more rewards ...
LEAST_SPACING: Final = 16  # ... and at least so many
_AGES: Final = 3.0  # of three moments, the first is this many times as old as the last, or more
_LIKELY: Final = 0.1  # posterior probability from which on an interval allows for a change
_STRONGEST: Final = 10.0  # rewards that the prior of a stretch counts for, at most
_LEAST_SHAPE: Final = 0.02
_DOUBTED: Final = 4.0  # rewards that an arm's past counts for while its group is doubted
_LEAST_MEAN: Final = 0.01  # means that are moved are taken to be this far from 0 and 1
_LARGEST_SUM: Final = 1e15 * LARGEST
_LARGEST: Final = 50.0  # log odds beyond which a change is certain


@dataclass(frozen=True)
class Memory:
    """Counters of the arms at past moments, one column a row of the active set.

    Args:
        moments: Rewards of the whole study at each moment, rising.
        counts: Rewards of each arm at each moment.
        sums: Their sums.
        base: Rewards of each arm up to the last change that was noticed; 0 without one.
        base_sums: Their sums.
        left: How many rewards those still count for.
        left_sums: The sums that they count for.
        doubted_at: The moment since which an arm's group pays less than it did, in rewards of the
            study; 0 where nothing is doubted. See ``doubt``.
        shifts: How much less: of the mean's log odds or, without a range, of the mean.
        level: Mean of the rewards that speak of now.
        dispersion: Variance of a reward over p (1 - p); without a range, the variance.
        strength: How many rewards the average arm says about any other.
        is_bounded: Whether rewards have a range.
        since: About the last change: rewards of the study when it was noticed, the time (``at``),
            and where the growth schedule starts; None before one.

    Example:
        >>> memory = Memory.start(2, level=0.5, dispersion=1.0, strength=2.0, is_bounded=True)
        >>> memory = memory.with_moment(30, np.array([20.0, 10.0]), np.array([18.0, 5.0]))
        >>> n, total = memory.own(0, 40.0, 18.0)  # twenty failures after eighteen of twenty
        >>> bool(n < 25), bool(total / n < 0.1)
        (True, True)
        >>> memory.own(1, 20.0, 10.0)[0] > 19
        True
    """

    moments: tuple[int, ...]
    counts: Floats
    sums: Floats
    base: Floats
    base_sums: Floats
    left: Floats
    left_sums: Floats
    doubted_at: Floats
    shifts: Floats
    level: float
    dispersion: float
    strength: float
    is_bounded: bool
    since: Mapping[str, float] | None = None
    # Worked out when first asked for, and gone with the memory: another one starts without.
    _splits: dict[int, list[_Split]] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )
    _made: dict[Any, Any] = field(init=False, default_factory=dict, compare=False, repr=False)

    @classmethod
    def start(
        cls, n_rows: int, *, level: float, dispersion: float, strength: float, is_bounded: bool
    ) -> Memory:
        """A memory without a moment."""
        none, nothing = np.zeros((0, n_rows)), np.zeros(n_rows)
        rest = (nothing,) * 6
        return cls((), none, none, *rest, level, dispersion, strength, is_bounded)

    @property
    def n_rows(self) -> int:
        """Arms that were there at the last moment; later ones have nothing to forget."""
        return len(self.base)

    @property
    def due_at(self) -> int:
        """Rewards of the study at which another moment should be kept."""
        last = self.moments[-1] if self.moments else 0
        # The first n with n - last >= max(LEAST_SPACING, n // _SPACING).
        return last + max(LEAST_SPACING, (last - 1) // (_SPACING - 1))

    def with_moment(self, n_rewards: int, counts: Floats, sums: Floats) -> Memory:
        """With the counters of now; of the older moments those stay whose ages grow."""
        widened = self.widened(len(counts))
        moments = (*self.moments, n_rewards)
        places = _kept(moments, n_rewards)
        return replace(
            widened,
            moments=tuple(moments[place] for place in places),
            counts=np.vstack([widened.counts, counts])[places],
            sums=np.vstack([widened.sums, sums])[places],
        )

    def widened(self, n_rows: int) -> Memory:
        """With columns for arms that came in since."""
        more = n_rows - self.n_rows

        def wide(array: Floats) -> Floats:
            return np.concatenate([array, np.zeros((*array.shape[:-1], more))], axis=-1)

        arrays: dict[str, Any] = {name: wide(getattr(self, name)) for name in _ARRAYS}
        return replace(self, **arrays)

    def once(self, make: Callable[[Arms, Memory], Made], arms: Arms) -> Made:
        """What a function makes of the memory and of its arms' configurations, made only once.

        Decisions ask for it much more often than another moment is kept.
        """
        if make not in self._made:
            self._made[make] = make(arms, self)
        return cast(Made, self._made[make])

    # --- what still counts ----------------------------------------------------------------------

    def own(self, row: int, n: float, total: float) -> tuple[float, float]:
        """How many of an arm's n rewards speak of now, and their sum; eq. (memory).

        What came before each moment loses the weight that a change at that moment has, given the
        rewards on both sides of it.
        """
        if row >= self.n_rows:
            return n, total
        n += self.left.item(row) - self.base.item(row)
        total += self.left_sums.item(row) - self.base_sums.item(row)
        doubts = self._doubts
        if doubts is not None and doubts.before.item(row) > 0.0:
            # Its group says more than its own few rewards could.
            kept = doubts.kept.item(row)
            return (
                n - doubts.before.item(row) + kept,
                total - doubts.sums.item(row) + kept * doubts.means.item(row),
            )
        splits = self._splits.get(row)
        if splits is None:
            splits = self._splits[row] = self._splits_of(row)
        whole = None
        weight = gone = gone_sum = 0.0
        unchanged = 1.0
        exp, log_evidence = math.exp, self._log_evidence
        for split in splits:
            n_before, sum_before, prior, before = split
            if n_before >= n:
                continue
            if whole is None:
                whole = log_evidence(n, total)
            after = log_evidence(n - n_before, total - sum_before)
            odds = prior * exp(min(before + after - whole, _LARGEST))
            unchanged -= prior
            weight += odds
            gone += odds * n_before
            gone_sum += odds * sum_before
        if not weight:
            return n, total
        weight += unchanged
        return n - gone / weight, total - gone_sum / weight

    def own_of_all(self, n: Floats, totals: Floats) -> tuple[Floats, Floats]:
        """``own`` of every row; (0, 0) where there is no reward."""
        k = self.n_rows
        shift = self.left - self.base
        counts, sums = n.copy(), totals.copy()
        counts[:k] += shift
        sums[:k] += self.left_sums - self.base_sums
        # Most arms have all their rewards on one side of every moment: nothing to weigh.
        before = self.counts + shift
        is_cut = ((before > 0.0) & (before < counts[:k])).any(axis=0)
        if self._doubts is not None:
            is_cut |= self._doubts.before > 0.0
        for row in np.flatnonzero(is_cut & (n[:k] > 0.0)).tolist():
            counts[row], sums[row] = self.own(row, n.item(row), totals.item(row))
        counts[n == 0.0] = sums[n == 0.0] = 0.0
        return counts, sums

    def stretches(self, row: int, n: float, total: float) -> list[tuple[float, float]]:
        """Which of an arm's n newest rewards may be all that speak of now: counts and sums.

        All since the last change that was noticed, those since its group pays less than it did
        (eq. (doubt)), and those since each moment at which a change that was not noticed is likely
        enough, given the arm's rewards; eq. (memory).
        """
        if row >= self.n_rows:
            return [(n, total)]
        left, left_sum = self.left.item(row), self.left_sums.item(row)
        n += left - self.base.item(row)
        total += left_sum - self.base_sums.item(row)
        whole = [(n - left, total - left_sum)]
        if self._doubts is not None and 0.0 < self._doubts.before.item(row) < n:
            before, gone = self._doubts.before.item(row), self._doubts.sums.item(row)
            whole.append((n - before, total - gone))
        odds, unchanged = [], 1.0
        for n_before, sum_before, prior, before in self._splits_of(row):
            if n_before < n:
                after = self._log_evidence(n - n_before, total - sum_before)
                gain = before + after - self._log_evidence(n, total)
                odds.append((prior * math.exp(min(gain, _LARGEST)), n_before, sum_before))
                unchanged -= prior
        likely = _LIKELY * (unchanged + sum(weight for weight, _, _ in odds))
        return whole + [
            (n - n_before, total - sum_before)
            for weight, n_before, sum_before in odds
            if weight >= likely
        ]

    def predict(self, n: Floats, sums: Floats, strength: float) -> tuple[Floats, Floats]:
        """The mean to expect after n rewards of a sum, and the variance of a single one around it.

        The level of all arms counts as ``strength`` rewards more.
        """
        means = (sums + strength * self.level) / (n + strength)
        if not self.is_bounded:
            return means, np.full_like(means, self.dispersion)
        means = np.clip(means, 1e-3, 1.0 - 1e-3)
        return means, self.dispersion * means * (1.0 - means)

    @cached_property
    def _doubts(self) -> _Doubts | None:
        """What is doubted of each arm; None where nothing is."""
        if not self.doubted_at.any():  # as mostly
            return None
        is_doubted = np.isin(self.doubted_at, self.moments)
        place = np.searchsorted(self.moments, np.where(is_doubted, self.doubted_at, 0.0))
        place, rows = np.minimum(place, len(self.moments) - 1), np.arange(self.n_rows)
        before = self.counts[place, rows] + self.left - self.base
        before = np.where(is_doubted, np.maximum(before, 0.0), 0.0)
        sums = self.sums[place, rows] + self.left_sums - self.base_sums
        means = np.divide(sums, before, out=np.zeros_like(sums), where=before > 0.0)
        return _Doubts(before, sums, np.minimum(before, _DOUBTED), self.moved(means, self.shifts))

    def change(self, before: float, after: float) -> float:
        """How far a mean moved: in log odds or, without a range, as it is."""
        if not self.is_bounded:
            return after - before
        low, high = _LEAST_MEAN, 1.0 - _LEAST_MEAN
        p, q = (late_scipy.logit(min(max(mean, low), high)) for mean in (before, after))
        return float(q - p)

    def moved(self, means: Floats, by: Floats | float) -> Floats:
        """Means that changed by so much; see ``change``."""
        if not self.is_bounded:
            return means + by
        known = late_scipy.logit(np.clip(means, _LEAST_MEAN, 1.0 - _LEAST_MEAN))
        return np.asarray(late_scipy.expit(known + by), dtype=np.float64)

    @cached_property
    def _priors(self) -> list[float]:
        """Of a change between each moment and the one before."""
        start = 0 if self.since is None else self.since["noticed"]
        priors = _HAZARD * np.maximum(np.diff([start, *self.moments]), 1.0)
        found: list[float] = (priors * min(1.0, _MOST_LIKELY / max(priors.sum(), 1e-300))).tolist()
        return found

    def _splits_of(self, row: int) -> list[_Split]:
        """Where an arm's rewards can be cut in two; moments between two rewards are one place."""
        places: dict[float, tuple[float, float]] = {}
        shift = self.left.item(row) - self.base.item(row)
        shift_sum = self.left_sums.item(row) - self.base_sums.item(row)
        for count, total, prior in zip(
            self.counts[:, row].tolist(), self.sums[:, row].tolist(), self._priors, strict=True
        ):
            if count + shift > 0.0:
                _, known = places.get(count + shift, (0.0, 0.0))
                places[count + shift] = (total + shift_sum, known + prior)
        return [
            _Split(n, total, prior, self._log_evidence(n, total))
            for n, (total, prior) in places.items()
        ]

    def _log_evidence(self, n: float, total: float) -> float:
        """Log probability of n rewards of one mean, which is drawn around the level."""
        if not self.is_bounded:
            # mean ~ N(level, dispersion), up to terms that do not depend on where a cut is
            beyond = total - n * self.level
            return 0.5 * (beyond * beyond / ((n + 1.0) * self.dispersion) - math.log(n + 1.0))
        a, b, both, dispersion, log_prior = self._terms
        good = (0.0 if total < 0.0 else total if total < n else n) / dispersion
        n /= dispersion
        return lgamma(a + good) + lgamma(b + n - good) - lgamma(both + n) + log_prior

    @cached_property
    def _terms(self) -> tuple[float, float, float, float, float]:
        """What the evidence of every stretch is worked out from."""
        a, b = self._shapes
        return a, b, a + b, self.dispersion, lgamma(a + b) - lgamma(a) - lgamma(b)

    @cached_property
    def _shapes(self) -> tuple[float, float]:
        strength = min(self.strength, _STRONGEST)
        return (
            max(strength * self.level, _LEAST_SHAPE),
            max(strength * (1.0 - self.level), _LEAST_SHAPE),
        )

    # --- as a store keeps it --------------------------------------------------------------------

    def document(self, arms: Sequence[int]) -> dict[str, Any]:
        """JSON-safe; ``arms`` are the ids of the rows."""
        return {
            "arms": list(arms[: self.n_rows]),
            "moments": list(self.moments),
            **{name: getattr(self, name).tolist() for name in _ARRAYS},
            **{name: getattr(self, name) for name in _NUMBERS},
            "since": None if self.since is None else dict(self.since),
        }

    @classmethod
    def from_document(
        cls, document: Mapping[str, Any], rows: Mapping[int, int], is_bounded: bool
    ) -> Memory:
        """The inverse, up to the last row that it names; arms without a row are left out."""
        known = [(place, rows[arm]) for place, arm in enumerate(document["arms"]) if arm in rows]
        places, at = np.array(known, dtype=np.int64).reshape(-1, 2).T
        moments = tuple(document["moments"])
        n_rows = int(at.max(initial=-1)) + 1
        arrays: dict[str, Any] = {}
        nothing = [0.0] * len(document["arms"])
        for name in _ARRAYS:
            shape = (len(moments),) if name in ("counts", "sums") else ()
            said = document.get(name, nothing) if name in _LATER else document[name]
            read = np.array(said, dtype=np.float64)
            arrays[name] = np.zeros((*shape, n_rows))
            arrays[name][..., at] = read.reshape(*shape, len(document["arms"]))[..., places]
        numbers: dict[str, Any] = {name: float(document[name]) for name in _NUMBERS}
        for name in ("sums", "base_sums", "left_sums"):
            # What a database from before holds can be squared then, as today's rewards can.
            arrays[name] = np.clip(arrays[name], -_LARGEST_SUM, _LARGEST_SUM)
        return cls(
            moments=moments, **arrays, **numbers, is_bounded=is_bounded, since=document["since"]
        )


class _Doubts(NamedTuple):
    """Of each arm, the rewards before its doubted moment; 0 where there is none."""

    before: Floats
    sums: Floats
    kept: Floats  # how many of them still count
    means: Floats  # what each of those counts for


class _Split(NamedTuple):
    """An arm's rewards before a moment, with the prior of a change there."""

    n: float
    sum: float
    prior: float
    log_evidence: float


_ARRAYS: Final = (
    "counts", "sums", "base", "base_sums", "left", "left_sums", "doubted_at", "shifts"
)  # fmt: skip
_LATER: Final = ("doubted_at", "shifts")  # not in what earlier versions wrote
_NUMBERS: Final = ("level", "dispersion", "strength")


def _kept(moments: Sequence[int], now: int) -> list[int]:
    """Places of the moments to keep: the oldest, and others whose ages about double.

    Example:
        >>> moments = [0, 100, 200, 300, 400, 500, 520, 540]
        >>> [moments[place] for place in _kept(moments, 540)]
        [0, 200, 400, 500, 520, 540]
    """
    places: list[int] = []
    for place in range(len(moments) - 1, 0, -1):
        # One between two that are near each other tells nothing that they do not.
        is_last = not places
        if is_last or now - moments[place - 1] > _AGES * (now - moments[places[-1]]):
            places.append(place)
    return [0, *places[::-1]]
