"""The saboteur: what goes wrong, when, by a seed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final, Protocol

from tests.chaos.fleet import Fleet

_LOOK_EVERY_S: Final = 0.005


class Database(Protocol):
    """What can be done to a database."""

    def crash(self) -> None:
        """Stop it at once and start it again."""

    def restart(self) -> None:
        """Stop it in good order, whoever is connected, and start it again."""

    def cut(self) -> None:
        """Break every connection to it."""

    def hang(self) -> None:
        """Stop all its processes for longer than servers wait, and let them go on."""


@dataclass(frozen=True, order=True)
class Deed:
    """Something to do once so many rewards were acknowledged, and so many seconds later."""

    at: int
    delay_s: float
    kind: str


def plan(rng: Random, rewards: int, deeds: dict[str, int]) -> list[Deed]:
    """When to do what: between the first and the last tenth of the rewards, at random."""
    return sorted(
        Deed(rng.randint(rewards // 20, rewards * 9 // 10), rng.uniform(0.0, 0.05), kind)
        for kind, count in deeds.items()
        for _ in range(count)
    )


class Saboteur:
    """Does the deeds of a plan, one after the other.

    Args:
        fleet: The servers.
        database: The database, None where there is no server of it.
        rng: Chooses the victims.
    """

    def __init__(self, fleet: Fleet, database: Database | None, rng: Random) -> None:
        self._fleet = fleet
        self._database = database
        self._rng = rng
        self.done: Counter[str] = Counter()

    async def run(self, deeds: list[Deed], progress: Callable[[], int]) -> None:
        """Do them all."""
        for deed in deeds:
            while progress() < deed.at:
                await asyncio.sleep(_LOOK_EVERY_S)
            await asyncio.sleep(deed.delay_s)
            await self._do(deed.kind)
            self.done[deed.kind] += 1

    async def _do(self, kind: str) -> None:
        if kind == "kill":
            await self._fleet.kill(self._rng)
        elif kind == "freeze":
            await self._fleet.freeze(self._rng, self._rng.uniform(0.2, 1.5))
        else:
            assert self._database is not None, kind
            await asyncio.to_thread(getattr(self._database, kind))
