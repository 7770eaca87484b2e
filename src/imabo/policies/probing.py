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

_EVERY: Final = 240  # rounds between two tries of a part that is half a standard deviation behind
_LEAST, _MOST = 0.5, 4.0  # of that, for parts that are closer and for those further behind
_STEP: Final = 20  # rounds between two tries of any part, at least
_SHIFT: Final = 5  # steps between the turns of two parts
_SURPRISE: Final = 1.0  # standard errors above expectation from which a part is tried every step
_RECENT: Final = 250  # rewards that are looked at, about
_CALM: Final = 2000  # rewards after a change until another is as unlikely as ever ...
_RESTLESS: Final = 0.25  # ... and how much sooner parts are tried at first
_SERVED: Final = 0.05  # share of them from which on a part counts as served
_FEWEST_BEFORE: Final = 2.0  # rewards of a part, below which there is nothing to surprise
_MOST_VALUES: Final = 12  # of a choice with more, the values that have an arm are the parts
_STRETCHES: Final = 3  # parts of a number
_TINY: Final = 1e-300


def probe(arms: ActiveSet, trust: float, limit: float) -> int | None:
    """The row to try again in this round, or None; eq. (probe).

    Of the parts that recent requests left out it is the one that did better than its earlier
    rewards said, where there is one, and otherwise one whose turn it is: the further behind a part
    is, the rarer, because what would make it the best would show in fewer tries. Of its arms it is
    the one with the highest expected mean.
    """
    memory, turn = arms.memory, arms.totals.n_pulls + 1
    if memory is None or not memory.moments or turn % _STEP:
        return None
    ages = arms.totals.n_rewards - np.array(memory.moments)
    old_enough = np.flatnonzero(ages >= _RECENT)
    place = int(old_enough[-1]) if len(old_enough) else 0
    k = memory.n_rows
    parts, servable = _parts(arms, k), arms.servable[:k]
    recent = arms.n_rewards[:k] - memory.counts[place]
    is_left_out = (recent @ parts < _SERVED * recent.sum()) & (servable @ parts)
    if not is_left_out.any():
        return None
    expected = expected_means(arms, prior_counts(arms, trust, limit))
    means = expected[:k]
    means = np.where(servable, means, -np.inf)
    if arms.spending is not None:
        # What is too dear to be served, however good it turned out to be, is not tried.
        is_left_out &= (servable & is_worth_a_try(arms, expected)[:k]) @ parts
        if not is_left_out.any():
            return None
    surprise = np.where(is_left_out, _surprise(arms, memory, parts), -np.inf)
    part = int(surprise.argmax())
    if surprise[part] < _SURPRISE:
        behind = means.max() - np.where(parts, means[:, None], -np.inf).max(axis=0)
        behind = np.where(is_left_out, behind, 0.0)
        due = is_left_out & _is_due(turn // _STEP, behind, memory, arms.totals.n_rewards)
        if not due.any():
            return None
        part = int(due.argmax())
    return int(np.where(parts[:, part], means, -np.inf).argmax())


def _is_due(step: int, behind: Floats, memory: Memory, n_rewards: int) -> NDArray[np.bool_]:
    """Of which parts it is the turn, by how far they are behind the best arm."""
    (_, (variance,)) = predict(memory, np.zeros(1), np.zeros(1), 1.0)
    often = np.clip(behind * behind / (0.25 * max(variance, _TINY)), _LEAST, _MOST)
    steps = _EVERY / _STEP * often
    if memory.since is not None:  # what has changed once changes again
        calm = (n_rewards - memory.since["noticed"]) / _CALM
        steps *= min(max(math.sqrt(max(calm, 0.0)), _RESTLESS), 1.0)
    turns = step + _SHIFT * np.arange(len(steps))
    return np.asarray(turns // steps > (turns - 1) // steps)


def _surprise(arms: ActiveSet, memory: Memory, parts: NDArray[np.bool_]) -> Floats:
    """By how many standard errors each part has done better than expected, since any moment.

    Its arms count together: those of a part that was given up early have few rewards each.
    """
    k = memory.n_rows
    n_old = np.maximum(memory.counts + memory.left - memory.base, 0.0) @ parts
    old_sums = (memory.sums + memory.left_sums - memory.base_sums) @ parts
    n = (arms.n_rewards[:k] - memory.counts) @ parts
    sums = (arms.unit_sums()[:k] - memory.sums) @ parts
    means, noise = predict(memory, n_old, old_sums, 1.0)
    spread = np.sqrt(noise * n * (1.0 + n / (n_old + 1.0)))
    is_known = (n_old >= _FEWEST_BEFORE) & (spread > 0.0)
    errors = np.divide(sums - n * means, spread, out=np.zeros_like(spread), where=is_known)
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
