"""The random stream of one decision."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


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
