"""Clients with one durable outbox, which are killed while their service fails: nothing is lost.

``python -m tests.client.torture --store postgres --rewards 10000``: three processes tell rewards.
They are killed, terminated and started again, while servers are killed and frozen and their
database fails: with ``sqlite`` its disk is full, with ``postgres``, which two servers share, it
crashes, restarts, loses its connections and hangs. At the end every ``tell`` that returned must be
in the database, once and with its value.
"""

from __future__ import annotations

import argparse
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from random import Random

from imabo import Objective, Signal
from imabo.client import Client
from imabo.stores import open_store
from imabo.study import Study
from imabo.testing.audit import audit
from imabo.testing.study.base import letters
from tests.chaos.driver import LIMIT_S
from tests.chaos.fleet import tracebacks
from tests.client.children.traffic import NAME, cost_of, reward_of
from tests.client.databases import Database, open_database
from tests.client.processes import ROOT, KilledServer

_HIT_WITHIN_S = 3.0  # a fault that hits nobody shows nothing
_DRAIN_S = 120.0  # for what waits at the end


@dataclass(frozen=True)
class Plan:
    """How much of what.

    Args:
        store: ``postgres`` or ``sqlite``.
        rewards: Calls of ``tell`` that must return; more do until each fault was there.
        clients: Processes that share an outbox.
        seed: Of the clients and of what is done to them.
        pace_s: How long things last, about.
        limit_s: After this long it has failed.
        faults: Those to choose from, as far as they can be had here; none means all.
        told_between: Calls of ``tell`` from one fault to the next, at least.
    """

    store: str
    rewards: int
    clients: int = 3
    seed: int = 0
    pace_s: float = 1.0
    limit_s: float = 1800.0
    faults: tuple[str, ...] = ()
    told_between: int = 20


@dataclass(frozen=True)
class Report:
    """What was done and what came out."""

    n_told: int
    most_waiting: int
    faults: Counter[str]
    violations: list[str]

    def __str__(self) -> str:
        lines = [f"{self.n_told} tells returned, up to {self.most_waiting} rewards waited"]
        lines += [f"{what}: {count}" for what, count in sorted(self.faults.items())]
        return "\n".join([*lines, *self.violations[:20], f"{len(self.violations)} violations"])


class Torture:
    """The service, its clients, and what is done to them."""

    def __init__(self, plan: Plan, folder: Path, database: Database) -> None:
        self._plan, self._folder, self._database = plan, folder, database
        self._rng = Random(plan.seed)
        self._n_started = 0
        self._servers: list[KilledServer] = []
        self._clients: list[subprocess.Popen[bytes]] = []
        self.faults: Counter[str] = Counter()
        self.most_waiting = 0

    def start(self) -> None:
        """Start the servers and their clients."""
        for number in range(self._database.n_servers):
            log = self._folder / f"server-{number}.log"
            options = ("--store-limit-s", str(LIMIT_S))
            self._servers.append(KilledServer(self._database.url, options, log))
        with Client(self._servers[0].url) as client:
            goal = Objective(budgets={"cost": 0.55})
            signals = {"cost": Signal(low=0.0)}
            client.create(NAME, letters("a", "b", "c"), seed=1, signals=signals, objective=goal)
        self._clients += [self._start_client() for _ in range(self._plan.clients)]

    def _start_client(self) -> subprocess.Popen[bytes]:
        """Start one; with several servers, those that follow each other use another one."""
        self._n_started += 1
        url = self._servers[self._n_started % len(self._servers)].url
        files = [str(self._folder / name) for name in ("rewards.outbox", "told.log")]
        command = [sys.executable, "-m", "tests.client.children.traffic", url, *files]
        return subprocess.Popen([*command, str(self._n_started)], cwd=ROOT)

    @property
    def n_told(self) -> int:
        """How many calls of ``tell`` returned so far."""
        log = self._folder / "told.log"
        return log.read_bytes().count(b"\n") if log.exists() else 0

    def run(self) -> None:
        """Let one fault follow the other, each of them once before any comes again."""
        plan, deck, n_told = self._plan, list[str](), 0
        ends_at = time.monotonic() + plan.limit_s
        while deck or not self.faults or n_told < plan.rewards:
            if not deck:
                every = [*self._database.faults, "server killed", "server frozen", "no other fault"]
                deck = [fault for fault in every if fault in (plan.faults or every)]
                self._rng.shuffle(deck)
            self._pause(1.0, 4.0)
            while self.n_told < n_told + plan.told_between:
                assert time.monotonic() < ends_at, f"only {self.n_told} rewards were told"
                time.sleep(0.01)
            self._hurt(deck.pop())
            n_told = self.n_told
            assert all(client.poll() is None for client in self._clients), "a client gave up"

    def _hurt(self, fault: str) -> None:
        """One fault, in which a client dies, and now and then a server besides."""
        self.faults[fault] += 1
        server = self._rng.choice(self._servers)
        with ExitStack() as stack:
            if fault in self._database.faults:
                stack.enter_context(self._database.faults[fault](server))
            elif fault == "server frozen":
                stack.enter_context(server.frozen())
            elif fault == "server killed":
                server.kill()
            self._pause(0.3, 1.5)
            self._end_client()
            if fault not in ("server killed", "no other fault") and self._rng.random() < 0.25:
                self.faults["server killed in another fault"] += 1
                self._rng.choice(self._servers).kill()
            self._pause(0.3, 1.5)
            self._watch(_HIT_WITHIN_S if fault in self._database.faults else 0.0)
        for each in self._servers:
            each.start()

    def _pause(self, least: float, most: float) -> None:
        time.sleep(self._plan.pace_s * self._rng.uniform(least, most))

    def _end_client(self) -> None:
        place = self._rng.randrange(len(self._clients))
        number = self._rng.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM))
        self.faults[f"client ended by {number.name}"] += 1
        client = self._clients[place]
        client.send_signal(number)
        assert client.wait(60.0) == -number, "a client ended by itself"
        self._clients[place] = self._start_client()

    def _watch(self, patience_s: float) -> None:
        """See how many rewards wait; for a while, until there are some."""
        ends_at = time.monotonic() + patience_s
        while not (n_waiting := self._n_waiting()) and time.monotonic() < ends_at:
            time.sleep(0.01)
        self.most_waiting = max(self.most_waiting, n_waiting)

    def _n_waiting(self) -> int:
        file = self._folder / "rewards.outbox"
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=60.0)) as db:
            return int(db.execute("SELECT COUNT(*) FROM rewards").fetchone()[0])

    def check(self) -> Report:
        """End everything, start one more client of each server, and say what is not as it must."""
        self._end_clients()
        n_told, wrong = self.n_told, list[str]()
        for server in self._servers:
            with Client(server.url, outbox=self._folder / "rewards.outbox") as last:
                self.faults["rewards left to the last client"] += last.n_waiting
                if not last.flush(_DRAIN_S):
                    wrong.append(f"{last.n_waiting} rewards still wait")
                if last.n_refused:
                    wrong.append(f"{last.n_refused} rewards were refused")
        self.stop()
        told = {*(self._folder / "told.log").read_text().splitlines()}
        signalled = {line.removesuffix(" cost") for line in told if line.endswith(" cost")}
        told = {line for line in told if not line.endswith(" cost")}
        self.faults["signals told"] += len(signalled)
        with Study.open(NAME, store=self._database.url) as study:
            pulls = list(study)
        rewards = {pull.id: pull.reward for pull in pulls if pull.reward is not None}
        costs = {pull.id: pull.signals["cost"] for pull in pulls if pull.signals}
        wrong += [f"the reward of {pull} was told and is not there" for pull in told - {*rewards}]
        wrong += [
            f"the signal of {pull} was told and is not there" for pull in signalled - {*costs}
        ]
        wrong += [
            f"pull {pull} has the signal {cost}"
            for pull, cost in costs.items()
            if cost != cost_of(pull)
        ]
        wrong += [
            f"pull {pull} has the reward {reward}"
            for pull, reward in rewards.items()
            if reward != reward_of(pull)
        ]
        with closing(open_store(self._database.url)) as store:
            # Its counters and its log; who decided what is not what this is about.
            wrong += [f"audit: {violation}" for violation in audit(store, NAME, is_shared=True)]
        wrong += tracebacks(self._folder)
        return Report(n_told, self.most_waiting, self.faults, wrong)

    def _end_clients(self) -> None:
        for client in self._clients:
            client.kill()
            client.wait()

    def stop(self) -> None:
        """End every process."""
        self._end_clients()
        for server in self._servers:
            server.kill()


def run(plan: Plan) -> Report:
    """All of it, from the first server to the comparison."""
    with tempfile.TemporaryDirectory(prefix="imabo-torture-") as path, ExitStack() as stack:
        database = stack.enter_context(open_database(plan.store, Path(path)))
        torture = Torture(plan, Path(path), database)
        stack.callback(torture.stop)
        torture.start()
        torture.run()
        return torture.check()


def main() -> int:
    """Run it; 1 when something is not as it must be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--store", choices=["postgres", "sqlite"], default="sqlite")
    parser.add_argument("--rewards", type=int, default=10_000, help="calls of tell that returned")
    parser.add_argument("--clients", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pace-s", type=float, default=1.0, help="how long things last, about")
    parser.add_argument("--minutes", type=float, default=30.0, help="after which it has failed")
    given = vars(parser.parse_args())
    report = run(Plan(limit_s=60.0 * given.pop("minutes"), **given))
    print(report)
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())
