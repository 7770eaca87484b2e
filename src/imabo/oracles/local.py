"""Changing one parameter of a leading arm: what the local proposals have in common."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from imabo.arms import ActiveSet, Floats

_PARENTS = 5  # leading arms to try before giving up


def leaders(
    arms: ActiveSet, rng: np.random.Generator, *, with_coordinate: int | None = None
) -> Iterator[int]:
    """Rows by falling empirical mean, ties in random order; retired arms left out.

    Args:
        arms: The active set.
        rng: Breaks ties.
        with_coordinate: Only rows in which this coordinate is active.
    """
    eligible = (arms.n_rewards > 0) & ~arms.retired
    if with_coordinate is not None:
        eligible &= arms.mask[:, with_coordinate]
    rows = rng.permutation(np.flatnonzero(eligible))
    yield from (int(r) for r in rows[np.argsort(-arms.means[rows], kind="stable")][:_PARENTS])


def switch(
    arms: ActiveSet, parent: int, coordinate: int, unit: float, rng: np.random.Generator
) -> Floats:
    """The parent's point with one coordinate changed and values ready for children it may wake."""
    point: Floats = arms.units[parent].copy()
    point[coordinate] = unit
    for j in np.flatnonzero(~arms.mask[parent]):
        rows = np.flatnonzero(arms.mask[:, j] & (arms.n_rewards > 0))
        branch = rows[arms.units[rows, coordinate] == unit]
        donors = branch if len(branch) else rows
        best = donors[np.argmax(arms.means[donors])] if len(donors) else None
        point[j] = rng.random() if best is None else arms.units[best, j]
    return point
