"""Clients with one durable outbox, which are killed while their service fails: nothing is lost.

``python -m tests.client.torture --rewards 10000``: three processes tell rewards. They are killed,
terminated and started again; the service is killed, and its disk is full for a while. At the end
every ``tell`` that returned must be in the database, once and with its value.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

from imabo.client import Client
from imabo.stores import open_store
from imabo.study import Study
from imabo.testing.audit import audit
from imabo.testing.study.base import letters
from tests.client.processes import ROOT, KilledServer, limit_files

NAME = "s"


def reward_of(pull: str) -> float:
    """A reward with all its digits, which anybody can work out again."""
    return int(hashlib.sha1(pull.encode()).hexdigest()[:13], 16) / 2**52


class Torture:
    """The service, its clients, and what is done to them."""

    def __init__(self, folder: Path, n_clients: int, seed: int) -> None:
        self._folder = folder
        self._rng = random.Random(seed)
        self._n_started = 0
        self.faults: Counter[str] = Counter()
        self._server = KilledServer(folder / "imabo.db")
        with Client(self._server.url) as client:
            client.create(NAME, letters("a", "b", "c"), seed=1)
        self._clients = [self._start() for _ in range(n_clients)]

    def _start(self) -> subprocess.Popen[bytes]:
        self._n_started += 1
        files = [str(self._folder / name) for name in ("rewards.outbox", "told.log")]
        command = [sys.executable, "-m", "tests.client.children.traffic", self._server.url, *files]
        return subprocess.Popen([*command, str(self._n_started)], cwd=ROOT)

    @property
    def n_told(self) -> int:
        """How many calls of ``tell`` returned so far."""
        log = self._folder / "told.log"
        return log.read_bytes().count(b"\n") if log.exists() else 0

    def hurt(self) -> None:
        """Do one thing to a client or to the service."""
        rng, fault = self._rng, self._rng.choice(("kill", "kill", "terminate", "server", "disk"))
        self.faults[fault] += 1
        if fault == "server":
            self._server.kill()
            time.sleep(rng.uniform(0.0, 2.0))
            self._server.start()
        elif fault == "disk":
            limit_files(self._server.pid, 1)
            time.sleep(rng.uniform(0.5, 3.0))
            limit_files(self._server.pid, resource.RLIM_INFINITY)
        else:
            place = rng.randrange(len(self._clients))
            number = signal.SIGKILL if fault == "kill" else signal.SIGTERM
            self._clients[place].send_signal(number)
            assert self._clients[place].wait(60.0) == -number
            self._clients[place] = self._start()
        assert all(client.poll() is None for client in self._clients), "a client gave up"

    def check(self) -> list[str]:
        """End everything, start one more client, and say what is not as it must be."""
        for client in self._clients:
            client.kill()
            client.wait()
        with Client(self._server.url, outbox=self._folder / "rewards.outbox") as last:
            self.faults["left to the next"] = last.n_waiting
            wrong = [] if last.flush(120.0) else [f"{last.n_waiting} rewards still wait"]
            if last.n_refused:
                wrong.append(f"{last.n_refused} rewards were refused")
        self.stop()
        told = (self._folder / "told.log").read_text().split()
        url = f"sqlite:///{self._folder / 'imabo.db'}"
        with Study.open(NAME, store=url) as study:
            rewards = {pull.id: pull.reward for pull in study if pull.reward is not None}
        lost = set(told) - set(rewards)
        wrong += [f"the reward of {pull} was told and is not there" for pull in lost]
        wrong += [
            f"pull {pull} has the reward {reward}"
            for pull, reward in rewards.items()
            if reward != reward_of(pull)
        ]
        with closing(open_store(url)) as store:
            # Its counters and its log; who decided what is not what this is about.
            wrong += [f"audit: {violation}" for violation in audit(store, NAME, is_shared=True)]
        return wrong

    def stop(self) -> None:
        """End every process."""
        for client in self._clients:
            client.kill()
            client.wait()
        self._server.kill()


def main() -> int:
    """Run it; 1 when something is not as it must be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rewards", type=int, default=10_000, help="calls of tell that returned")
    parser.add_argument("--clients", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=30.0, help="after which it has failed")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="imabo-torture-") as folder:
        torture = Torture(Path(folder), given.clients, given.seed)
        pauses, ends_at = random.Random(given.seed), time.monotonic() + 60.0 * given.minutes
        try:
            while (n_told := torture.n_told) < given.rewards:
                assert time.monotonic() < ends_at, f"only {n_told} rewards were told"
                time.sleep(pauses.uniform(1.0, 4.0))
                torture.hurt()
            n_told, wrong = torture.n_told, torture.check()
        finally:
            torture.stop()
    print(f"{n_told} tells returned; {dict(torture.faults)}")
    print(*wrong[:20], f"{len(wrong)} violations", sep=os.linesep)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
