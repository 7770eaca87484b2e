"""What every policy is: a pure function from the active set to a decision."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from imabo.arms import ActiveSet, Floats
from imabo.pricing import priced


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


@dataclass(slots=True)
class Draws:
    """Random numbers that depend on the study's seed and the decision's number alone.

    Making the generator costs as much as a whole pass over the arms, and most decisions need none,
    so it is made when it is first used.

    Example:
        >>> bool(Draws(1, 5).rng.random() == Draws(1, 5).rng.random())
        True
    """

    seed: int
    number: int
    _rng: np.random.Generator | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def rng(self) -> np.random.Generator:
        """The generator of this decision."""
        if self._rng is None:
            sequence = np.random.SeedSequence(self.seed, spawn_key=(self.number,))
            self._rng = np.random.default_rng(sequence)
        return self._rng


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

    @property
    def watches(self) -> bool:
        """Whether the study should keep a memory and look for changes; most do not use either."""
        return False

    def starts_phase(self, arms: ActiveSet) -> bool:
        """Whether the policy forgets earlier rewards from this round on (most never do)."""
        del arms
        return False

    def decide(self, arms: ActiveSet, draws: Draws) -> Decision:
        """The decision of this round."""
        return self.expansion(arms) or self.serve(arms, draws)

    def expansion(self, arms: ActiveSet) -> Expand | None:
        """The decision of this round when a new arm is due, else None."""
        source = None if arms.exhausted else self.growth(arms)
        if source is None and arms.n_servable == 0:
            source = "oracle"  # nothing may be served: a new arm, or the study's refusal, is left
        return None if source is None else Expand(source, self.starts_phase(arms))

    def serve(self, arms: ActiveSet, draws: Draws) -> Serve:
        """The servable arm of highest index, for rounds that admit no new one."""
        scores = self.scores(arms)
        if arms.spending is not None:
            scores = priced(arms, scores)
        return Serve(_argmax(scores, arms, draws), self.starts_phase(arms))

    def rounds(self, arms: ActiveSet, n: int) -> Rounds:
        """For n rounds in a row: a policy may save work that they share, and decide the same."""
        del n
        return Rounds(self, arms)


class Rounds:
    """Several rounds in a row, in which the study counts the pulls that it serves, and no more.

    The active set has the pull of one round before the next is decided.
    """

    def __init__(self, policy: Policy, arms: ActiveSet) -> None:
        self.policy = policy
        self.arms = arms

    def decide(self, draws: Draws) -> Decision:
        """The decision of the next round."""
        return self.policy.decide(self.arms, draws)

    def serve(self, draws: Draws) -> Serve:
        """The known arm to serve, when no new one is to be had."""
        return self.policy.serve(self.arms, draws)


def _argmax(scores: Floats, arms: ActiveSet, draws: Draws) -> int:
    """Row of the highest score among servable rows; ties are broken uniformly at random."""
    if arms.n_servable < len(arms):
        scores = np.where(arms.servable, scores, -np.inf)
    # Not argmax: it lets go of the interpreter, and wakes every thread that waits for it in vain.
    tied = np.flatnonzero(scores == scores.max())
    if len(tied) == 1:
        return int(tied[0])
    return int(draws.rng.choice(tied))
