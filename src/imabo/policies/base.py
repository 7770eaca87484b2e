"""What every policy is: a pure function from the active set to a decision."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np

from imabo.arms import ActiveSet, Floats
from imabo.randomness import Draws


@dataclass(frozen=True, slots=True)
class Serve:
    """Serve a known arm: its row in the active set.

    ``mark`` asks the study to remember the counters as they are (see ``ActiveSet.mark``).
    """

    row: int
    mark: bool = False


@dataclass(frozen=True, slots=True)
class Expand:
    """Admit a new arm: drawn from P0 (``warmup``) or proposed by the oracle."""

    source: Literal["warmup", "oracle"]
    mark: bool = False


Decision = Serve | Expand


class Policy(ABC):
    """Decides at each round whether to serve a known arm or to admit a new one.

    Subclass it as a frozen dataclass with ``growth`` and ``scores``. A policy has no state, does no
    input or output and reads no clock: the same active set and the same draws give the same
    decision, so that a log can be replayed. Its fields must be JSON-safe: they are stored with the
    study.
    """

    @abstractmethod
    def growth(self, arms: ActiveSet) -> Literal["warmup", "oracle"] | None:
        """Whether a new arm is due, and where it comes from."""

    @abstractmethod
    def scores(self, arms: ActiveSet) -> Floats:
        """The index of every row, servable or not; oracles rank arms by it as well."""

    def starts_phase(self, arms: ActiveSet) -> bool:
        """Whether the policy forgets earlier rewards from this round on (most never do)."""
        del arms
        return False

    def decide(self, arms: ActiveSet, draws: Draws) -> Decision:
        """The decision of this round."""
        source = None if arms.exhausted else self.growth(arms)
        if source is None and arms.n_servable == 0:
            source = "oracle"  # nothing may be served: a new arm, or the study's refusal, is left
        if source is not None:
            return Expand(source, self.starts_phase(arms))
        return self.serve(arms, draws)

    def serve(self, arms: ActiveSet, draws: Draws) -> Serve:
        """The servable arm of highest index, for rounds that admit no new one."""
        return Serve(_argmax(self.scores(arms), arms, draws), self.starts_phase(arms))


def _argmax(scores: Floats, arms: ActiveSet, draws: Draws) -> int:
    """Row of the highest score among servable rows; ties are broken uniformly at random."""
    if arms.n_servable < len(arms):
        scores = np.where(arms.servable, scores, -np.inf)
    # Not argmax: it lets go of the interpreter, and wakes every thread that waits for it in vain.
    tied = np.flatnonzero(scores == scores.max())
    if len(tied) == 1:
        return int(tied[0])
    return int(draws.rng.choice(tied))
