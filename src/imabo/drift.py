"""Noticing that the world has changed, and forgetting what is no longer true.

Pure functions of the active set. Which rewards are compared, and when a difference is a change, is
in docs/algorithm.md; the lines carry its labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from imabo.arms import ActiveSet, Floats, Ints, Restart
from imabo.doubt import doubted
from imabo.memory import Memory
from imabo.settings import is_number
from imabo.space import Choice, Scalar
from imabo.space.scalars import show

_ALARM: Final = 7.5  # log odds against chance, beyond one for each comparison, that are a change
_CHANCES: Final = 0.5  # more of it for each stretch of time, on the log scale; see decision 8
_FEWEST_BEFORE: Final = 8.0  # rewards of an arm, below which it is compared with nothing
_STRONGEST: Final = 10.0  # rewards that the average arm says about any other, at most
_FEWEST_AFTER: Final = 4.0  # rewards that a change must show in
_MOST_VALUES: Final = 12  # a choice of more is looked at arm by arm only
_NARROW: Final = 0.8  # of the evidence: then a value explains as much as everything together
_LEFT: Final = 0.3  # rewards that an arm's past counts for after a change of everything
_LEFT_MOVED: Final = 2.0  # the same for arms of a value that changed, moved by as much as it did
_FURTHER: Final = 1.5  # times the change of the mean that is seen: how far it really went
_LEAST: Final = 1e-6  # means stay this far from 0 and 1
_FEWEST_ARMS: Final = 5  # below this the arms do not say how different arms are
_STRENGTHS: Final = (2.0, 60.0)


@dataclass(frozen=True, slots=True)
class Drift:
    """A change of the rewards, as it was noticed.

    Args:
        since: Rewards of the study at the moment after which they differ.
        before: Mean that the rewards after it should have had, on the unit scale.
        after: Mean that they have.
        n_rewards: How many they are.
        evidence: Log likelihood ratio against chance.
        arm: The arm that changed, or None.
        parameter: The parameter of whose value all arms changed, or None.
        value: That value.

    Example:
        >>> Drift(300, 0.8, 0.2, 20.0, 17.0, parameter="model", value="small").data()["value"]
        'small'
    """

    since: int
    before: float
    after: float
    n_rewards: float
    evidence: float
    arm: int | None = None
    parameter: str | None = None
    value: Scalar | None = None

    def data(self) -> dict[str, Any]:
        """As the log has it."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Drift:
        """The inverse; refuses what is no number where one belongs."""
        for name in ("since", "before", "after", "n_rewards", "evidence"):
            if not is_number(data[name]):
                raise TypeError(f"{name} {show(data[name])}")
        return cls(**{name: data[name] for name in cls.__slots__})


def remember(arms: ActiveSet) -> Memory:
    """The study's memory with the counters of this moment."""
    memory = arms.memory
    if memory is None:
        memory = Memory.start(
            len(arms), level=0.5, dispersion=1.0, strength=_STRENGTHS[0], is_bounded=True
        )
    kept = memory.with_moment(arms.totals.n_rewards, arms.n_rewards, arms.unit_sums())
    refitted = _refitted(arms, kept)
    # All arms together fall for drift alone: with nothing left to compare it with, what they pay
    # now is no reason to serve anything else.
    return doubted(refitted, refitted.once(_Groups.of, arms).members[:, 1:])


class Compared(NamedTuple):
    """Rewards since each moment, against what each arm's earlier ones predict.

    One row a moment, one column an arm: how many they are, their sum, the sum that was to be
    expected, the variance of the difference, and what of the sum may have been luck before.
    """

    n: Floats
    sums: Floats
    expected: Floats
    variances: Floats
    luck: Floats


class _Expected(NamedTuple):
    """What each arm's rewards up to each moment predict: all that the memory says."""

    is_compared: NDArray[np.bool_]  # whether they are enough to compare with
    means: Floats
    noise: Floats  # variance of a single reward
    weights: Floats  # how many rewards the prediction is worth
    luck: Floats  # what of a reward may have been luck before

    @classmethod
    def of(cls, _: ActiveSet, memory: Memory) -> _Expected:
        # An arm may be far from the average one, and must not seem to change for that.
        strength = min(memory.strength, _STRONGEST)
        # Below 0 at moments before the base of an arm that changed: nothing to compare with.
        n_old = np.maximum(memory.counts + memory.left - memory.base, 0.0)
        old_sums = memory.sums + memory.left_sums - memory.base_sums
        # What to expect of an arm: its earlier rewards, drawn towards the level of all arms,
        # because arms are served for having been lucky.
        means, noise = memory.predict(n_old, old_sums, strength)
        usual = memory.predict(np.zeros(1), np.zeros(1), 1.0)[1]
        weights = n_old + strength
        return cls(n_old >= _FEWEST_BEFORE, means, noise, weights, np.sqrt(usual / weights))


def compare(arms: ActiveSet, memory: Memory) -> Compared:
    """See ``Compared``; arms with few earlier rewards are left out."""
    k = memory.n_rows
    is_compared, means, noise, weights, luck = memory.once(_Expected.of, arms)
    n = np.where(is_compared, arms.n_rewards[:k] - memory.counts, 0.0)
    sums = np.where(is_compared, arms.unit_sums()[:k] - memory.sums, 0.0)
    return Compared(n, sums, n * means, noise * n * (1.0 + n / weights), n * luck)


def find_drift(arms: ActiveSet) -> Drift | None:
    """The clearest change since any moment of the memory, or None; eq. (drift).

    Rewards since a moment are compared with what each arm's earlier ones predict, for every arm by
    itself, for the arms of every value of a choice, and for all together.
    """
    memory = arms.memory
    if memory is None or not memory.moments:
        return None
    k, groups = memory.n_rows, memory.once(_Groups.of, arms)
    compared = Compared._make(
        np.concatenate([column, column @ groups.members], axis=1)
        for column in compare(arms, memory)
    )
    # Arms that are served were lucky, all of them: unchanged, they fall together.
    compared.luck[:, :k] = 0.0
    is_shown = (compared.n >= _FEWEST_AFTER) & (compared.variances > 0.0)
    evidence = np.zeros_like(compared.n)
    n, sums, expected, spread, luck = (column[is_shown] for column in compared)
    before, after = expected / n, sums / n
    least = np.where(after < before, np.maximum(before - luck / n, after), before)
    evidence[is_shown] = _evidence(before, least, after, n * n / spread, memory.is_bounded)
    # Arms with N rewards have had N / n stretches of n, each of which may deceive by chance.
    held = np.where(compared.n[:, :k] > 0.0, arms.n_rewards[:k], 0.0)
    held = np.concatenate([held, held @ groups.members], axis=1)[is_shown]
    # Half of the level is for single arms, half for groups, however many arms there are.
    n_tests = np.full(evidence.shape[1], 2.0 * groups.members.shape[1])
    n_tests[:k] = 2.0 * max(int(np.count_nonzero(arms.n_rewards)), 1)
    surplus = np.zeros_like(evidence)
    surplus[is_shown] = evidence[is_shown] - _CHANCES * np.log(held / n)
    surplus -= np.log(n_tests)
    place, group = divmod(int(surplus.argmax()), surplus.shape[1])
    if group == k and evidence.shape[1] > k + 1:
        narrow = k + 1 + int(evidence[place, k + 1 :].argmax())
        if evidence[place, narrow] > _NARROW * evidence[place, group]:
            group = narrow
    if not surplus[place, group] >= _ALARM:
        return None
    n_after = compared.n.item(place, group)
    found = Drift(
        since=memory.moments[place],
        before=compared.expected.item(place, group) / n_after,
        after=compared.sums.item(place, group) / n_after,
        n_rewards=n_after,
        evidence=float(evidence[place, group]),
    )
    if group < k:
        return replace(found, arm=int(arms.ids[group]))
    return replace(found, **groups.labels[group - k])


def forget(arms: ActiveSet, drift: Drift, at: float) -> Memory:
    """The study's memory after a change that was noticed at a time.

    After a change of everything, what an arm had before it counts for a part of a reward. After
    the change of a value or of an arm, all that it had counts for two rewards, moved by as much,
    and all others keep theirs.
    """
    memory = arms.memory
    if memory is None or not memory.moments:
        raise LookupError("a change without a memory")
    # A log may come from servers whose moments were others: the nearest one then.
    place = int(np.abs(np.array(memory.moments) - drift.since).argmin())
    counts, sums = memory.counts[place], memory.sums[place]
    left = np.maximum(counts + memory.left - memory.base, 0.0)
    left_sums = sums + memory.left_sums - memory.base_sums
    means = np.divide(left_sums, left, out=np.full_like(left, memory.level), where=left > 0.0)
    rows = _rows_of(arms, drift, memory)
    if rows is None:
        left = np.minimum(left, _LEFT)
    else:
        # Its newest rewards, too: some of them are from before the change.
        counts, sums = counts.copy(), sums.copy()
        counts[rows], sums[rows] = arms.n_rewards[rows], arms.unit_sums()[rows]
        left[rows] = np.minimum(left[rows], _LEFT_MOVED)
        means[rows] = _moved(means[rows], drift, memory)
    totals, start = arms.totals, arms.growth_start
    if rows is None:
        # New arms are due at once; after the change of a part, the others are as good as before.
        start = Restart(totals.n_pulls, totals.n_rewards, totals.n_pending, arms.n_growing)
    forgotten = replace(
        memory,
        moments=memory.moments[place:],
        counts=memory.counts[place:],
        sums=memory.sums[place:],
        base=counts,
        base_sums=sums,
        left=left,
        left_sums=left * means,
        doubted_at=np.zeros(memory.n_rows),
        shifts=np.zeros(memory.n_rows),
        since={**asdict(start), "noticed": totals.n_rewards, "at": at},
    )
    return _refitted(arms, forgotten)


@dataclass(frozen=True)
class _Groups:
    """Arms that are looked at together: one column each, all of them first."""

    labels: list[dict[str, Any]]
    members: Floats

    @classmethod
    def of(cls, arms: ActiveSet, memory: Memory) -> _Groups:
        k = memory.n_rows
        labels: list[dict[str, Any]] = [{}]
        columns: list[NDArray[Any]] = [np.ones(k)]
        for place, (name, parameter) in enumerate(arms.space.parameters.items()):
            if isinstance(parameter, Choice) and parameter.n_values <= _MOST_VALUES:
                for value in parameter.values():
                    labels.append({"parameter": name, "value": value})
                    has_value = arms.units[:k, place] == parameter.to_unit(value)
                    columns.append(arms.mask[:k, place] & has_value)
        return cls(labels, np.array(columns, dtype=np.float64).T)


def _rows_of(arms: ActiveSet, drift: Drift, memory: Memory) -> Ints | None:
    """The rows that changed; None for all."""
    if drift.arm is not None:
        row = arms.row_of(drift.arm)
        is_there = row is not None and row < memory.n_rows
        return np.array([row] if is_there else [], dtype=np.int64)
    groups = memory.once(_Groups.of, arms)
    wanted = {"parameter": drift.parameter, "value": drift.value}
    for label, members in zip(groups.labels[1:], groups.members.T[1:], strict=True):
        if label == wanted and type(label["value"]) is type(drift.value):  # 1 is not True
            return np.flatnonzero(members)
    return None


def _moved(means: Floats, drift: Drift, memory: Memory) -> Floats:
    """Means that changed as the mean of all did: by the same odds, or by the same amount.

    By more than it seems, because some of the rewards that show it came before the change.
    """
    return memory.moved(means, _FURTHER * memory.change(drift.before, drift.after))


def _evidence(
    before: Floats, least: Floats, after: Floats, precision: Floats, is_bounded: bool
) -> Floats:
    """Log likelihood ratio of a mean against ``least``, for rewards of so much information."""
    if not is_bounded:
        return np.asarray(0.5 * precision * (after - least) ** 2)
    p, q = (np.clip(x, _LEAST, 1.0 - _LEAST) for x in (least, after))
    divergence = q * np.log(q / p) + (1.0 - q) * np.log((1.0 - q) / (1.0 - p))
    expected = np.clip(before, _LEAST, 1.0 - _LEAST)
    return np.asarray(expected * (1.0 - expected) * precision * divergence)


def _refitted(arms: ActiveSet, memory: Memory) -> Memory:
    """The same moments, with how rewards scatter and how arms differ by today's counters."""
    n = arms.n_rewards
    is_bounded = arms.reward_range is not None
    gone, gone_sums = memory.base - memory.left, memory.base_sums - memory.left_sums
    kept = float(n.sum() - gone.sum())
    level = float(arms.unit_sums().sum() - gone_sums.sum()) / kept if kept > 0.0 else 0.5
    rows = np.flatnonzero(n >= 2.0)
    variances, counts, means = arms.variances()[rows], n[rows], arms.means[rows]
    spare = float(counts.sum()) - len(rows)
    pooled = float(counts @ variances) / spare if spare > 0.0 else 0.0
    dispersion, spread = 1.0, 0.0
    if is_bounded:
        level = min(max(level, 0.0), 1.0)
        most = float(counts @ (means * (1.0 - means))) / max(float(counts.sum()), 1.0)
        dispersion = min(max(pooled / most, 0.1), 1.0) if most > 0.0 and pooled > 0.0 else 1.0
        noise = dispersion * level * (1.0 - level)
    else:
        # At least so much that the largest mean can be told in it, or evidence is no number.
        least = max(1e-30 * float(np.max(arms.means[n > 0.0] ** 2, initial=0.0)), 1e-300)
        dispersion = noise = max(pooled, least) if pooled > 0.0 else 1.0
    if len(rows) >= _FEWEST_ARMS:
        spread = float(np.var(means) - np.mean(variances / (counts - 1.0)))
    low, high = _STRENGTHS
    strength = low if len(rows) < _FEWEST_ARMS else high
    if spread > 0.0:
        strength = min(max(noise / spread, low), high)
    return replace(
        memory, level=level, dispersion=dispersion, strength=strength, is_bounded=is_bounded
    )
