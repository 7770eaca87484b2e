"""Trying again what was given up: an arm of a part of the space that is no longer served."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from imabo.arms import ActiveSet, Floats
from imabo.drift import predict
from imabo.memory import Memory
from imabo.policies.counts import expected_means, prior_counts
from imabo.pricing import is_worth_a_try
from imabo.space import Choice

_EVERY: Final = 250  # rewards without one of its own, about, after which a part is due
_APART: Final = 60  # rounds between two tries of parts that are due, at least
_STEP: Final = 20  # rounds between two tries of a part that surprises ...
_SOON: Final = 4  # ... and of one that is striking
_SURPRISE, _STRIKING = 1.0, 2.0  # standard errors above expectation from which on a part is that
_HOPE: Final = 1.0  # standard errors within which it must be the best, or is left alone
_RECENT: Final = 250  # rewards that are looked at, about
_CALM: Final = 2000  # rewards after a change until another is as unlikely as ever ...
_RESTLESS: Final = 0.25  # ... and how much sooner parts are due at first
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
    if memory is None or not memory.moments or turn % _SOON:
        return None
    n_rewards, k = arms.totals.n_rewards, memory.n_rows
    parts, servable = _parts(arms, k), arms.servable[:k]
    recent = arms.n_rewards[:k] - memory.counts[_newest(memory, n_rewards - _RECENT)]
    shares = recent @ parts / max(float(recent.sum()), 1.0)
    may_be_tried = (shares < _MAJOR) & (servable @ parts)
    if not may_be_tried.any():
        return None
    expected = expected_means(arms, prior_counts(arms, trust, limit))
    means = np.where(servable, expected[:k], -np.inf)
    if arms.spending is not None:
        # What is too dear to be served, however good it turned out to be, is not tried.
        may_be_tried &= (servable & is_worth_a_try(arms, expected)[:k]) @ parts
    surprise = np.where(may_be_tried, _surprise(arms, memory, parts, means.max()), -np.inf)
    if surprise.max() < _STRIKING:
        if turn % _STEP:
            return None
        is_left_out = may_be_tried & (shares < _SERVED)
        surprise = np.where(is_left_out, surprise, -np.inf)
        if surprise.max() < _SURPRISE:
            calm = _calm(memory, n_rewards)
            since = arms.n_rewards[:k] - memory.counts[_newest(memory, n_rewards - _EVERY * calm)]
            due = np.flatnonzero(is_left_out & (since @ parts < 1.0))
            if not len(due) or not _is_time(turn, _APART * calm):
                return None
            # Where more are due than can be tried, each has its turn.
            surprise[due[int(len(due) * (turn // _STEP * _GOLDEN % 1.0))]] = np.inf
    return int(np.where(parts[:, surprise.argmax()], means, -np.inf).argmax())


def _newest(memory: Memory, n_rewards: float) -> int:
    """The place of the newest moment at which there were no more rewards than that."""
    return max(int(np.searchsorted(memory.moments, n_rewards, side="right")) - 1, 0)


def _calm(memory: Memory, n_rewards: int) -> float:
    """1 in a world that stands still, less soon after a change: what changed once does so again."""
    if memory.since is None:
        return 1.0
    calm = (n_rewards - memory.since["noticed"]) / _CALM
    return min(max(math.sqrt(max(calm, 0.0)), _RESTLESS), 1.0)


def _is_time(turn: int, apart: float) -> bool:
    """Whether so many rounds have gone by again since the step before."""
    return turn // apart > (turn - _STEP) // apart


def _surprise(arms: ActiveSet, memory: Memory, parts: NDArray[np.bool_], best: float) -> Floats:
    """By how many standard errors each part has done better than expected, since any moment.

    Its arms count together: those of a part that was given up early have few rewards each. What is
    clearly below the best all the same surprises nobody: it was unlucky before, and would be tried
    for ever. Where it is known how many rewards are on their way, they are waited for.
    """
    k = memory.n_rows
    n_old = np.maximum(memory.counts + memory.left - memory.base, 0.0) @ parts
    old_sums = (memory.sums + memory.left_sums - memory.base_sums) @ parts
    n = (arms.n_rewards[:k] - memory.counts) @ parts
    sums = (arms.unit_sums()[:k] - memory.sums) @ parts
    means, noise = predict(memory, n_old, old_sums, 1.0)
    spread = np.sqrt(noise * n * (1.0 + n / (n_old + 1.0)))
    may_be_best = sums + _HOPE * np.sqrt(noise * n) >= n * best
    counts = (n_old >= _FEWEST_BEFORE) & (spread > 0.0) & may_be_best
    if arms.has_window:
        counts &= n >= arms.n_pending[:k] @ parts
    errors = np.divide(sums - n * means, spread, out=np.zeros_like(spread), where=counts)
    return np.asarray(errors.max(axis=0))


def _parts(arms: ActiveSet, k: int) -> NDArray[np.bool_]:
    """One column a part of the space: values of choices or, without any, stretches of numbers.

    What stands behind a name is what changes unseen; a number means tomorrow what it means today.
    """
    values: list[NDArray[Any]] = []
    stretches: list[NDArray[Any]] = []
    for place, parameter in enumerate(arms.space.parameters.values()):
        is_active, units = arms.mask[:k, place], arms.units[:k, place]
        if isinstance(parameter, Choice) and parameter.unordered:
            known = np.unique(units[is_active])
            if parameter.n_values <= _MOST_VALUES:
                known = np.array([parameter.to_unit(value) for value in parameter.values()])
            values += [is_active & (units == unit) for unit in known]
        else:
            stretch = np.minimum((units * _STRETCHES).astype(np.int64), _STRETCHES - 1)
            stretches += [is_active & (stretch == number) for number in range(_STRETCHES)]
    columns = values if len(values) > 1 else stretches
    return np.array(columns, dtype=np.bool_).reshape(len(columns), k).T
