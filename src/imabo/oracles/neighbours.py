"""Points near given ones, many at a time: steps in one parameter or in several."""

from __future__ import annotations

import numpy as np

from imabo.arms import ActiveSet, Bools, Floats, Ints

_STEPS = np.array([0.03, 0.1, 0.2])  # widths of a Gaussian step, as shares of the range
_FRESH = 0.2  # share of changes that draw the value anew instead
_FEW_VALUES = 30  # with at most so many values, a step is at least one value wide


def mutate(
    arms: ActiveSet, units: Floats, mask: Bools, n_changes: Ints, rng: np.random.Generator
) -> Floats:
    """Change some active parameters of each point.

    Steps past an end stop there, because optima are often at an end. A sleeping parameter gets a
    value in case a change wakes it: half of the time that of an arm which has it, else a P0 draw.
    """
    n, d = units.shape
    parameters = list(arms.space.parameters.values())
    sizes = np.array([p.n_values or 0 for p in parameters])
    open_ = mask & (sizes != 1)
    # The n_changes largest of random keys, one a parameter, are a random subset.
    keys = np.where(open_, rng.random((n, d)), -1.0)
    rank = np.argsort(np.argsort(-keys, axis=1), axis=1)
    changed = open_ & (rank < n_changes[:, None])
    least = np.where((sizes > 0) & (sizes <= _FEW_VALUES), 1.0 / np.maximum(sizes, 1), 0.0)
    widths = np.maximum(_STEPS[rng.integers(len(_STEPS), size=(n, d))], least)
    stepped = np.clip(units + widths * rng.standard_normal((n, d)), 0.0, 1.0)
    unordered = np.array([p.unordered for p in parameters])
    fresh = unordered | (rng.random((n, d)) < _FRESH)
    moved = np.where(fresh, rng.random((n, d)), stepped)
    donors = rng.integers(len(arms), size=n)
    lent: Bools = rng.random((n, 1)) < 0.5
    given = arms.mask[donors] & lent
    asleep = np.where(given, arms.units[donors], rng.random((n, d)))
    return np.where(mask, np.where(changed, moved, units), asleep)
