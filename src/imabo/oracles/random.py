"""Random: the baseline oracle, which looks at nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from imabo.arms import ActiveSet, Floats
from imabo.oracles.base import Exhausted, Oracle, Proposal, draw_new


@dataclass(frozen=True, slots=True)
class Random(Oracle):
    """Draws from P0. Use it as a baseline, or where the settings hardly interact with anything.

    Example:
        >>> from imabo import Choice, Space
        >>> from imabo.arms import ActiveSet
        >>> arms = ActiveSet.from_rewards(Space(a=Choice("x", "y")), [({"a": "x"}, [1.0])])
        >>> Random().propose(arms, arms.means, np.random.default_rng(0)).config
        {'a': 'y'}
    """

    def propose(
        self, arms: ActiveSet, scores: Floats, rng: np.random.Generator
    ) -> Proposal | Exhausted:
        """A P0 draw that is not yet an arm."""
        del scores
        return draw_new(arms, rng)
