"""Players that take feedback as it comes: late, in any order, or never."""

from __future__ import annotations

from abc import abstractmethod

from imabo.errors import InvalidSetting
from imabo.space import Config, Space
from imabo.space.scalars import show
from imabo_bench.methods.base import Player, Served


class LatePlayer(Player):
    """A player whose configurations have numbers. Subclass it with ``choose`` and ``learn``."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self._round = 0
        self._open: dict[str, int] = {}  # a round's key: the number of what it was served
        self._served: set[str] = set()

    @abstractmethod
    def choose(self) -> tuple[int, Config]:
        """A number and the configuration that has it; rounds before may be without a reward."""

    @abstractmethod
    def learn(self, number: int, reward: float) -> None:
        """A reward of some earlier choice of that number."""

    def ask(self) -> Served:
        """The next round."""
        number, config = self.choose()
        self._round += 1
        key = str(self._round)
        self._open[key] = number
        self._served.add(self.space.identity(config))
        return Served(key, config)

    def tell(self, key: str, reward: float) -> None:
        """The reward of any round that has none."""
        if key not in self._open:
            raise InvalidSetting(
                f"a reward came for round {show(key)}",
                "no such round waits for one",
                "tell each round that was asked once",
            )
        self.learn(self._open.pop(key), float(reward))

    @property
    def n_arms(self) -> int:
        """Distinct configurations that were served."""
        return len(self._served)
