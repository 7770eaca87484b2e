"""The counters of a study and of its arms, as stores keep them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from imabo.magnitude import usable_sum


class Totals(NamedTuple):
    """Counts over the whole study, arms that the space no longer allows included."""

    n_pulls: int = 0
    n_rewards: int = 0
    n_pending: int = 0
    reward_sum: float = 0.0

    @property
    def n_expired(self) -> int:
        """Pulls that left their window without a reward."""
        return self.n_pulls - self.n_rewards - self.n_pending


def usable_totals(totals: Totals) -> Totals:
    """The counts of a store as arithmetic can take them; see ``imabo.magnitude``."""
    return totals._replace(reward_sum=usable_sum(totals.reward_sum, totals.n_rewards))


@dataclass(frozen=True, slots=True)
class Restart:
    """Where the growth schedule starts: the counts when the space last changed (t_0 and N_0)."""

    n_pulls: int = 0
    n_rewards: int = 0
    n_pending: int = 0
    n_arms: int = 0


@dataclass(frozen=True, slots=True)
class Tally:
    """The counters of one arm, as the store keeps them (rewards in the study's own units)."""

    n_pulls: int = 0
    n_rewards: int = 0
    n_pending: int = 0
    reward_sum: float = 0.0
    reward_squares: float = 0.0
    marked_rewards: int = 0
    marked_sum: float = 0.0
