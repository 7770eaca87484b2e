"""A study that is stuck keeps no other from being served."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import psycopg
import pytest

from imabo.engine.requests import Request
from imabo.errors import StoreError
from imabo.server.app import SHORT_S, share_interpreter
from imabo.server.commits import Commits
from imabo.server.registry import Lanes, Registry
from imabo.server.settings import Settings
from imabo.stores import MemoryStore
from imabo.stores.base import Expired, Snapshot
from imabo.stores.postgres import PostgresStore
from tests.server.calls import Api, code_of
from tests.server.running import RunningServer
from tests.server.test_commits import registry_of
from tests.server.test_metrics import values
from tests.server.test_registry import create, eventually

PATIENCE_S = 60.0


def _wait(event: threading.Event) -> None:
    assert event.wait(PATIENCE_S)


def _fail() -> None:
    raise RuntimeError("a fault")


def test_jobs_of_a_study_are_done_in_order_and_one_at_a_time() -> None:
    lanes = Lanes()
    done: list[int] = []
    at_once: list[int] = []
    end = threading.Event()
    busy = threading.Lock()

    def job(number: int) -> None:
        at_once.append(busy.acquire(blocking=False))
        done.append(number)
        busy.release()
        if number == 99:
            end.set()

    for number in range(100):
        lanes.put("s", lambda number=number: job(number))  # type: ignore[misc]
    assert end.wait(PATIENCE_S)
    assert done == list(range(100))
    assert all(at_once)
    lanes.close()


def test_a_study_that_is_stuck_keeps_one_thread_and_the_others_go_on() -> None:
    lanes = Lanes(most=3)
    release, others = threading.Event(), threading.Semaphore(0)
    for stuck in ("a", "b"):
        lanes.put(stuck, lambda: _wait(release))
        lanes.put(stuck, others.release)  # waits behind its own study's
    for number in range(50):
        lanes.put(f"other-{number % 5}", others.release)
    for _ in range(50):
        assert others.acquire(timeout=PATIENCE_S)
    assert not others.acquire(blocking=False)
    eventually(lambda: sorted(lanes.stuck(0.0)) == ["a", "b"])
    release.set()
    assert others.acquire(timeout=PATIENCE_S)
    assert others.acquire(timeout=PATIENCE_S)
    eventually(lambda: lanes.stuck(0.0) == [])
    lanes.close()


def test_a_study_with_many_jobs_does_not_keep_the_thread() -> None:
    lanes = Lanes(most=1)
    order: list[str] = []
    begun, go, end = threading.Event(), threading.Event(), threading.Event()
    lanes.put("greedy", begun.set)
    lanes.put("greedy", lambda: _wait(go))
    assert begun.wait(PATIENCE_S)
    for _ in range(5):
        lanes.put("greedy", lambda: order.append("greedy"))
    lanes.put("modest", lambda: order.append("modest"))
    lanes.put("greedy", end.set)
    go.set()
    assert end.wait(PATIENCE_S)
    assert order.index("modest") <= 1
    lanes.close()


def test_a_job_that_fails_does_not_end_its_thread(caplog: pytest.LogCaptureFixture) -> None:
    lanes = Lanes(most=1)
    end = threading.Event()
    lanes.put("s", lambda: _fail())
    lanes.put("s", end.set)
    assert end.wait(PATIENCE_S)
    assert "a job of a study failed" in caplog.text
    lanes.close()


def test_a_study_has_a_queue_of_its_own_and_refuses_when_it_is_full() -> None:
    async def play() -> None:
        registry = registry_of()
        release = threading.Event()
        registry.lanes.put("s", lambda: _wait(release))
        commits = Commits(registry, limit=10, study_limit=3)
        commits.start()
        waiting = [commits.ask("s", Request()) for _ in range(3)]
        with pytest.raises(Exception, match="for this study wait") as refused:
            commits.ask("s", Request())
        assert getattr(refused.value, "headers", {})["Retry-After"] == "1"
        assert commits.refused == {"s": 1}
        assert commits.waiting == {"s": 3}
        with pytest.raises(Exception, match="no study"):
            await commits.ask("another", Request())  # it is not full
        release.set()
        await asyncio.gather(*waiting)
        assert commits.waiting == {}
        assert await commits.drain(PATIENCE_S)
        registry.lanes.close()

    asyncio.run(play())


@contextmanager
def held(url: str, study: str) -> Iterator[None]:
    """Another session holds the row of a study."""
    with psycopg.connect(url) as db:
        db.execute("SELECT 1 FROM imabo_studies WHERE name = %s FOR UPDATE", (study,))
        yield


def test_a_row_that_is_locked_delays_its_study_alone(postgres_url: str) -> None:
    store = PostgresStore(postgres_url, limit_s=600.0)  # the lock is waited for all the while
    settings = Settings(poll_s=0.05, proposals=False, study_queue_limit=2)
    with (
        RunningServer(store, settings=settings) as server,
        httpx.Client(base_url=server.url, timeout=60) as http,
        ThreadPoolExecutor(60) as pool,
    ):
        stuck, calm = Api(http, "stuck", window_s=3600.0), Api(http, "calm", window_s=3600.0)
        for api in (stuck, calm):
            api.tell(api.ask()[0]["id"], 0.5)
        commits, registry = server.app.parts.commits, server.app.parts.registry
        with held(postgres_url, "stuck"):
            asks = [pool.submit(stuck.ask) for _ in range(2)]
            eventually(lambda: commits.waiting.get("stuck") == 2)
            eventually(lambda: registry.lanes.stuck(0.5) == ["stuck"])
            # Reads, too: they wait for the study in this process, and must not take all threads.
            reads = [pool.submit(stuck.read, "/best") for _ in range(50)]
            eventually(lambda: server.app.parts.rooms["stuck"].n_requests == 50)
            began = time.monotonic()
            for _ in range(10):
                (pull,) = calm.ask()
                assert calm.tell(pull["id"], 0.5).status_code == 204
            assert calm.read("/best")["n_rewards"] >= 1
            assert http.get("/readyz").status_code == 200
            assert not any(ask.done() for ask in asks)
            assert code_of(http.post(f"{stuck.path}/pulls"), 503) == "unavailable"
            # What is done beside requests goes on as well.
            eventually(lambda: registry.age_s("calm") < 0.5)
            assert not registry.is_away
            eventually(lambda: registry.lanes.stuck(1.0) == ["stuck"])
            found = values(http.get("/metrics").text)
            study = (("study", "stuck"),)
            assert found["imabo_study_queue_length", study] == 2
            assert found["imabo_study_refused_total", study] == 1
            assert found["imabo_studies_stuck", ()] == 1
            assert time.monotonic() - began < PATIENCE_S
        assert all(len(ask.result(PATIENCE_S)) == 1 for ask in asks)
        for read in reads:
            read.result(PATIENCE_S)
    store.close()


def test_expiry_that_fails_for_one_study_goes_on_for_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The first round may come before the locked study is open; do not wait for the next one.
    monkeypatch.setattr(sys.modules[Registry.__module__], "_EXPIRE_EVERY_S", 0.05)

    class OneLocked(MemoryStore):
        is_locked = False

        def expire(self, name: str, **facts: Any) -> Expired:
            if name == "a-locked" and self.is_locked:
                raise StoreError("the study is locked", "another holds it", "wait")
            return super().expire(name, **facts)

    store = OneLocked()
    for name in ("a-locked", "b"):
        create(store, name, window_s=0.001).ask()
    store.is_locked = True
    time.sleep(0.01)
    registry = Registry(store, poll_s=0.02)
    registry.start()
    eventually(lambda: store.load("b").totals.n_expired == 1)
    assert not registry.is_away
    registry.stop()


def test_opening_a_study_does_not_wait_for_another_that_takes_long() -> None:
    opening, go = threading.Event(), threading.Event()

    class SlowToLoad(MemoryStore):
        def load(self, name: str, *, since: int = 0) -> Snapshot:
            if name == "slow":
                opening.set()
                go.wait(PATIENCE_S)
            return super().load(name, since=since)

    store = SlowToLoad()
    go.set()
    for name in ("slow", "quick"):
        create(store, name)
    go.clear()
    opening.clear()
    registry = Registry(store)
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(registry.study, "slow")
        assert opening.wait(PATIENCE_S)
        assert pool.submit(registry.study, "quick").result(PATIENCE_S).name == "quick"
        assert len(registry.open_studies()) == 1
        go.set()
        assert slow.result(PATIENCE_S).name == "slow"


def test_turns_are_short_while_a_job_takes_long_and_as_before_at_the_end() -> None:
    before = sys.getswitchinterval()

    async def play() -> None:
        lanes, release = Lanes(), threading.Event()
        sharing = asyncio.create_task(share_interpreter(lanes))
        await asyncio.sleep(0.2)
        assert sys.getswitchinterval() == before
        lanes.put("slow", lambda: _wait(release))
        until = time.monotonic() + PATIENCE_S
        while sys.getswitchinterval() == before:
            assert time.monotonic() < until
            await asyncio.sleep(0.01)
        assert sys.getswitchinterval() == pytest.approx(SHORT_S)
        release.set()
        lanes.close()
        sharing.cancel()
        await asyncio.gather(sharing, return_exceptions=True)

    asyncio.run(play())
    assert sys.getswitchinterval() == before
