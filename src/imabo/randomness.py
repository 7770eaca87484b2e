"""The random stream of one decision."""

from __future__ import annotations

import numpy as np


class Draws:
    """Random numbers that depend on the study's seed and the decision's number alone.

    Making the generator costs as much as a whole pass over the arms, and most decisions need none,
    so it is made when it is first used.

    Example:
        >>> bool(Draws(1, 5).rng.random() == Draws(1, 5).rng.random())
        True
    """

    __slots__ = ("_rng", "number", "seed")

    def __init__(self, seed: int, number: int) -> None:
        self.seed = seed
        self.number = number
        self._rng: np.random.Generator | None = None

    @property
    def rng(self) -> np.random.Generator:
        """The generator of this decision."""
        if self._rng is None:
            sequence = np.random.SeedSequence(self.seed, spawn_key=(self.number,))
            self._rng = np.random.default_rng(sequence)
        return self._rng
