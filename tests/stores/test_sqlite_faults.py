"""SQLiteStore when something goes wrong: a failed transaction, a full disk, a fork, a close."""

from __future__ import annotations

import gc
import os
import resource
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from imabo import Study
from imabo.errors import StoreClosed, StoreError
from imabo.stores import SQLiteStore
from imabo.stores.base import Change
from imabo.stores.sqlite.connections import Connections
from imabo.testing.stores.facts import Writer, check_sums, everything, study_record
from tests.stores.children.fork import ROUNDS
from tests.stores.closing import errors_of_users
from tests.stores.processes import run

unserialisable: Any = object()


def test_an_error_in_the_middle_of_a_transaction_leaves_nothing(path: str) -> None:
    with closing(SQLiteStore(path)) as store:
        writer = Writer(store)
        writer.serve(1, 2)
        before = everything(store)
        # The arm's state is written before the data of the event turns out not to be JSON.
        change = Change("state", {"data": unserialisable}, {1: ("paused", None)})
        with pytest.raises(TypeError):
            store.change("study", change, seq=writer.seq, at=300.0)
        # The study's row is written before its space.
        with pytest.raises(TypeError):
            store.create(study_record("another", space={"space": unserialisable}))
        assert everything(store) == before
        assert store.names() == ["study"]
        assert writer.serve(1) == [3]


@contextmanager
def full_disk(path: str, room: int) -> Iterator[None]:
    """Let no file grow by more than ``room`` bytes beyond what the log of a database has now."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(path + "-wal") + room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("room", [0, 5_000, 30_000])
def test_a_full_disk_is_an_error_that_loses_nothing(study_path: str, room: int) -> None:
    with Study.open("study", store=f"sqlite:///{study_path}") as study:
        told: dict[str, float | None] = {}

        def play(rounds: int) -> None:
            for _ in range(rounds):
                pull = study.ask()
                told[pull.id] = None
                study.tell(pull.id, 0.75)
                told[pull.id] = 0.75

        play(10)
        with full_disk(study_path, room), pytest.raises(StoreError, match="disk is not full"):
            play(200)
        with full_disk(study_path, 0), pytest.raises(StoreError):
            study.ask(count=100)
        assert {pull.id: pull.reward for pull in study} == told
        play(10)
        assert {pull.id: pull.reward for pull in study} == told
    with closing(SQLiteStore(study_path)) as store:
        check_sums(store)


@pytest.mark.service
def test_a_child_of_a_fork_loses_nothing_when_the_parent_closes(study_path: str) -> None:
    found = run("tests.stores.children.fork", study_path)
    assert found["status"] == 0
    with closing(SQLiteStore(study_path)) as store:
        pulls = everything(store).pulls
        rewards = [pull.reward for pull in pulls]
        assert [rewards.count(reward) for reward in (0.25, 0.5, 0.75, 1.0)] == [ROUNDS] * 4
        check_sums(store)
    # The parent's log, half read before the fork, goes on where it was, without gap or repetition.
    assert found["sorted"]
    assert found["entries"] >= 2 * ROUNDS


@pytest.mark.service
@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
def test_a_fork_that_python_does_not_know_of_is_refused_in_the_child(path: str) -> None:
    # In a process of its own: what another thread holds just then, the child waits for in vain.
    assert run("tests.stores.children.raw_fork", path) == {"status": 0, "names": []}


def test_a_store_closed_under_its_users_tells_them_so(study_path: str) -> None:
    store = SQLiteStore(study_path)
    calls: list[Callable[[], object]] = [
        lambda: Writer(store, create=False).serve_patiently(1),
        lambda: store.pulls("study"),
        lambda: list(store.log("study")),
    ]
    assert errors_of_users(store, calls) == [StoreClosed] * 3
    with closing(SQLiteStore(study_path)) as again:
        check_sums(again)


def test_a_log_left_half_read_does_not_keep_the_file_open(path: str) -> None:
    store = SQLiteStore(path)
    Writer(store).serve(*[1] * 10)
    log = store.log("study")
    next(log)
    store.close()
    # The last connection to close removes the write-ahead log.
    assert os.listdir(Path(path).parent) == ["imabo.db"]


def test_a_long_log_is_read_in_chunks_and_whole(path: str) -> None:
    with closing(SQLiteStore(path)) as store:
        writer = Writer(store)
        for _ in range(5):
            writer.serve(*[1, 2] * 300)
        log = store.log("study")
        first = next(log)
        writer.serve(3)
        numbers = [entry.pull for entry in [first, *log]]
        assert numbers[:3000] == list(range(1, 3001))


def test_a_closed_store_is_not_kept_for_the_sake_of_a_fork(path: str) -> None:
    connections = Connections(path)
    connections.close()
    kept = weakref.ref(connections)
    del connections
    gc.collect()
    assert kept() is None
