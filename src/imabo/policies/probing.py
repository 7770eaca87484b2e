"""Trying again what was given up: an arm of a part of the space that is no longer served."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from imabo.arms import ActiveSet, Floats
from imabo.drift import compare
from imabo.policies.expectations import expected_means, prior_counts
from imabo.space import Choice

_EVERY: Final = 60  # rounds between two tries
_SOONER: Final = 20  # the same where the last ones did better than expected ...
_SURPRISE: Final = 1.0  # ... by so many standard errors
_RECENT: Final = 1000  # rewards that are looked at, about
_SERVED: Final = 0.05  # share of them from which on a part counts as served
_MOST_VALUES: Final = 12  # of a choice with more, the values that have an arm are the parts
_STRETCHES: Final = 3  # parts of a number


def probe(arms: ActiveSet, trust: float, limit: float) -> int | None:
    """The row to try again in this round, or None; eq. (probe).

    Of the parts that recent requests left out it is the one that did better than its arms' earlier
    rewards said, where there is one, and otherwise the next in turn; of its arms the one with the
    highest expected mean.
    """
    memory, turn = arms.memory, arms.totals.n_pulls + 1
    if memory is None or not memory.moments or turn % _SOONER:
        return None
    ages = arms.totals.n_rewards - np.array(memory.moments)
    old_enough = np.flatnonzero(ages >= _RECENT)
    place = int(old_enough[-1]) if len(old_enough) else 0
    k = memory.n_rows
    parts, servable = _parts(arms, k), arms.servable[:k]
    recent = arms.n_rewards[:k] - memory.counts[place]
    n = recent @ parts
    is_left_out = (n < _SERVED * recent.sum()) & (servable @ parts)
    if not is_left_out.any():
        return None
    surprise = np.where(is_left_out, _surprise(arms, parts), -np.inf)
    highest = float(surprise.max())
    is_usual = turn % _EVERY == 0
    if not is_usual and highest < _SURPRISE:
        return None
    candidates = np.flatnonzero(is_left_out if is_usual else surprise == highest)
    part = parts[:, candidates[(turn // _EVERY) % len(candidates)]]
    rows = np.flatnonzero(part & servable)
    means = expected_means(arms, prior_counts(arms, trust, limit))[rows]
    return int(rows[np.flatnonzero(means == means.max())[0]])


def _surprise(arms: ActiveSet, parts: NDArray[np.bool_]) -> Floats:
    """By how many standard errors each part has done better than expected, since any moment."""
    if arms.memory is None:
        return np.zeros(parts.shape[1])
    _, sums, expected, variances = compare(arms, arms.memory)
    spread = np.sqrt(variances @ parts)
    better = (sums - expected) @ parts
    errors = np.divide(better, spread, out=np.zeros_like(spread), where=spread > 0.0)
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
