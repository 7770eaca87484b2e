"""Trying again what was given up: an arm of a part of the space that is no longer served."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from imabo.arms import ActiveSet, Floats, Ints
from imabo.doubt import errors_below
from imabo.memory import Memory
from imabo.policies.counts import expected_means, prior_counts
from imabo.pricing import is_worth_a_try
from imabo.space import Choice

_EVERY: Final = 250  # rewards without one of its own, about, after which a part is due
_APART: Final = 60  # rounds between two tries of parts that are due, at least ...
_FAR_APART: Final = 240  # ... and of those that are one of very many
_STEP: Final = 20  # rounds between two tries of a part that surprises ...
_SOON: Final = 4  # ... and of one that is striking
_SURPRISE, _STRIKING = 1.0, 2.0  # standard errors above expectation from which on a part is that
_HOPE: Final = 1.0  # standard errors within which it must be the best, or is left alone
_RECENT: Final = 250  # rewards that are looked at, about
_CALM: Final = 2000  # rewards after a change until another is as unlikely as ever ...
_RESTLESS: Final = 0.25  # ... and how much sooner parts are due at first
_SETTLED: Final = 5000  # rewards without a change, from which on parts are due ever more rarely
_WHILE: Final = 1000  # rewards within which what is served may pay less than before ...
_LESS: Final = 3.0  # ... by so many standard errors ...
_FEWEST_PAID: Final = 30.0  # ... of so many rewards, before and after
_SERVED: Final = 0.05  # share of them from which on a part counts as served ...
_MAJOR: Final = 0.3  # ... and needs no more tries, however striking it is
_FEWEST_BEFORE: Final = 2.0  # rewards of a part, below which there is nothing to surprise
_MOST_VALUES: Final = 12  # of a choice with more, the values that have an arm are the parts
_STRETCHES: Final = 3  # parts of a number
_GOLDEN: Final = (math.sqrt(5.0) - 1.0) / 2.0  # its multiples come by all places, evenly


def probe(arms: ActiveSet, trust: float, limit: float) -> int | None:
    """The row to try again in this round, or None; eq. (probe).

    Of the parts that are hardly served it is the one that did better than its earlier rewards
    said, and may be the best by now, where there is one; otherwise one that nobody has tried for
    long. Of its arms it is the one with the highest expected mean.
    """
    memory, turn = arms.memory, arms.totals.n_pulls + 1
    if turn % _SOON or memory is None or not memory.moments:
        return None
    n_rewards, k = arms.totals.n_rewards, memory.n_rows
    past, servable, counts = memory.once(_Past.of, arms), arms.servable[:k], arms.n_rewards[:k]
    parts, newest = past.parts, _newest(memory, n_rewards - _RECENT)
    n = counts @ parts - past.counts  # whole numbers: the same in any order
    shares = n[newest] / max(float(counts.sum()) - past.totals[newest], 1.0)
    is_servable = past.is_there if arms.n_servable == len(arms) else servable @ parts > 0.0
    may_be_tried = is_servable & (shares < _MAJOR)
    if not may_be_tried.any():
        return None
    sums = (arms.unit_sums()[:k] - memory.sums) @ parts
    errors = _errors(arms, past, n, sums)
    if turn % _STEP and errors[:, may_be_tried].max() < _STRIKING:
        return None  # as in most rounds, without a look at which arm is the best
    expected = expected_means(arms, prior_counts(arms, trust, limit))
    means = np.where(servable, expected[:k], -np.inf)
    if arms.spending is not None:
        # What is too dear to be served, however good it turned out to be, is not tried.
        may_be_tried &= (servable & is_worth_a_try(arms, expected)[:k]) @ parts > 0.0
    # What is clearly below the best all the same surprises nobody: it was unlucky before, and would
    # be tried for ever.
    may_be_best = sums + _HOPE * np.sqrt(past.noise * n) >= n * means.max()
    surprise = np.where(may_be_best, errors, 0.0).max(axis=0)
    surprise = np.where(may_be_tried, surprise, -np.inf)
    if surprise.max() < _STRIKING:
        if turn % _STEP:
            return None
        is_left_out = may_be_tried & (shares < _SERVED)
        surprise = np.where(is_left_out, surprise, -np.inf)
        if surprise.max() < _SURPRISE:
            calm = _calm(arms, memory, past, n_rewards)
            since = n[_newest(memory, n_rewards - _EVERY * calm)]
            due = _due(is_left_out & (since < 1.0), past.is_of_many, turn, calm)
            if not len(due):
                return None
            # Where more are due than can be tried, each has its turn.
            surprise[due[int(len(due) * (turn // _STEP * _GOLDEN % 1.0))]] = np.inf
    return int(np.where(parts[:, surprise.argmax()] > 0.0, means, -np.inf).argmax())


class _Past(NamedTuple):
    """What a memory says of the parts: one row a moment, one column a part."""

    parts: Floats  # one row an arm: 1 where it is of the part
    is_of_many: NDArray[np.bool_]  # parts that are values of a long choice
    is_there: NDArray[np.bool_]  # parts that have an arm
    counts: Floats  # rewards at the moment
    totals: list[float]  # the same of all arms ...
    sums: list[float]  # ... and their sums
    n_old: Floats  # what of them still counts ...
    is_known: NDArray[np.bool_]  # ... where that is enough to surprise anybody
    means: Floats  # what they let expect ...
    noise: Floats  # ... and the variance of a reward around it

    @classmethod
    def of(cls, arms: ActiveSet, memory: Memory) -> _Past:
        members, is_of_many = _parts(arms, memory.n_rows)
        parts = np.ascontiguousarray(members, dtype=np.float64)
        n_old = np.maximum(memory.counts + memory.left - memory.base, 0.0) @ parts
        old_sums = (memory.sums + memory.left_sums - memory.base_sums) @ parts
        means, noise = memory.predict(n_old, old_sums, 1.0)
        totals: list[float] = memory.counts.sum(axis=1).tolist()
        is_known = n_old >= _FEWEST_BEFORE
        is_there = parts.max(axis=0, initial=0.0) > 0.0
        sums: list[float] = memory.sums.sum(axis=1).tolist()
        counts = memory.counts @ parts
        return cls(parts, is_of_many, is_there, counts, totals, sums, n_old, is_known, means, noise)


def _newest(memory: Memory, n_rewards: float) -> int:
    """The place of the newest moment at which there were no more rewards than that."""
    return max(bisect_right(memory.moments, n_rewards) - 1, 0)


def _calm(arms: ActiveSet, memory: Memory, past: _Past, n_rewards: int) -> float:
    """1 at first, less soon after a change: what changed once does so again.

    Also while what is served pays less than it did: something else may be better by now. And more
    in a world that has stood still for long. Where changes are h rewards apart, looking and being
    late cost least together if looks are apart by the root of h, and h is hardly below the time
    since the last one; so what looking costs in all grows as a root, too.
    """
    if _pays_less(arms, memory, past):
        return _RESTLESS
    since = memory.since
    still = max(n_rewards - (0.0 if since is None else since["noticed"]), 0.0)
    soon = 1.0 if since is None else min(max(math.sqrt(still / _CALM), _RESTLESS), 1.0)
    return max(soon, math.sqrt(still / _SETTLED))


def _pays_less(arms: ActiveSet, memory: Memory, past: _Past) -> bool:
    """Whether rewards since some moment are clearly below those between two moments before.

    Whoever served them: of all that is served no luck was chosen, and a policy that learns serves
    nothing worse on purpose.
    """
    n_rewards, total = float(arms.n_rewards.sum()), float(arms.unit_sums().sum())
    first = _newest(memory, arms.totals.n_rewards - _WHILE)
    counts, sums = np.array(past.totals[first:]), np.array(past.sums[first:])
    errors = errors_below(memory, counts, sums, n_rewards, total, _FEWEST_PAID)
    return bool(errors.max(initial=-np.inf) >= _LESS)


def _due(is_due: NDArray[np.bool_], is_of_many: NDArray[np.bool_], turn: int, calm: float) -> Ints:
    """The parts of which one is tried in this round: values of long choices, or the others.

    What looking costs grows with how often it is done, but where the parts are many each has its
    turn so rarely that a rise is found late in any case.
    """
    for every, are_theirs in ((_FAR_APART, is_of_many), (_APART, ~is_of_many)):
        due = np.flatnonzero(is_due & are_theirs)
        if len(due) and _is_time(turn, every * calm):
            return due
    return np.empty(0, dtype=np.int64)


def _is_time(turn: int, apart: float) -> bool:
    """Whether so many rounds have gone by again since the step before."""
    return turn // apart > (turn - _STEP) // apart


def _errors(arms: ActiveSet, past: _Past, n: Floats, sums: Floats) -> Floats:
    """By how many standard errors n rewards of a sum are better than expected; 0 where few are.

    The arms of a part count together: those of one that was given up early have few rewards each.
    Where it is known how many rewards are on their way, they are waited for.
    """
    spread = np.sqrt(past.noise * n * (1.0 + n / (past.n_old + 1.0)))
    counts = past.is_known & (spread > 0.0)
    if arms.has_window:
        counts &= n >= arms.n_pending[: len(past.parts)] @ past.parts
    return np.divide(sums - n * past.means, spread, out=np.zeros_like(spread), where=counts)


def _parts(arms: ActiveSet, k: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """One column a part of the space: values of choices or, without any, stretches of numbers.

    What stands behind a name is what changes unseen; a number means tomorrow what it means today.
    And which of them are values of a long choice, one of more than ``_MOST_VALUES``.
    """
    columns: list[NDArray[Any]] = []
    is_of_many: list[bool] = []
    numbers: list[int] = []  # places of the other parameters
    for place, parameter in enumerate(arms.space.parameters.values()):
        if isinstance(parameter, Choice) and parameter.unordered:
            is_active, units = arms.mask[:k, place], arms.units[:k, place]
            if parameter.n_values <= _MOST_VALUES:
                known = [parameter.to_unit(value) for value in parameter.values()]
            else:
                known = np.unique(units[is_active]).tolist()
            columns += [is_active & (units == unit) for unit in known]
            is_of_many += [parameter.n_values > _MOST_VALUES] * len(known)
        else:
            numbers.append(place)
    if len(columns) <= 1:
        columns, is_of_many = [], []
        for place in numbers:
            is_active, units = arms.mask[:k, place], arms.units[:k, place]
            stretch = np.minimum((units * _STRETCHES).astype(np.int64), _STRETCHES - 1)
            columns += [is_active & (stretch == number) for number in range(_STRETCHES)]
            is_of_many += [False] * _STRETCHES
    members = np.array(columns, dtype=np.bool_).reshape(len(columns), k).T
    return members, np.array(is_of_many, dtype=np.bool_)
