"""Changing one parameter of a leading arm; above all to values that a changed space brought in."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from imabo.arms import ActiveSet, Floats
from imabo.oracles.base import Proposal
from imabo.space import Choice

_PARENTS = 5  # leading arms to try before giving up
_SHARE = 0.5  # of the proposals, as long as there are such values
_ENOUGH = 10  # rewards of a new choice, from which on it is left to the oracle
_TRIES = 25  # arms of a new choice, after which it is left to the oracle in any case
_STRETCH = 0.25  # an end of a range without an arm counts as unseen from this length on


def leaders(
    arms: ActiveSet, rng: np.random.Generator, *, with_coordinate: int | None = None
) -> Iterator[int]:
    """Rows by falling mean, ties in random order; none is retired or lacks the coordinate."""
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


def try_unseen(arms: ActiveSet, rng: np.random.Generator) -> Proposal | None:
    """A leading arm moved to a value that is new, for half of the proposals; or None.

    Only once the space has changed: densities fitted to the arms of the old space would rarely
    propose what the new one added, and the schedule restarted for nothing. A new choice is tried
    until some rewards are in: one arm whose feedback is lost says nothing about it.
    """
    if not arms.restart.n_pulls:
        return None
    places = list(_unseen(arms))
    if not places or rng.random() >= _SHARE:
        return None
    for place in rng.permutation(len(places)):
        coordinate, low, high = places[place]
        for parent in leaders(arms, rng, with_coordinate=coordinate):
            point = switch(arms, parent, coordinate, float(rng.uniform(low, high)), rng)
            config = arms.space.decode(point)
            if config not in arms and not arms.space.is_forbidden(config):
                name = arms.space.names[coordinate]
                return Proposal(config, parent=int(arms.ids[parent]), mutated=name)
    return None


def _unseen(arms: ActiveSet) -> Iterator[tuple[int, float, float]]:
    """Each coordinate and stretch of the unit interval that no arm is in, or hardly any."""
    for j, parameter in enumerate(arms.space.parameters.values()):
        units = arms.units[arms.mask[:, j], j]
        if not len(units):
            continue  # the parameter wakes with its parent
        if isinstance(parameter, Choice):
            every = [parameter.to_unit(value) for value in parameter.values()]
            yield from ((j, unit, unit) for unit in every if _is_new(arms, j, unit))
        else:
            low, high = parameter.cells(np.array([units.min(), units.max()]))
            if low[0] >= _STRETCH:
                yield j, 0.0, float(low[0])
            if high[1] <= 1.0 - _STRETCH:
                yield j, float(high[1]), 1.0


def _is_new(arms: ActiveSet, coordinate: int, unit: float) -> bool:
    """Whether no arm of the old space has a choice, and the new ones have not taught much yet."""
    rows = np.flatnonzero(arms.mask[:, coordinate] & (arms.units[:, coordinate] == unit))
    if not len(rows):
        return True
    # Rows are in the order of admission.
    is_added = rows[0] >= arms.restart.n_arms
    return bool(is_added and len(rows) < _TRIES and arms.n_rewards[rows].sum() < _ENOUGH)
