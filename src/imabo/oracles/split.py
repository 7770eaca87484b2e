"""The good and the bad group of arms that the Parzen oracles compare."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from imabo.arms import ActiveSet, Floats, Ints


class Split(NamedTuple):
    """Rows of the arms that have rewards: the best first, and the rest."""

    good: Ints
    bad: Ints


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
