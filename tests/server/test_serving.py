"""Whole processes: starting, signals, several workers, and that nothing accepted is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import wraps
from pathlib import Path

import httpx
import pytest

from imabo.stores import open_store
from tests.postgres.server import AnyServer
from tests.server.calls import Api, code_of
from tests.server.shell import Serving, serving
from tests.server.test_metrics import values


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/imabo.db"


def test_ctrl_c_ends_the_service_with_status_0_and_programs_read_the_address_as_json(
    url: str,
) -> None:
    with serving(url, "--json") as server:
        assert httpx.get(f"{server.url}/readyz").status_code == 200
        assert httpx.get(f"{server.url}/v1/studies").json()["studies"] == []
        assert server.stop(signal.SIGINT) == 0
        assert server.errors() == ""
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{server.url}/healthz")


@pytest.mark.parametrize("workers", [1, 2])
def test_what_was_accepted_before_the_end_is_committed_and_answered(
    url: str, tmp_path: Path, workers: int
) -> None:
    n = 20

    async def ask_and_stop() -> list[str]:
        busy = sqlite3.connect(tmp_path / "imabo.db", isolation_level=None)
        async with httpx.AsyncClient(base_url=server.url, timeout=60) as http:
            busy.execute("BEGIN IMMEDIATE")  # all of them are under way when the signal comes
            asks = [asyncio.create_task(http.post("/v1/studies/s/pulls")) for _ in range(n)]
            while values((await http.get("/metrics")).text)["imabo_queue_length", ()] < n:
                await asyncio.sleep(0.05)
            server.process.send_signal(signal.SIGTERM)
            await asyncio.sleep(0.5)
            assert server.process.poll() is None
            assert not any(ask.done() for ask in asks)
            busy.execute("ROLLBACK")
            answers = await asyncio.gather(*asks)
        busy.close()
        assert {answer.status_code for answer in answers} == {201}
        return [answer.json()["pulls"][0]["id"] for answer in answers]

    with serving(url, f"--workers={workers}") as server:
        with httpx.Client(base_url=server.url) as http:
            Api(http, "s")
        ids = asyncio.run(ask_and_stop())
        assert server.process.wait(60) == 0
        assert server.errors() == ""
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{server.url}/healthz")
    store = open_store(url)
    assert len(set(ids)) == n == store.load("s").totals.n_pulls
    store.close()


class Late(AssertionError):
    """The service gave up all that was under way."""


def ended(server: Serving) -> int:
    """The status that it ends with by itself."""
    status = server.process.wait(60)
    if status and "the time to drain is over" in server.errors():
        raise Late(status)
    return status


def again(test: Callable[..., None]) -> Callable[..., None]:
    """Once more where the service gave up: the machine stood still for longer than its grace."""

    @wraps(test)
    def patient(**fixtures: object) -> None:
        for _ in range(3):
            with suppress(httpx.RemoteProtocolError, Late):
                test(**fixtures)
                return
        test(**fixtures)

    return patient


@again
def test_requests_that_take_longer_than_the_drain_are_told_that_it_is_not_known(
    url: str, tmp_path: Path
) -> None:
    with serving(url, "--drain-s=1") as server:
        with httpx.Client(base_url=server.url) as http:
            Api(http, "s")

        async def ask() -> list[httpx.Response]:
            async with httpx.AsyncClient(base_url=server.url, timeout=60) as http:
                pulls, expire = "/v1/studies/s/pulls", "/v1/studies/s/expire"
                asking = [asyncio.create_task(http.post(pulls)) for _ in range(3)]
                await asyncio.sleep(0.5)
                asking.append(asyncio.create_task(http.post(expire)))  # behind the others
                await asyncio.sleep(0.5)
                server.process.send_signal(signal.SIGTERM)
                return await asyncio.gather(*asking)

        with closing(sqlite3.connect(tmp_path / "imabo.db", isolation_level=None)) as busy:
            busy.execute("BEGIN IMMEDIATE")
            for answer in asyncio.run(ask()):
                assert code_of(answer, 503) == "unavailable"
                assert "not known" in answer.json()["why"]
                assert answer.headers["retry-after"] == "1"
            assert ended(server) == 0
            assert "left alone" in server.errors()


@again
def test_a_drain_ends_although_the_database_is_frozen(
    postgres_server: AnyServer, postgres_url: str
) -> None:
    with serving(postgres_url, "--drain-s=1") as server:
        with httpx.Client(base_url=server.url) as http:
            Api(http, "s").ask()

        async def ask() -> httpx.Response:
            async with httpx.AsyncClient(base_url=server.url, timeout=60) as http:
                asking = asyncio.create_task(http.post("/v1/studies/s/pulls"))
                await asyncio.sleep(0.3)
                server.process.send_signal(signal.SIGTERM)
                return await asking

        postgres_server.freeze()
        try:
            answer = asyncio.run(ask())
            assert ended(server) == 0
        finally:
            postgres_server.thaw()
    assert code_of(answer, 503) == "unavailable"
    assert "not known" in answer.json()["why"]


def counts(url: str) -> set[str]:
    """What the workers count, whoever of them answers."""
    return {
        line
        for _ in range(20)
        for line in httpx.get(f"{url}/metrics").text.splitlines()
        if line.startswith(("imabo_asks_total", "imabo_rewards_total"))
    }


def test_several_workers_share_the_requests_and_the_counts(url: str) -> None:
    with serving(url, "--workers=2") as server:
        with httpx.Client(base_url=server.url) as http:
            Api(http, "s")
        for _ in range(40):  # a connection each, so that both get some
            with httpx.Client(base_url=server.url) as http:
                (pull,) = Api(http, "s").ask()
                answer = http.put(f"/v1/pulls/{pull['id']}/reward", json={"reward": 0.5})
                assert answer.status_code == 204
        # Each tells the other of its counts once a second.
        wanted = {"imabo_asks_total 40.0", "imabo_rewards_total 40.0"}
        until = time.monotonic() + 30.0
        while (seen := counts(server.url)) != wanted:
            assert time.monotonic() < until, seen
            time.sleep(0.1)
        study = httpx.get(f"{server.url}/v1/studies/s").json()
        assert (study["n_pulls"], study["n_rewards"]) == (40, 40)
        assert server.stop() == 0


def children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8")
    return [int(child) for child in found.split()]


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="children are listed in /proc"
)


@needs_proc
def test_a_worker_that_is_killed_is_replaced(url: str) -> None:
    with serving(url, "--workers=2") as server:
        first = children(server.process.pid)
        assert len(first) == 2
        os.kill(first[0], signal.SIGKILL)
        until = time.monotonic() + 30
        while len(set(children(server.process.pid)) - {first[0]}) < 2:
            assert time.monotonic() < until
            time.sleep(0.05)
        for _ in range(10):
            assert httpx.get(f"{server.url}/healthz", timeout=30).status_code == 200
        assert server.stop() == 0
        assert f"process {first[0]} ended with -9" in server.errors()


@needs_proc
def test_workers_end_with_a_parent_that_was_killed(url: str) -> None:
    with serving(url, "--workers=2") as server:
        workers = children(server.process.pid)
        server.process.kill()
        server.process.wait()
        until = time.monotonic() + 30
        while any(Path(f"/proc/{worker}").exists() for worker in workers):
            assert time.monotonic() < until
            time.sleep(0.05)


def test_a_store_that_cannot_be_opened_is_explained(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="nowhere"), serving(f"sqlite:///{tmp_path}/nowhere/x"):
        pass
