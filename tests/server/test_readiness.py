"""``/readyz`` says whether requests can be served, writes included, and why not."""

from __future__ import annotations

import resource
import sqlite3
import time
from pathlib import Path

import httpx
import psycopg
import pytest

from imabo.server.settings import Settings
from imabo.stores import MemoryStore, SQLiteStore
from imabo.stores.postgres import PostgresStore
from tests.server.calls import Api, code_of
from tests.server.running import RunningServer
from tests.server.shell import serving
from tests.server.test_registry import eventually

SETTINGS = Settings(poll_s=0.05, proposals=False)


def reason(http: httpx.Client) -> str:
    """Why it is not ready."""
    answer = http.get("/readyz")
    assert code_of(answer, 503) == "unavailable"
    assert answer.headers["retry-after"] == "1"
    what: str = answer.json()["what"]
    return what


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="the limit is set from outside")
def test_a_disk_that_takes_no_more_is_noticed_without_a_request(tmp_path: Path) -> None:
    with (
        serving(f"sqlite:///{tmp_path}/imabo.db") as server,
        httpx.Client(base_url=server.url, timeout=60) as http,
    ):
        api = Api(http, "s")
        assert http.get("/readyz").json() == {"status": "ready"}
        pid = server.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (4096, before[1]))  # no file gets longer
        eventually(lambda: http.get("/readyz").status_code == 503)
        assert reason(http) == "the database answers but takes no writes"
        assert api.read()["name"] == "s"
        assert http.post(f"{api.path}/pulls").status_code == 503
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        eventually(lambda: http.get("/readyz").status_code == 200)
        assert api.ask()
        assert server.stop() == 0
        assert "takes no writes: SQLite could not use" in server.errors()


def test_a_database_that_only_reads_is_not_ready(postgres_url: str) -> None:
    store = PostgresStore(postgres_url)
    name = postgres_url.rpartition("/")[2].partition("?")[0]
    others = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s "
        "AND pid <> pg_backend_pid()"
    )

    def switch(word: str) -> None:
        with psycopg.connect(postgres_url, autocommit=True) as db:
            db.execute("SET default_transaction_read_only = off")
            db.execute(
                f'ALTER DATABASE "{name}" SET default_transaction_read_only = {word}'.encode()
            )
            db.execute(others, (name,))

    with (
        RunningServer(store, settings=SETTINGS) as server,
        httpx.Client(base_url=server.url, timeout=60) as http,
    ):
        assert http.get("/readyz").status_code == 200
        switch("on")
        eventually(lambda: http.get("/readyz").status_code == 503)
        eventually(lambda: reason(http) == "the database answers but takes no writes")
        assert http.get("/v1/studies").status_code == 200
        switch("off")
        eventually(lambda: http.get("/readyz").status_code == 200)
    store.close()


def test_a_write_that_does_not_come_back_is_not_ready(tmp_path: Path) -> None:
    store = SQLiteStore(f"{tmp_path}/imabo.db")
    with (
        RunningServer(store, settings=SETTINGS) as server,
        httpx.Client(base_url=server.url, timeout=60) as http,
    ):
        busy = sqlite3.connect(tmp_path / "imabo.db", isolation_level=None)
        busy.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        assert "a write was not answered within" in reason(http)
        assert time.monotonic() - began < 40.0
        assert "a write was not answered within" in reason(http)  # at once: one probe runs
        assert http.get("/v1/studies").status_code == 200
        busy.execute("ROLLBACK")
        eventually(lambda: http.get("/readyz").status_code == 200)
        busy.close()
    store.close()


def test_however_many_ask_the_probe_is_rare() -> None:
    class Counting(MemoryStore):
        n_probes = 0

        def probe(self) -> None:
            self.n_probes += 1

    store = Counting()
    with RunningServer(store) as server, httpx.Client(base_url=server.url) as http:
        for _ in range(50):
            assert http.get("/readyz").status_code == 200
        assert store.n_probes == 1
        Api(http, "s").ask()  # a commit is proof enough
        server.app.parts.readiness._checked_at = -1e9
        assert http.get("/readyz").status_code == 200
        assert store.n_probes == 1
