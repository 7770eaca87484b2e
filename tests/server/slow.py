"""Oracles that are slow or fail, importable by a worker process."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from imabo.arms import ActiveSet, Floats
from imabo.oracles.base import Exhausted, Oracle, Proposal, draw_new


@dataclass(frozen=True, slots=True)
class Slow(Oracle):
    """A P0 draw after ``seconds`` of work that holds the interpreter."""

    seconds: float = 1.0

    def propose(
        self, arms: ActiveSet, scores: Floats, rng: np.random.Generator
    ) -> Proposal | Exhausted:
        """Busy, not asleep: a sleeping thread would let others run."""
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            pass
        return draw_new(arms, rng)


@dataclass(frozen=True, slots=True)
class Failing(Oracle):
    """Always raises."""

    def propose(
        self, arms: ActiveSet, scores: Floats, rng: np.random.Generator
    ) -> Proposal | Exhausted:
        """Say why."""
        raise RuntimeError("no luck today")
