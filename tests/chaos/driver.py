"""The driver: servers, clients and a saboteur on one database, and the comparison afterwards."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

import psycopg

from tests.chaos.checker import check
from tests.chaos.clients import Clients
from tests.chaos.fleet import Fleet
from tests.chaos.history import History
from tests.chaos.saboteur import Database, Saboteur, plan
from tests.chaos.wire import Line
from tests.postgres.server import PostgresServer

SPACE: Final = {
    "parameters": [
        {"name": "x", "type": "float", "low": 0.0, "high": 1.0},
        {"name": "k", "type": "int", "low": 1, "high": 8},
    ],
    "forbid": [],
}
SAY_EVERY_S: Final = 15.0
LIMIT_S: Final = 1.0  # what the database may take, by the servers' settings
HANG_S: Final = 2.0
WINDOW_S: Final = 3.0  # short enough that rewards come late
# The decisions of the first rest on the log alone, so each of them is checked; the second is the
# default, with a model that runs in a process of its own.
# Both have a signal and a budget of it, so that its sums and the bank are checked as well.
GOAL: Final = {"signals": {"cost": {"low": 0.0}}, "objective": {"budgets": {"cost": 0.45}}}
STUDIES: Final[Mapping[str, Mapping[str, Any]]] = {
    "by the index": {"policy": {"type": "IMOSS"}, "oracle": {"type": "Random"}, **GOAL},
    "by a model": GOAL,
}


@dataclass(frozen=True)
class Chaos:
    """How much of what.

    Args:
        store: ``postgres`` or ``sqlite``.
        servers: Processes that serve at the same time.
        rewards: How many must be acknowledged.
        kills: Servers to kill.
        freezes: Servers to stop for a moment.
        crashes: Times that the database dies, restarts in good order, loses its connections, and
            hangs with its connections open.
        restarts: See ``crashes``.
        cuts: See ``crashes``.
        hangs: See ``crashes``.
        clients: How many at once.
        seed: Of the clients and of the saboteur.
        limit_s: After this long it has failed.
        flush: Whether the database waits for the disk.
        studies: Names of ``STUDIES``.
        options: More for the command line of each server.
    """

    store: str
    servers: int
    rewards: int
    kills: int
    freezes: int = 0
    crashes: int = 0
    restarts: int = 0
    cuts: int = 0
    hangs: int = 0
    clients: int = 16
    seed: int = 0
    limit_s: float = 120.0
    flush: bool = False
    studies: tuple[str, ...] = tuple(STUDIES)
    options: tuple[str, ...] = ()

    @property
    def deeds(self) -> dict[str, int]:
        """What the saboteur does, and how often."""
        return {
            "kill": self.kills,
            "freeze": self.freezes,
            "crash": self.crashes,
            "restart": self.restarts,
            "cut": self.cuts,
            "hang": self.hangs,
        }


@dataclass(frozen=True)
class Report:
    """What came out."""

    violations: list[str]
    counts: Counter[str]
    deeds: Counter[str]
    seconds: float

    def __str__(self) -> str:
        lines = [f"{name:22} {n:>9,}" for name, n in sorted(self.counts.items())]
        lines += [f"{'done: ' + name:22} {n:>9,}" for name, n in sorted(self.deeds.items())]
        lines += [f"{'seconds':22} {self.seconds:>9.1f}"]
        lines += [f"{'violations':22} {len(self.violations):>9,}", *self.violations]
        return "\n".join(lines)


class Postgres:
    """A PostgreSQL of our own, to be ill-treated."""

    def __init__(self, *, flush: bool) -> None:
        self.server = PostgresServer(flush=flush)
        self.url = self.server.url

    def crash(self) -> None:
        """See ``Database``."""
        self.server.kill()
        self.server.start()

    def restart(self) -> None:
        """See ``Database``."""
        self.server.restart()

    def cut(self) -> None:
        """See ``Database``."""
        with psycopg.connect(self.url, autocommit=True) as db:
            db.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'imabo'"
            )

    def hang(self) -> None:
        """See ``Database``."""
        self.server.freeze()
        try:
            time.sleep(HANG_S)
        finally:
            self.server.thaw()


@contextmanager
def _database(chaos: Chaos, folder: Path) -> Iterator[tuple[str, Database | None]]:
    if chaos.store == "sqlite":
        yield f"sqlite:///{folder / 'imabo.db'}", None
        return
    postgres = Postgres(flush=chaos.flush)
    try:
        yield postgres.url, postgres
    finally:
        postgres.server.remove()


def run(chaos: Chaos, say: Callable[[str], None] | None = None) -> Report:
    """Everything, from the first server to the comparison; ``say`` hears how far it is."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="imabo-chaos-") as path:
        folder = Path(path)
        with _database(chaos, folder) as (url, database):
            history = History()
            done, wrong = asyncio.run(_run(chaos, url, database, history, folder, say))
            wrong += check(history, url, is_shared=chaos.servers > 1)
    return Report(wrong, history.counts, done, time.monotonic() - began)


async def _run(
    chaos: Chaos,
    url: str,
    database: Database | None,
    history: History,
    folder: Path,
    say: Callable[[str], None] | None,
) -> tuple[Counter[str], list[str]]:
    limit = ("--store-limit-s", str(LIMIT_S)) if chaos.hangs else ()
    fleet = Fleet(url, folder, (*limit, *chaos.options))
    try:
        await fleet.start(chaos.servers)
        await _create_studies(fleet.ports[0], chaos)
        clients = Clients(fleet, list(chaos.studies), history, chaos.seed)
        saboteur = Saboteur(fleet, database, Random(chaos.seed))
        working = asyncio.create_task(clients.run(chaos.clients))
        saying = asyncio.create_task(_say(say, history, saboteur))
        wrong = []
        try:
            async with asyncio.timeout(chaos.limit_s):
                deeds = plan(Random(chaos.seed), chaos.rewards, chaos.deeds)
                await saboteur.run(deeds, lambda: history.n_acknowledged)
                while history.n_acknowledged < chaos.rewards:
                    await asyncio.sleep(0.01)
        except TimeoutError:
            wrong.append(f"time: {history.n_acknowledged} rewards in {chaos.limit_s} s")
        clients.stop()
        await working
        saying.cancel()
        wrong += await fleet.stop()
        return saboteur.done, wrong
    finally:
        await fleet.clean_up()


async def _say(say: Callable[[str], None] | None, history: History, saboteur: Saboteur) -> None:
    while say is not None:
        say(f"{history.n_acknowledged} rewards acknowledged, {dict(saboteur.done)} done")
        await asyncio.sleep(SAY_EVERY_S)


async def _create_studies(port: int, chaos: Chaos) -> None:
    line = Line(port)
    for name in chaos.studies:
        body = {"name": name, "space": SPACE, "seed": chaos.seed, "window_s": WINDOW_S}
        answer = await line.send("POST", "/v1/studies", body | dict(STUDIES[name]))
        assert answer.status == 201, answer
    line.close()
