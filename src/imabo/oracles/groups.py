"""What TPE and Mutate share: arms in a good and a bad group, and when not to trust them."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from imabo.arms import ActiveSet, Floats, Ints
from imabo.oracles.base import Exhausted, Oracle, Proposal, draw_new
from imabo.oracles.local import try_unseen
from imabo.settings import check_count, check_fraction, check_number


class Split(NamedTuple):
    """Rows of the arms that have rewards: the best first, and the rest."""

    good: Ints
    bad: Ints


@dataclass(frozen=True, slots=True)
class ParzenOracle(Oracle):
    """Compares the density of good arms with that of bad arms.

    Args:
        gamma: Share of arms in the good group, in (0, 1).
        optimism: Share of the index's bonus that counts in the ranking, in [0, 1]: 1 ranks by the
            index as printed in the paper, 0 by the mean.
        candidates: How many draws of the good density are compared.
        startup: Below this many arms with a reward, draw from P0.
    """

    gamma: float = 0.3
    optimism: float = 0.5
    candidates: int = 24
    startup: int = 10

    def __post_init__(self) -> None:
        check_fraction("gamma", self.gamma)
        check_number("optimism", self.optimism, 0.0, 1.0, closed=True)
        check_count("candidates", self.candidates, least=1)
        check_count("startup", self.startup)

    def propose(
        self, arms: ActiveSet, scores: Floats, rng: np.random.Generator
    ) -> Proposal | Exhausted:
        """The most promising configuration by the two densities that is not yet an arm."""
        if arms.exhausted:
            return Exhausted()
        split = split_by_score(arms, scores, self.gamma, self.optimism)
        if len(split.good) + len(split.bad) < max(self.startup, 2):
            return draw_new(arms, rng)
        return try_unseen(arms, rng) or self.compare(arms, split, rng) or draw_new(arms, rng)

    @abstractmethod
    def compare(self, arms: ActiveSet, split: Split, rng: np.random.Generator) -> Proposal | None:
        """The proposal by the densities of the two groups, or None when they yield nothing new."""


def split_by_score(arms: ActiveSet, scores: Floats, gamma: float, optimism: float = 1.0) -> Split:
    """The top gamma share of the rewarded arms by mean + optimism * (index - mean), and the others.

    Serving by the highest index pulls every arm until all indices are level, so the index itself
    (optimism 1) ranks arms by little but noise; with a part of the bonus, an arm of few rewards
    still gets some credit. Arms of equal score (all of them, where a policy has just started a
    phase) go by their mean, then in the order in which they were admitted.
    """
    rewarded = np.flatnonzero(arms.n_rewards > 0)
    means = arms.means[rewarded]
    scores = means + optimism * (scores[rewarded] - means)
    ranked = rewarded[np.lexsort((-means, -scores))]
    # A share that is whole on paper must not become one more arm by rounding (0.07 of 100).
    n_good = max(1, math.ceil(gamma * len(ranked) - 1e-9))
    return Split(ranked[:n_good], ranked[n_good:])


def category_counts(arms: ActiveSet) -> Ints:
    """For each coordinate, the number of values of an unordered choice, else 0."""
    parameters = arms.space.parameters.values()
    return np.array([p.n_values or 0 if p.unordered else 0 for p in parameters], dtype=np.int64)
