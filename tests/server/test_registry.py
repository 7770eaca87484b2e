"""What is done for studies beside requests, and what happens while the database is away."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from imabo import Float, Space, Study, oracles
from imabo.errors import StoreError, UnknownStudy
from imabo.server.registry import Registry
from imabo.server.settings import Settings
from imabo.stores import MemoryStore, SQLiteStore
from imabo.stores.base import KeyRecord, Snapshot, Store
from tests.server.calls import Api, code_of
from tests.server.running import RunningServer

SPACE = Space(x=Float(0, 1))


def create(store: Store, name: str = "s", **settings: float) -> Study:
    window_s = settings.get("window_s")
    return Study.create(
        name, SPACE, store=store, seed=0, oracle=oracles.Random(), window_s=window_s
    )


def eventually(holds: Callable[[], bool]) -> None:
    """Wait for what another thread does."""
    until = time.monotonic() + 60.0
    while not holds():
        assert time.monotonic() < until, "it did not come to hold"
        time.sleep(0.01)


@contextmanager
def running(store: Store, retention_s: float | None = None) -> Iterator[Registry]:
    registry = Registry(store, poll_s=0.02, retention_s=retention_s)
    registry.start()
    yield registry
    registry.stop()


def test_what_another_process_writes_is_seen_without_a_request(tmp_path: Path) -> None:
    ours, theirs = (SQLiteStore(f"{tmp_path}/imabo.db") for _ in range(2))
    study = create(theirs)
    with running(ours) as registry:
        view = registry.study("s")
        study.ask(count=3)
        eventually(lambda: view.n_pulls == 3)
        assert registry.age_s("s") < 10.0
    ours.close()
    theirs.close()


def test_studies_are_opened_before_anyone_asks() -> None:
    store = MemoryStore()
    create(store)
    with running(store) as registry:
        eventually(lambda: [study.name for study in registry.open_studies()] == ["s"])
        create(store, "later")
        eventually(lambda: len(registry.open_studies()) == 2)


def test_a_study_that_another_process_deleted_is_dropped_and_made_again(tmp_path: Path) -> None:
    ours, theirs = (SQLiteStore(f"{tmp_path}/imabo.db") for _ in range(2))
    create(theirs).ask(count=3)
    with running(ours) as registry:
        old = registry.study("s").token
        assert registry.find(old) == "s"
        theirs.delete("s")
        create(theirs).ask(count=50)  # further than the one before
        eventually(lambda: registry.study("s").token != old)
        assert registry.known(old) is None
        assert registry.find(old) is None
        assert registry.study("s").ask().id.endswith("-51")
    ours.close()
    theirs.close()


def test_a_study_that_another_process_deleted_is_unknown(tmp_path: Path) -> None:
    ours, theirs = (SQLiteStore(f"{tmp_path}/imabo.db") for _ in range(2))
    create(theirs).ask()
    create(theirs, "other")
    with RunningServer(ours) as server, httpx.Client(base_url=server.url) as http:
        assert http.post("/v1/studies/s/pulls").status_code == 201
        theirs.delete("s")
        assert code_of(http.post("/v1/studies/s/pulls"), 404) == "unknown_study"
        assert code_of(http.get("/v1/studies/s"), 404) == "unknown_study"
        assert code_of(http.get("/v1/studies/s/arms"), 404) == "unknown_study"
    ours.close()
    theirs.close()


def test_finished_pulls_are_forgotten_after_their_retention() -> None:
    store = MemoryStore()
    study = create(store)
    study.tell(study.ask().id, 0.5)
    study.ask()
    time.sleep(0.01)
    with running(store, retention_s=0.001):
        eventually(lambda: len(store.pulls("s")) == 1)
    totals = store.load("s").totals
    assert (totals.n_pulls, totals.n_rewards) == (2, 1)


def test_pulls_expire_without_a_request() -> None:
    store = MemoryStore()
    create(store, window_s=0.001).ask()
    time.sleep(0.01)
    with running(store) as registry:
        registry.study("s")
        eventually(lambda: store.load("s").totals.n_expired == 1)


def test_a_policy_of_someones_own_does_not_stop_the_registry() -> None:
    store = MemoryStore()
    study = create(store)
    record = replace(store.load("s").study, name="own", token="own", policy={"type": "Own"})
    store.create(record)
    with running(store) as registry:
        assert registry.study("s").n_pulls == 0
        study.ask()
        eventually(lambda: registry.study("s").n_pulls == 1)


def test_an_unknown_study_is_told_without_the_names_of_others() -> None:
    store = MemoryStore()
    create(store)
    with running(store) as registry:
        for work in (registry.study, registry.delete):
            with pytest.raises(UnknownStudy) as unknown:
                work("t")
            assert "'s'" not in str(unknown.value)


# --- while the database is away ------------------------------------------------------------------


class Unsteady(MemoryStore):
    """A store whose database can be taken away."""

    is_away = False

    def _reach(self) -> None:
        if self.is_away:
            raise StoreError("no answer from /secret/place", "it is away", "wait")

    def seqs(self) -> dict[str, int]:
        self._reach()
        return super().seqs()

    def keys(self) -> list[KeyRecord]:
        self._reach()
        return super().keys()

    def load(self, name: str, *, since: int = 0) -> Snapshot:
        self._reach()
        return super().load(name, since=since)

    def find(self, token: str) -> str | None:
        self._reach()
        return super().find(token)


@pytest.fixture
def unsteady() -> Iterator[tuple[RunningServer, httpx.Client]]:
    with RunningServer(Unsteady()) as server, httpx.Client(base_url=server.url) as http:
        yield server, http


def test_a_server_is_not_ready_while_the_database_is_away(
    unsteady: tuple[RunningServer, httpx.Client],
) -> None:
    server, http = unsteady
    api = Api(http, "s")
    (pull,) = api.ask()
    assert http.get("/readyz").json() == {"status": "ready"}
    server.store.is_away = True  # type: ignore[attr-defined]
    eventually(lambda: http.get("/readyz").status_code == 503)
    for answer in (
        http.get("/readyz"),
        http.post(f"{api.path}/pulls"),
        api.tell(pull["id"], 0.5),
        http.get(api.path),
        http.get("/v1/studies"),
        http.put("/v1/pulls/abcd-1/reward", json={"reward": 1}),
    ):
        assert code_of(answer, 503) == "unavailable"
        assert answer.headers["retry-after"] == "1"
        assert "secret" not in answer.text
    assert http.get("/healthz").status_code == 200
    server.store.is_away = False  # type: ignore[attr-defined]
    eventually(lambda: http.get("/readyz").status_code == 200)
    eventually(lambda: api.tell(pull["id"], 0.5).status_code == 204)
    assert api.read()["n_rewards"] == 1


def test_a_server_that_was_told_to_stop_is_not_ready(
    unsteady: tuple[RunningServer, httpx.Client],
) -> None:
    server, http = unsteady
    server.app.parts.stopping.set()
    assert code_of(http.get("/readyz"), 503) == "unavailable"
    assert http.get("/healthz").status_code == 200


def test_a_fault_is_answered_without_its_details(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(MemoryStore):
        def names(self) -> list[str]:
            raise RuntimeError("secret")

    with RunningServer(Broken(), settings=Settings(proposals=False, poll_s=0.05)) as server:
        answer = httpx.get(f"{server.url}/v1/studies")
    assert code_of(answer, 500) == "internal"
    assert "secret" not in answer.text
    assert "secret" in caplog.text
