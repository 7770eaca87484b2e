"""Mutate: change one parameter of the best arm (the paper's mutate-KLxPE)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from imabo.arms import ActiveSet, Floats, Ints
from imabo.bounds import kl_upper
from imabo.density import Parzen
from imabo.oracles.base import Proposal
from imabo.oracles.groups import ParzenOracle, Split, category_counts
from imabo.oracles.local import leaders, switch
from imabo.space import Config

_LISTED = 256  # a coordinate with at most this many values is tried whole if sampling fails


@dataclass(frozen=True, slots=True)
class Mutate(ParzenOracle):
    """Take the best arm, change one parameter (IMOSS-mutate-KLxPE); the strongest cheap oracle.

    (a) The arm is the one with the highest empirical mean. (b) The parameter is chosen by KL-UCB,
    where a parameter's reward is the mean of the arms that mutating it produced, as it is now.
    (c) The value is the candidate with the highest ratio of two one-dimensional Parzen densities,
    fitted to the parameter's values in good and in bad arms.

    On a conditional space a mutated parent may switch children on: they take the values they have
    in the best arm of that branch, else in the best arm that has them at all, else a P0 draw. After
    ``update_space``, half of the proposals go to values that no arm has, while there are any.

    Args:
        gamma: Share of arms in the good group, in (0, 1).
        optimism: Share of the index's bonus that counts in the ranking, in [0, 1]: 1 ranks by the
            index as printed in the paper, 0 by the mean.
        candidates: Values drawn from the good density.
        startup: Below this many arms with a reward, draw from P0.

    Example:
        >>> from imabo import Choice, Float, Space
        >>> from imabo.arms import ActiveSet
        >>> space = Space(x=Float(0, 1), y=Choice("a", "b"))
        >>> tried = [({"x": i / 20, "y": "a"}, [i / 20]) for i in range(20)]
        >>> arms = ActiveSet.from_rewards(space, tried)
        >>> proposal = Mutate().propose(arms, arms.means, np.random.default_rng(1))
        >>> proposal.parent, proposal.mutated
        (20, 'y')
    """

    def compare(self, arms: ActiveSet, split: Split, rng: np.random.Generator) -> Proposal | None:
        """A leading arm with one parameter changed, never an arm that exists."""
        for parent in leaders(arms, rng):
            for coordinate in _coordinates(arms, parent, rng):
                config = self._mutate(arms, split, parent, coordinate, rng)
                if config is not None:
                    name = arms.space.names[coordinate]
                    return Proposal(config, parent=int(arms.ids[parent]), mutated=name)
        return None

    def _mutate(
        self, arms: ActiveSet, split: Split, parent: int, coordinate: int, rng: np.random.Generator
    ) -> Config | None:
        """The parent with its best new value on one coordinate, or None if there is none."""
        good = _fit_column(arms, split.good, coordinate)
        bad = _fit_column(arms, split.bad, coordinate)
        units = good.sample(rng, self.candidates)[:, 0]
        config = _best_change(arms, parent, coordinate, units, good, bad, rng)
        parameter = list(arms.space.parameters.values())[coordinate]
        if config is None and parameter.n_values is not None and parameter.n_values <= _LISTED:
            everything = np.array([parameter.to_unit(value) for value in parameter.values()])
            everything = rng.permutation(everything)
            config = _best_change(arms, parent, coordinate, everything, good, bad, rng)
        return config


def _coordinates(arms: ActiveSet, parent: int, rng: np.random.Generator) -> Iterator[int]:
    """The parent's active coordinates by falling KL-UCB index (step b), ties in random order."""
    born = arms.mutated >= 0
    credited = born & (arms.n_rewards > 0)
    d = len(arms.space)
    n_rewarded = np.bincount(arms.mutated[credited], minlength=d)
    totals = np.bincount(arms.mutated[credited], weights=arms.means[credited], minlength=d)
    # Arms whose reward is still out count as tried, so that a burst does not mutate one parameter.
    n_tried = np.bincount(arms.mutated[born], minlength=d)
    means = np.where(n_rewarded > 0, totals / np.maximum(n_rewarded, 1), arms.overall_mean)
    budget = math.log(max(int(n_tried.sum()), 1))
    index = np.where(n_tried > 0, kl_upper(means, budget / np.maximum(n_tried, 1)), np.inf)
    values = [p.n_values for p in arms.space.parameters.values()]
    open_ = [j for j in np.flatnonzero(arms.mask[parent]) if values[j] != 1]
    order = rng.permutation(np.array(open_, dtype=np.int64))
    yield from (int(j) for j in order[np.argsort(-index[order], kind="stable")])


def _fit_column(arms: ActiveSet, rows: Ints, coordinate: int) -> Parzen:
    """The density of one coordinate's values in some arms."""
    rows = rows[arms.mask[rows, coordinate]]
    categories = category_counts(arms)[coordinate : coordinate + 1]
    if not categories[0]:
        # One kernel a value: arms that descend from each other share most of theirs, and counted
        # again and again they would pin the density, and so the next mutation, to where it is.
        _, firsts = np.unique(arms.units[rows, coordinate], return_index=True)
        rows = rows[np.sort(firsts)]
    column = slice(coordinate, coordinate + 1)
    return Parzen.fit(
        arms.units[rows, column], arms.mask[rows, column], categories, bandwidth="neighbours"
    )


def _best_change(
    arms: ActiveSet,
    parent: int,
    coordinate: int,
    units: Floats,
    good: Parzen,
    bad: Parzen,
    rng: np.random.Generator,
) -> Config | None:
    """Of some values of one coordinate, the one of highest ratio that gives a new configuration.

    Of values with the same ratio, as unordered ones that no arm has, the first of ``units`` is
    taken: they come in random order, so that the order in which values are declared does not count.
    """
    space = arms.space
    parameter = list(space.parameters.values())[coordinate]
    # The ratio belongs to the value, so take each unit to the place its value encodes to.
    places = np.array([parameter.to_unit(parameter.from_unit(float(u))) for u in units])
    _, firsts = np.unique(places, return_index=True)
    units = places[np.sort(firsts)]
    lo, hi = (edge[:, None] for edge in parameter.cells(units))
    seen = np.ones_like(lo, dtype=np.bool_)
    ratio = good.log_density(lo, hi, seen) - bad.log_density(lo, hi, seen)
    for k in np.argsort(-ratio, kind="stable"):
        point = switch(arms, parent, coordinate, float(units[k]), rng)
        config = space.decode(point)
        if config not in arms and not space.is_forbidden(config):
            return config
    return None
