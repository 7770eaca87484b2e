"""Clients that are killed, and services whose database fails: what was told is not lost."""

from __future__ import annotations

import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from imabo.client import Client, RemoteStudy
from imabo.stores import MemoryStore
from imabo.testing.study.base import letters
from tests.client.conftest import MakeClient
from tests.client.processes import ROOT, KilledServer, Teller, limit_files
from tests.client.tcp import Proxy, listening
from tests.server.running import RunningServer

KINDS = ["blocking", "asyncio"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rewards.outbox"


def asked(client: Client, count: int) -> tuple[RemoteStudy, list[str]]:
    study = client.create("s", letters("a"), seed=1)
    return study, [pull.id for pull in study.ask(count=count)]


# --- kill -9 ------------------------------------------------------------------------------------


def check_file(path: Path, *pulls: str) -> None:
    """The file is whole, and these rewards wait there in this order."""
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert [pull for (pull,) in db.execute("SELECT pull FROM rewards ORDER BY number")] == [
            *pulls
        ]
    db.close()


def test_a_killed_client_leaves_what_it_told_to_the_next(path: Path) -> None:
    store = MemoryStore()
    with RunningServer(store) as first, Client(first.url) as client:
        _, pulls = asked(client, 40)
    for kind, part in zip(KINDS, (pulls[:20], pulls[20:]), strict=True):
        teller = Teller(kind, first.url, path)
        assert teller.tell(*part) == part
        assert teller.end(signal.SIGKILL) == -signal.SIGKILL
    check_file(path, *pulls)
    with RunningServer(store, port=first.port), Client(first.url, outbox=path) as client:
        assert client.flush(60.0)
        assert client.open("s").n_rewards == 40
    check_file(path)


def test_processes_that_share_a_file_and_are_killed_lose_nothing(path: Path) -> None:
    with RunningServer() as server, Client(server.url, outbox=path) as client:
        study, pulls = asked(client, 600)
        tellers = [Teller("blocking", server.url, path) for _ in range(2)]
        told: list[str] = []
        for teller, part in zip(tellers, (pulls[::3], pulls[1::3]), strict=True):
            teller.say(*part)
        for pull in pulls[2::3]:
            study.tell(pull, 1.0, wait=False)
            told.append(pull)
        for teller in tellers:
            told += teller.hear(20)  # killed in the middle of their work
            teller.process.kill()
            assert teller.process.stdout is not None
            told += teller.process.stdout.read().split()
            teller.end()
        assert client.flush(60.0)
        assert set(told) <= {pull.id for pull in study if pull.reward is not None}
        assert (client.n_refused, client.n_dropped) == (0, 0)
    check_file(path)


def test_parent_and_child_of_a_fork_share_the_file(path: Path) -> None:
    teller = Teller("blocking", "http://127.0.0.1:1", path, flush_s=0.0)
    pulls = [f"abc-{number}" for number in range(1, 42)]
    assert teller.tell(pulls[0]) == pulls[:1]
    teller.say(" ".join(["fork", *pulls[1:]]))
    told = teller.hear(40)
    assert sorted(told) == sorted(pulls[1:])
    assert teller.end() == 0
    with sqlite3.connect(path) as db:
        kept = [pull for (pull,) in db.execute("SELECT pull FROM rewards ORDER BY number")]
    db.close()
    assert set(kept) == set(pulls)
    check_file(path, *kept)


# --- SIGTERM ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_on_sigterm_what_waits_is_sent(kind: str) -> None:
    with RunningServer() as server, Client(server.url) as client:
        study, pulls = asked(client, 40)
        # Slow enough that all of it waits when the signal comes.
        with listening(Proxy(server.url, lambda number: "delay")) as url:
            teller = Teller(kind, url, flush_s=60.0)
            assert teller.tell(*pulls) == pulls
            assert teller.end(signal.SIGTERM) == -signal.SIGTERM
        assert study.n_rewards == 40


def test_a_client_may_leave_sigterm_alone() -> None:
    with RunningServer() as server, Client(server.url) as client:
        study, pulls = asked(client, 5)
        with listening(Proxy(server.url, lambda number: "lose request")) as url:
            teller = Teller("blocking", url, flush_s=60.0, handle_sigterm=False)
            assert teller.tell(*pulls) == pulls
            assert teller.end(signal.SIGTERM) == -signal.SIGTERM
        assert study.n_rewards == 0


def test_sigterm_does_not_wait_for_ever_and_the_file_keeps_what_waits(path: Path) -> None:
    teller = Teller("asyncio", "http://127.0.0.1:1", path, flush_s=0.3)
    assert teller.tell("abc-1", "abc-2") == ["abc-1", "abc-2"]
    began = time.monotonic()
    assert teller.end(signal.SIGTERM) == -signal.SIGTERM
    assert 0.3 <= time.monotonic() - began < 20.0
    check_file(path, "abc-1", "abc-2")


def test_a_second_sigterm_ends_it_at_once(path: Path) -> None:
    teller = Teller("blocking", "http://127.0.0.1:1", path, flush_s=600.0)
    assert teller.tell("abc-1") == ["abc-1"]
    teller.process.send_signal(signal.SIGTERM)
    # It goes on meanwhile; what it reads now, it reads after the signal.
    assert teller.tell("abc-2") == ["abc-2"]
    assert teller.end(signal.SIGTERM) == -signal.SIGTERM
    check_file(path, "abc-1", "abc-2")


@pytest.mark.parametrize("made", ["before", "inside"])
def test_beside_a_web_server_that_handles_sigterm_itself(made: str) -> None:
    with RunningServer() as server, Client(server.url) as client:
        study, pulls = asked(client, 10)
        with listening(Proxy(server.url, lambda number: "delay")) as url:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.client.children.framework", made, url, *pulls],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                text=True,
            )
            assert process.stdout is not None
            assert process.stdout.readline() == "told\n"
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60.0)
            assert process.returncode == -signal.SIGTERM
        assert study.n_rewards == 10


# --- a disk that is full ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KilledServer]:
    file = tmp_path_factory.mktemp("served") / "imabo.db"
    server = KilledServer(f"sqlite:///{file}")
    yield server
    server.kill()


def test_rewards_wait_while_the_database_of_the_service_fails(
    make_client: MakeClient, killed: KilledServer
) -> None:
    client = make_client(killed.url, retries=0)
    study = client.create(f"s{time.monotonic_ns()}", letters("a"), seed=1)
    pulls = study.ask(count=200)
    limit_files(killed.pid, 1)
    study.tell(pulls[0].id, 1.0)
    for pull in pulls[1:100]:
        study.tell(pull.id, 1.0, wait=False)
    assert study.tell_many([(pull.id, 1.0) for pull in pulls[100:]]) == [None] * 100
    assert client.n_waiting == 200
    assert not client.flush(0.5)
    assert (client.n_waiting, client.n_dropped, client.n_refused) == (200, 0, 0)
    limit_files(killed.pid, resource.RLIM_INFINITY)
    assert client.flush(60.0)
    assert (client.n_waiting, client.n_dropped, client.n_refused) == (0, 0, 0)
    assert study.n_rewards == 200


def test_a_tell_that_cannot_be_kept_is_an_error(path: Path) -> None:
    teller = Teller("blocking", "http://127.0.0.1:1", path, flush_s=0.0)
    assert teller.tell("abc-1") == ["abc-1"]
    limit_files(teller.process.pid, 1)
    assert teller.tell("abc-2", "abc-3") == ["! store_error", "! store_error"]
    limit_files(teller.process.pid, resource.RLIM_INFINITY)
    assert teller.tell("abc-2") == ["abc-2"]
    assert teller.end(signal.SIGKILL) == -signal.SIGKILL
    check_file(path, "abc-1", "abc-2")
