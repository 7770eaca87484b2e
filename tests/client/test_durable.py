"""The durable outbox: a file that keeps what waits, for any process that opens it."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from imabo.client import AsyncClient, Client, outbox_file
from imabo.client.http import Failed, HttpAnswer
from imabo.client.outbox import Dispatch
from imabo.client.outbox_file import DurableOutbox
from imabo.client.reports import Reports
from imabo.client.steps import Send, Work
from imabo.errors import (
    InvalidSetting,
    OutboxFull,
    RewardConflict,
    SchemaTooNew,
    StoreError,
)
from imabo.stores import MemoryStore
from imabo.testing.study.base import letters
from tests.client.conftest import MakeClient
from tests.client.test_outbox import problem, recorded
from tests.server.running import RunningServer

URL = "http://127.0.0.1:1"

MakeOutbox = Callable[..., DurableOutbox]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rewards.outbox"


def opened(path: Path, url: str = URL, size: int = 100) -> DurableOutbox:
    return DurableOutbox(path, url, size, Reports(url))


def sent(dispatch: Dispatch, reply: Callable[[list[str]], HttpAnswer | Failed]) -> list[str]:
    """The pulls of one batch, once the reply to it was worked on."""
    steps = dispatch.send(5.0)
    pulls: list[str] = []
    answer: HttpAnswer | Failed | None = None
    try:
        while True:
            step = steps.send(answer)
            answer = None
            if isinstance(step, Work):
                answer = step.do()
            elif isinstance(step, Send):
                body = (step.call.body or b"").decode()
                pulls = [part.split('"')[0] for part in body.split('"pull": "')[1:]]
                answer = reply(pulls)
    except StopIteration:
        return pulls


# --- the file -----------------------------------------------------------------------------------


def test_it_keeps_the_order_and_counts_over_a_reopening(path: Path) -> None:
    outbox = opened(path)
    assert outbox.put([("b-2", 0.25), ("a-1", 0.1 + 0.2)]) == [None, None]
    outbox.put([("a-10", 1e-300)])
    outbox.close()
    again = opened(path)
    assert again.n_waiting == 3
    assert list(again.take(10, ()).items()) == [("b-2", 0.25), ("a-1", 0.1 + 0.2), ("a-10", 1e-300)]
    assert list(again.take(1, ())) == ["b-2"]
    assert list(again.take(10, ["a-"])) == ["b-2"]
    assert again.settle(["b-2", "unknown-1"]) == 2
    assert again.settle(["a-1", "a-10"]) == 0
    assert again.n_waiting == 0
    again.close()


def test_every_commit_is_flushed_to_the_disk(path: Path) -> None:
    outbox = opened(path)
    outbox.put([("a-1", 0.5)])
    modes = outbox._file.read(
        lambda db: [db.execute(f"PRAGMA {name}").fetchone()[0]
                    for name in ("synchronous", "journal_mode")]
    )  # fmt: skip
    assert modes == [2, "wal"]
    outbox.close()


def test_nobody_else_may_read_it(path: Path) -> None:
    previous = os.umask(0)
    try:
        outbox = opened(path)
        outbox.put([("a-1", 0.5)])
        assert outbox.begin()
        files = sorted(path.parent.iterdir())
        assert len(files) == 4
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
        outbox.close()
    finally:
        os.umask(previous)


def test_the_first_reward_of_a_pull_counts(path: Path) -> None:
    outbox, other = opened(path), opened(path)
    outbox.put([("a-1", 0.5)])
    assert outbox.holds("a-1", 0.5)
    assert not outbox.holds("a-2", 0.5)
    with pytest.raises(RewardConflict, match=r"0\.75"):
        outbox.holds("a-1", 0.75)
    same, conflict = other.put([("a-1", 0.5), ("a-1", 0.75)])
    assert (same, type(conflict)) == (None, RewardConflict)
    assert outbox.take(10, ()) == {"a-1": 0.5}
    outbox.close()
    other.close()


def test_when_it_is_full_it_says_so_and_drops_nothing(path: Path) -> None:
    outbox = opened(path, size=3)
    answers = outbox.put([(f"a-{number}", 0.5) for number in range(1, 6)])
    assert [type(answer) for answer in answers] == [type(None)] * 3 + [OutboxFull] * 2
    for part in ("a-5", "holds 3 rewards", URL, "outbox_size", str(path)):
        assert part in str(answers[-1])
    assert outbox.put([("a-1", 0.5)]) == [None]  # it is there
    assert list(outbox.take(10, ())) == ["a-1", "a-2", "a-3"]
    outbox.settle(["a-2"])
    assert outbox.put([("a-4", 0.5)]) == [None]
    assert (outbox.n_waiting, outbox.n_dropped) == (3, 0)
    outbox.close()


def test_rewards_for_another_service_are_left_alone(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first = opened(path, "http://127.0.0.1:1")
    first.put([("a-1", 0.5), ("a-2", 0.5)])
    second = opened(path, "http://127.0.0.1:2")
    assert "2 rewards for the service at http://127.0.0.1:1" in caplog.text
    assert second.n_waiting == 0
    assert second.put([("a-1", 0.75)]) == [None]
    assert second.take(10, ()) == {"a-1": 0.75}
    assert second.settle(["a-1", "a-2"]) == 0
    assert first.take(10, ()) == {"a-1": 0.5, "a-2": 0.5}
    first.close()
    second.close()


def test_a_file_of_something_else_is_refused_and_not_touched(path: Path) -> None:
    path.write_text("dear diary\n" * 1000)
    with pytest.raises(StoreError, match="not a database"):
        opened(path)
    assert path.read_text() == "dear diary\n" * 1000
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE diary (day TEXT)")
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="not an outbox"):
        Client(URL, outbox=path)
    assert path.read_bytes() == before


def test_a_file_of_a_later_version_is_refused(path: Path) -> None:
    opened(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(SchemaTooNew, match="99"):
        opened(path)


@pytest.mark.parametrize("wrong", ["", 7, b"bytes", "nul\0"])
def test_a_path_that_is_none_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidSetting, match="outbox is"):
        Client(URL, outbox=wrong)  # type: ignore[arg-type]


def test_a_folder_that_is_not_there_is_said(path: Path) -> None:
    with pytest.raises(StoreError, match="folder"):
        opened(path / "rewards.outbox")


def test_a_file_that_was_removed_takes_no_more_but_is_still_sent(path: Path) -> None:
    outbox = opened(path)
    outbox.put([("a-1", 0.5)])
    path.unlink()
    with pytest.raises(StoreError, match="removed"):
        outbox.put([("a-2", 0.5)])
    assert sent(Dispatch(outbox), recorded) == ["a-1"]
    assert outbox.n_waiting == 0
    outbox.close()


def open_files(path: Path) -> list[str]:
    """What this process has open of an outbox."""
    links = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
    names = [os.readlink(link) for link in links if os.path.islink(link)]
    return sorted(name for name in names if name.startswith(str(path)))


def test_no_connection_and_no_lock_crosses_a_fork(path: Path) -> None:
    outbox = opened(path)
    outbox.put([("a-1", 0.5)])
    assert outbox.begin()
    assert str(path) in open_files(path)
    outbox.before_fork()
    assert open_files(path) == [f"{path}-lock"]  # which the parent goes on with
    outbox.after_fork(is_child=True)
    assert open_files(path) == []
    assert outbox.take(10, ()) == {"a-1": 0.5}
    outbox.close()


# --- sending ------------------------------------------------------------------------------------


def test_what_the_service_settles_is_deleted_and_the_rest_stays(path: Path) -> None:
    outbox = opened(path)
    outbox.put([(f"abc-{number}", 0.5) for number in range(1, 5)])
    refused = {"abc_2": problem("unknown_pull"), "abc_3": problem("unavailable")}
    assert sent(Dispatch(outbox), lambda pulls: recorded(pulls, **refused)) == [
        "abc-1", "abc-2", "abc-3", "abc-4",
    ]  # fmt: skip
    assert (outbox.n_waiting, outbox.n_refused) == (1, 1)
    assert sent(Dispatch(outbox), lambda _: Failed("ConnectError")) == ["abc-3"]
    outbox.close()
    assert list(opened(path).take(10, ())) == ["abc-3"]


def test_one_sends_at_a_time(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = opened(path), opened(path)
    first.put([("a-1", 0.5)])
    steps = Dispatch(first).send(5.0)
    work = next(steps)
    assert isinstance(work, Work)
    assert sent(Dispatch(second), recorded) == []
    steps.close()
    assert sent(Dispatch(second), recorded) == ["a-1"]
    # One that hangs is not waited for for ever.
    assert first.begin()
    assert not second.begin()
    monkeypatch.setattr(outbox_file, "_STUCK_S", 0.0)
    assert second.begin()
    first.close()
    second.close()


# --- clients ------------------------------------------------------------------------------------


def test_what_waits_outlives_the_client_and_is_sent_by_the_next(
    make_client: MakeClient, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = MemoryStore()
    with RunningServer(store) as first:
        client = make_client(first.url, retries=0, outbox=path, flush_s=0.0)
        study = client.create("s", letters("a"), seed=1)
        pulls = study.ask(count=30)
    for pull in pulls[:10]:
        study.tell(pull.id, 0.5)
    study.tell(pulls[0].id, 0.5)
    with pytest.raises(RewardConflict):
        study.tell(pulls[0].id, 0.75)
    assert study.tell_many([(pull.id, 0.5) for pull in pulls[5:]]) == [None] * 25
    assert client.n_waiting == 30
    assert not client.flush(0.05)
    client.close()
    assert (client.n_waiting, client.n_dropped) == (30, 0)
    assert "30 rewards wait in the outbox" in caplog.text
    with RunningServer(store, port=first.port):
        again = make_client(first.url, outbox=path)
        study, ends_at = again.open("s"), time.monotonic() + 60.0
        while study.n_rewards < 30:  # without being asked to
            assert time.monotonic() < ends_at
            time.sleep(0.02)
        assert again.flush(60.0)
        assert (again.n_waiting, again.n_refused) == (0, 0)


def test_with_the_service_up_a_tell_writes_nothing_to_the_disk(
    make_client: MakeClient, path: Path
) -> None:
    with RunningServer() as server:
        client = make_client(server.url, outbox=path)
        study = client.create("s", letters("a"), seed=1)
        with sqlite3.connect(path) as db:
            before = db.execute("PRAGMA data_version").fetchone()
            for pull in study.ask(count=5):
                study.tell(pull.id, 0.5)
            assert db.execute("PRAGMA data_version").fetchone() == before
        db.close()
        assert study.n_rewards == 5


def test_a_full_outbox_is_the_callers_to_know(make_client: MakeClient, path: Path) -> None:
    store = MemoryStore()
    with RunningServer(store) as first:
        client = make_client(first.url, retries=0, outbox=path, outbox_size=3)
        study = client.create("s", letters("a"), seed=1)
        pulls = study.ask(count=6)
    for pull in pulls[:2]:
        study.tell(pull.id, 0.5)
    answers = study.tell_many([(pull.id, 0.5) for pull in pulls[2:5]])
    assert [type(answer) for answer in answers] == [type(None), OutboxFull, OutboxFull]
    for wait in (True, False):
        with pytest.raises(OutboxFull):
            study.tell(pulls[5].id, 0.5, wait=wait)
    assert (client.n_waiting, client.n_dropped) == (3, 0)
    with RunningServer(store, port=first.port):
        assert client.flush(60.0)
        assert study.tell_many([(pull.id, 0.5) for pull in pulls[3:]]) == [None] * 3
        assert study.n_rewards == 6


def test_the_event_loop_does_not_wait_for_the_disk(path: Path) -> None:
    async def tell() -> None:
        async with AsyncClient(URL, outbox=path, flush_s=0.0) as client:
            with sqlite3.connect(path, isolation_level=None) as db:
                db.execute("BEGIN IMMEDIATE")
                task = asyncio.create_task(client.study("s").tell("abc-1", 0.5, wait=False))
                done, _ = await asyncio.wait([task], timeout=0.2)
                assert not done  # it waits for the file, and we go on
                db.execute("ROLLBACK")
                await task
                assert db.execute("SELECT pull FROM rewards").fetchall() == [("abc-1",)]
            db.close()

    asyncio.run(tell())


def test_a_client_made_outside_the_loop_sends_what_it_found(path: Path) -> None:
    with RunningServer() as server, Client(server.url) as direct:
        study = direct.create("s", letters("a"), seed=1)
        (pull,) = study.ask(count=1)
        left = opened(path, server.url)
        left.put([(pull.id, 0.5)])
        left.close()
        client = AsyncClient(server.url, outbox=path)

        async def use() -> None:
            async with client:
                await client.studies()

        asyncio.run(use())
        assert study.n_rewards == 1


def test_a_child_of_a_fork_does_not_wait_for_what_its_parent_left(
    make_client: MakeClient, path: Path
) -> None:
    left = opened(path)
    left.put([("abc-1", 0.5)])
    left.close()
    client = make_client(URL, outbox=path, flush_s=60.0)
    session = (client if isinstance(client, Client) else client._inner)._session
    session.before_fork()
    session.after_fork(is_child=True)
    began = time.monotonic()
    client.close()
    assert time.monotonic() - began < 50.0
    assert client.n_waiting == 1


def test_a_client_whose_outbox_breaks_says_so_and_ends(
    path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client(URL, outbox=path, flush_s=0.0, retries=0)
    client.study("s").tell("abc-1", 0.5, wait=False)
    outbox = client._session.outbox
    assert isinstance(outbox, DurableOutbox)

    def fail(work: object) -> None:
        raise StoreError("the outbox cannot be used", "disk I/O error", "look at the disk")

    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(outbox._file, "read", fail)
        with pytest.raises(StoreError):
            client.flush(0.1)
        client.close()
    assert "disk I/O error" in caplog.text
