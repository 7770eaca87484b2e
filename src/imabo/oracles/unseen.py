"""Values that no arm has yet: what a changed space brought in, explored at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from imabo.arms import ActiveSet
from imabo.oracles.base import Proposal
from imabo.oracles.local import leaders, switch
from imabo.space import Choice

_SHARE = 0.5  # of the proposals, as long as there are such values
_STRETCH = 0.25  # an end of a range without an arm counts as unseen from this length on


def try_unseen(arms: ActiveSet, rng: np.random.Generator) -> Proposal | None:
    """A leading arm moved to a value that no arm has, for half of the proposals; or None.

    Only once the space has changed: densities fitted to the arms of the old space would rarely
    propose what the new one added, and the schedule restarted for nothing.
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
    """Each coordinate and stretch of the unit interval that no arm is in."""
    for j, parameter in enumerate(arms.space.parameters.values()):
        units = arms.units[arms.mask[:, j], j]
        if not len(units):
            continue  # the parameter wakes with its parent
        if isinstance(parameter, Choice):
            seen = set(units.tolist())
            every = [parameter.to_unit(value) for value in parameter.values()]
            yield from ((j, unit, unit) for unit in every if unit not in seen)
        else:
            low, high = parameter.cells(np.array([units.min(), units.max()]))
            if low[0] >= _STRETCH:
                yield j, 0.0, float(low[0])
            if high[1] <= 1.0 - _STRETCH:
                yield j, float(high[1]), 1.0
