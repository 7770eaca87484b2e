"""PostgresStore when the server goes away, is restarted, or ends a connection at a bad moment."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
import pytest

from imabo.errors import StoreClosed, StoreError
from imabo.stores.base import KeyRecord, NewPull, Store
from imabo.stores.postgres import PostgresStore
from imabo.testing.stores.facts import Writer, check_sums, everything, study_record
from tests.postgres.server import AnyServer
from tests.stores.closing import errors_of_users

LONG_S = 30.0

VERBS: dict[str, Callable[[Store], Any]] = {
    "create": lambda store: store.create(study_record("another")),
    "names": lambda store: store.names(),
    "load": lambda store: store.load("study"),
    "serve": lambda store: store.serve("study", seq=1, at=300.0, pulls=[NewPull(2, 1, "index")]),
    "reward": lambda store: store.reward("study", 1, 0.5, at=300.0),
    "expire": lambda store: store.expire("study", before=250.0, at=300.0),
    "pulls": lambda store: store.pulls("study"),
    "log": lambda store: list(store.log("study")),
    "delete": lambda store: store.delete("study"),
    "put_key": lambda store: store.put_key(KeyRecord("k", "k", "reader", None, "h", 100.0)),
    "turn": lambda store: store.turn("study").__enter__(),
}


@contextmanager
def away(server: AnyServer) -> Iterator[None]:
    server.stop()
    try:
        yield
    finally:
        server.start()


def end_connections(url: str) -> None:
    """End every connection of imabo to a database, as an administrator may."""
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
            "datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.mark.parametrize("stop", ["restart", "kill"])
def test_an_open_store_goes_on_after_the_server_came_back(
    postgres_server: AnyServer, postgres_store: PostgresStore, stop: str
) -> None:
    writer = Writer(postgres_store)
    writer.serve(1, 2)
    if stop == "restart":
        postgres_server.restart()
    else:
        postgres_server.kill()
        postgres_server.start()
    assert writer.serve(1) == [3]
    postgres_server.restart()
    writer.reward(2, 0.5)
    postgres_server.restart()
    assert len(everything(postgres_store).log) == 4
    check_sums(postgres_store)


def test_every_verb_says_that_the_server_is_away_and_does_nothing(
    postgres_server: AnyServer, postgres_store: PostgresStore
) -> None:
    Writer(postgres_store).serve(1)
    before = everything(postgres_store)
    with away(postgres_server):
        for name, verb in VERBS.items():
            with pytest.raises(StoreError, match="check that the server runs") as caught:
                verb(postgres_store)
            assert caught.value.code == "store_error", name
    assert everything(postgres_store) == before


def test_wait_only_waits_while_the_server_is_away(
    postgres_server: AnyServer, postgres_store: PostgresStore
) -> None:
    postgres_store.wait(0.01)
    with away(postgres_server):
        for _ in range(2):
            began = time.monotonic()
            postgres_store.wait(0.2)
            assert time.monotonic() - began >= 0.2


@pytest.mark.parametrize(
    ("is_before", "why"),
    [
        pytest.param(True, "could not be used", id="in the turn"),
        # Not a second try: the first may have been committed.
        pytest.param(False, "went away during a commit", id="before the commit"),
    ],
)
def test_a_connection_that_ends_in_a_turn_undoes_it(
    postgres_url: str, postgres_store: PostgresStore, is_before: bool, why: str
) -> None:
    writer = Writer(postgres_store)
    writer.serve(1)
    before = everything(postgres_store)

    def take_turn() -> None:
        with postgres_store.turn("study"):
            if is_before:
                end_connections(postgres_url)
            postgres_store.serve("study", seq=1, at=300.0, pulls=[NewPull(2, 1, "index")])
            if not is_before:
                end_connections(postgres_url)

    with pytest.raises(StoreError, match=why):
        take_turn()
    assert everything(postgres_store) == before
    assert writer.serve(1) == [2]


def test_threads_lose_nothing_while_connections_end(
    postgres_url: str, postgres_store: PostgresStore
) -> None:
    writer = Writer(postgres_store)
    numbers = writer.serve(*[1, 2, 3] * 40)
    told: list[int] = []
    done = threading.Event()

    def tell(mine: list[int]) -> None:
        for number in mine:
            while True:
                try:
                    postgres_store.reward("study", number, number / 128, at=300.0)
                except StoreError:
                    continue  # as a client does: a reward may be sent again
                told.append(number)
                break

    def disturb() -> None:
        while not done.wait(0.02):
            end_connections(postgres_url)

    tellers = [threading.Thread(target=tell, args=[numbers[n::3]]) for n in range(3)]
    disturber = threading.Thread(target=disturb)
    for thread in (*tellers, disturber):
        thread.start()
    for teller in tellers:
        teller.join()
    done.set()
    disturber.join()
    assert sorted(told) == numbers
    found = everything(postgres_store)
    assert [pull.reward for pull in found.pulls] == [number / 128 for number in numbers]
    assert found.snapshot.totals.n_rewards == len(numbers)
    check_sums(postgres_store)


def test_a_store_closed_under_its_users_tells_them_so(postgres_store: PostgresStore) -> None:
    Writer(postgres_store).serve(*[1] * 10)
    calls: list[Callable[[], object]] = [
        lambda: Writer(postgres_store, create=False).serve_patiently(1),
        lambda: list(postgres_store.log("study")),
        lambda: postgres_store.wait(LONG_S),
    ]
    assert errors_of_users(postgres_store, calls) == [StoreClosed] * 3


def test_a_turn_holds_up_the_writers_of_its_study_only(postgres_url: str) -> None:
    with closing(PostgresStore(postgres_url)) as store, closing(PostgresStore(postgres_url)) as two:
        held, other = Writer(store, "held"), Writer(store, "other")
        held.serve(1)
        other.serve(1)
        done = threading.Event()

        def reward() -> None:
            two.reward("held", 1, 0.5, at=300.0)
            done.set()

        thread = threading.Thread(target=reward)
        with store.turn("held"):
            thread.start()
            assert two.reward("other", 1, 0.5, at=300.0) is not None
            assert not done.wait(0.2)
            store.serve("held", seq=1, at=200.0, pulls=[NewPull(2, 1, "index")])
            assert store.load("held").seq == 2
            assert two.load("held").seq == 1
        thread.join()
        assert store.load("held").seq == 3
        check_sums(store, "held")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_fork_that_python_does_not_know_of_is_refused_in_the_child(
    postgres_store: PostgresStore,
) -> None:
    pid = ctypes.CDLL(None).fork()
    if pid == 0:
        try:
            postgres_store.names()
        except StoreError as error:
            os._exit(0 if "open the study in each process" in str(error) else 2)
        os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0
    assert postgres_store.names() == []
