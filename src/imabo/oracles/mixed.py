"""Mixed: any oracle with a share of P0 draws, so that the theorem's coverage condition holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from imabo.arms import ActiveSet, Floats
from imabo.errors import InvalidSetting
from imabo.oracles.base import Exhausted, Oracle, Proposal, draw_new
from imabo.settings import check_number


@dataclass(frozen=True, slots=True)
class Mixed(Oracle):
    """With probability epsilon a P0 draw, else the oracle's proposal.

    The regret bound (theorem quantile-regret) asks that a proposal is in the top-rho set with
    probability at least p_rho; mixing guarantees p_rho >= epsilon * rho for any oracle.

    Args:
        oracle: The oracle to mix.
        epsilon: Share of P0 draws, in [0, 1].

    Example:
        >>> from imabo import oracles
        >>> oracles.Mixed(oracles.TPE(), epsilon=0.05).epsilon
        0.05
    """

    oracle: Oracle
    epsilon: float = 0.1

    def __post_init__(self) -> None:
        if not isinstance(self.oracle, Oracle):
            raise InvalidSetting(
                f"oracle is {self.oracle!r}", "it must be an oracle", "pass oracles.TPE(), say"
            )
        check_number("epsilon", self.epsilon, 0.0, 1.0, closed=True)

    def propose(
        self, arms: ActiveSet, scores: Floats, rng: np.random.Generator
    ) -> Proposal | Exhausted:
        """A P0 draw or the inner oracle's proposal."""
        if rng.random() < self.epsilon:
            return draw_new(arms, rng)
        return self.oracle.propose(arms, scores, rng)
