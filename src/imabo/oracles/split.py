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


def split_by_score(arms: ActiveSet, scores: Floats, gamma: float) -> Split:
    """The top gamma share of the rewarded arms by the policy's index, and the others."""
    rewarded = np.flatnonzero(arms.n_rewards > 0)
    # Stable, so that arms of equal score keep the order in which they were admitted.
    ranked = rewarded[np.argsort(-scores[rewarded], kind="stable")]
    n_good = max(1, math.ceil(gamma * len(ranked)))
    return Split(ranked[:n_good], ranked[n_good:])


def category_counts(arms: ActiveSet) -> Ints:
    """For each coordinate, the number of values of an unordered choice, else 0."""
    parameters = arms.space.parameters.values()
    return np.array([p.n_values or 0 if p.unordered else 0 for p in parameters], dtype=np.int64)
