"""TPE: propose where good arms are dense and bad arms are not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from imabo.arms import ActiveSet, Bools, Floats, Ints
from imabo.density import Parzen
from imabo.oracles.base import Proposal, fresh_pool
from imabo.oracles.groups import ParzenOracle, Split, category_counts
from imabo.space import Config


@dataclass(frozen=True, slots=True)
class TPE(ParzenOracle):
    """The tree-structured Parzen estimator over the whole configuration (IMOSS-TPE).

    Splits the arms at the gamma quantile of the policy's index, fits one density to each group and
    proposes, of a pool drawn from the good one, the candidate with the highest ratio l(x) / g(x).
    Use it where good values of several parameters go together. After ``update_space``, half of the
    proposals are the best arm moved to a value that no arm has, while there are any.

    Args:
        gamma: Share of arms in the good group, in (0, 1).
        optimism: Share of the index's bonus that counts in the ranking, in [0, 1]: 1 ranks by the
            index as printed in the paper, 0 by the mean.
        candidates: Size of the pool.
        startup: Below this many arms with a reward, draw from P0.
        multivariate: One joint density (a kernel is a whole arm) instead of one per parameter.

    Example:
        >>> from imabo import Float, Space
        >>> from imabo.arms import ActiveSet
        >>> tried = [({"x": x / 20}, [1.0 - abs(x / 20 - 0.5)]) for x in range(20)]
        >>> arms = ActiveSet.from_rewards(Space(x=Float(0, 1)), tried)
        >>> proposal = TPE().propose(arms, arms.means, np.random.default_rng(0))
        >>> 0.3 < proposal.config["x"] < 0.7
        True
    """

    multivariate: bool = True

    def compare(self, arms: ActiveSet, split: Split, rng: np.random.Generator) -> Proposal | None:
        """The candidate with the highest density ratio that is not yet an arm."""
        good = self._fit(arms, split.good)
        bad = self._fit(arms, split.bad)
        points = np.hstack([part.sample(rng, self.candidates) for part in good])
        # When every draw is an arm already, rank what is left.
        pool = _new_configs(arms, points) or fresh_pool(arms, rng)
        if not pool:
            return None
        units, mask = _encode(arms, pool)
        ratio = _log_density(arms, good, units, mask) - _log_density(arms, bad, units, mask)
        return Proposal(pool[int(ratio.argmax())])

    def _fit(self, arms: ActiveSet, rows: Ints) -> list[Parzen]:
        units, mask, categories = arms.units[rows], arms.mask[rows], category_counts(arms)
        if self.multivariate:
            return [Parzen.fit(units, mask, categories)]
        parts = []
        for j in range(len(categories)):
            seen = mask[:, j]
            column = slice(j, j + 1)
            parts.append(
                Parzen.fit(
                    units[seen, column],
                    mask[seen, column],
                    categories[column],
                    bandwidth="neighbours",
                )
            )
        return parts


def _new_configs(arms: ActiveSet, units: Floats) -> list[Config]:
    """The distinct, allowed configurations of some points that are not arms."""
    space = arms.space
    found: dict[str, Config] = {}
    for point in units:
        config = space.decode(point)
        if config not in arms and not space.is_forbidden(config):
            found.setdefault(space.identity(config), config)
    return list(found.values())


def _encode(arms: ActiveSet, configs: list[Config]) -> tuple[Floats, Bools]:
    units, mask = zip(*(arms.space.encode(config) for config in configs), strict=True)
    return np.array(units), np.array(mask)


def _log_density(arms: ActiveSet, parts: list[Parzen], units: Floats, mask: Bools) -> Floats:
    lo, hi = arms.space.cells(units)
    if len(parts) == 1:
        return parts[0].log_density(lo, hi, mask)
    total = np.zeros(len(units))
    for j, part in enumerate(parts):
        column = slice(j, j + 1)
        total += part.log_density(lo[:, column], hi[:, column], mask[:, column])
    return total
