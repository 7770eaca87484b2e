"""Webhooks from an event to the receiver: signed, retried from the database, sent by one."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from imabo import Float, Space, Study
from imabo.errors import Unauthorized
from imabo.server.webhooks import (
    make_webhook,
)
from imabo.stores import MemoryStore, SQLiteStore, Store
from imabo.stores.postgres import PostgresStore
from imabo.testing.stores.facts import Writer
from tests.server.calls import Api
from tests.server.receiving import Receiver, eventually
from tests.server.running import RunningServer
from tests.server.webhooking import PRIVATE, SECRET, check, hook, sending, states


def test_an_event_is_sent_signed_with_all_that_it_says() -> None:
    with Receiver() as receiver, RunningServer(settings=PRIVATE) as server:
        with httpx.Client(base_url=server.url) as http:
            body = {"url": receiver.url, "kinds": ["state"], "studies": ["watched"]}
            added = http.post("/v1/webhooks", json=body)
            assert added.status_code == 201
            webhook = added.json()
            for name in ("watched", "other"):
                api = Api(http, name)
                http.post(f"{api.path}/arms", json={"config": {"model": "large", "x": 0.5}})
                http.patch(f"{api.path}/arms/1", json={"state": "paused"})
            eventually(lambda: len(receiver.got) == 1)
            (got,) = receiver.got
            path = f"/v1/webhooks/{webhook['id']}"
            eventually(lambda: http.get(f"{path}/deliveries").json()["deliveries"][0]["status"])
            listed = http.get("/v1/studies/watched/events").json()["events"]
            (delivery,) = http.get(f"{path}/deliveries").json()["deliveries"]
            shown = http.get("/v1/webhooks").text + http.get(path).text
        assert (got.path, got.headers["content-type"]) == ("/hook", "application/json")
        assert got.headers["host"] == f"127.0.0.1:{receiver.port}"
        event = check(got, webhook["secret"])
        assert event == listed[-1]
        assert (event["study"], event["kind"], event["text"]) == (
            "watched",
            "state",
            "arm 1 was paused",
        )
        assert (delivery["state"], delivery["tries"], delivery["status"]) == ("delivered", 1, 204)
        assert (delivery["event"], delivery["next_at"]) == (event, None)
        assert webhook["secret"] not in shown
        with pytest.raises(Unauthorized, match="secret or the body"):
            check(got, "another")
        assert receiver.kinds() == ["state"], "the other study's is not wanted"


def test_a_failure_is_tried_again_and_says_why(json_logs: io.StringIO) -> None:
    store = MemoryStore()
    with Receiver(500, 302) as receiver, sending(store):
        webhook = hook(store, f"{receiver.url}?token=t0ps3cret", kinds=["drift"])
        Writer(store).drift(before=0.5)
        eventually(lambda: len(receiver.got) >= 1)
        eventually(lambda: states(store, webhook) == ["delivered"])
        paths = {one.path.partition("?")[0] for one in receiver.got}
    assert paths == {"/hook"}, "no redirect is followed"
    (delivery,) = store.deliveries(webhook)
    assert (delivery.tries, delivery.status, delivery.problem) == (3, 204, None)
    assert len({one.event["id"] for one in receiver.got}) == 1, "the same id each time"
    first, second = [json.loads(line) for line in json_logs.getvalue().splitlines()]
    assert first["message"].startswith(f"webhook {webhook} (127.0.0.1): event ")
    assert (
        "is tried again in 0 s after 1 of 16 tries: it answered 500: not [31m today"
        in (first["message"])
    )
    assert "it answered 302" in second["message"]
    assert len(first["message"]) < 500
    for secret in ("t0ps3cret", SECRET):
        assert secret not in json_logs.getvalue()


def test_after_the_last_try_it_is_given_up_and_stays_visible() -> None:
    store = MemoryStore()
    with Receiver(*[503] * 9) as receiver, sending(store, tries=3) as sender:
        webhook = hook(store, receiver.url, kinds=["drift"])
        Writer(store).drift(before=0.5)
        eventually(lambda: states(store, webhook) == ["given up"])
        eventually(lambda: sender.outcomes["given up"] == 1)
    (delivery,) = store.deliveries(webhook)
    assert (delivery.tries, delivery.status, len(receiver.got)) == (3, 503, 3)
    assert delivery.problem is not None
    assert delivery.problem.startswith("it answered 503: not")
    assert len(delivery.problem) < 250
    assert sender.outcomes == {"delivered": 0, "failed": 2, "given up": 1}


def test_what_the_library_did_without_a_server_is_sent_when_one_runs(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/imabo.db"
    with Receiver() as receiver:
        store = SQLiteStore(f"{tmp_path}/imabo.db")
        hook(store, receiver.url)
        store.close()
        with Study.create("s", Space(x=Float(0, 1)), store=url, seed=0) as study:
            study.pause(study.add_arm({"x": 0.5}))
        assert receiver.got == []
        with RunningServer(url, settings=PRIVATE):
            eventually(lambda: len(receiver.got) >= 4)
    kinds = sorted(receiver.kinds())
    assert kinds == ["arm", "created", "state", "webhook added"]
    assert {check(one)["study"] for one in receiver.got} == {None, "s"}


def test_a_restart_in_between_loses_none(tmp_path: Path) -> None:
    path = f"{tmp_path}/imabo.db"
    store = SQLiteStore(path)
    with Receiver(500, 500) as receiver:
        with sending(store, delay=lambda tries: 0.3):
            webhook = hook(store, receiver.url, kinds=["drift"])
            Writer(store).drift(before=0.5)
            eventually(lambda: len(receiver.got) == 1)
        store.close()
        store = SQLiteStore(path)  # as another process, later
        assert states(store, webhook) == ["pending"]
        with sending(store):
            eventually(lambda: states(store, webhook) == ["delivered"])
    assert [one.tries for one in store.deliveries(webhook)] == [3]
    store.close()


def test_one_that_died_while_it_sent_is_followed_by_another() -> None:
    store, now = MemoryStore(), [1000.0]
    webhook = hook(store, "http://127.0.0.1:1/", kinds=["drift"])
    Writer(store).drift(before=0.5)
    assert len(store.claim_deliveries(at=now[0], lease_s=60.0, limit=9, each=9)) == 1
    with Receiver() as receiver:
        changed = make_webhook(receiver.url, SECRET, at=1.0)
        store.put_webhook(
            type(changed)(webhook, receiver.url, SECRET, ("drift",), None, 1.0), at=1.0
        )
        with sending(store, clock=lambda: now[0]):
            Writer(store, "other").drift(before=0.5)
            eventually(lambda: len(receiver.got) == 1)
            eventually(lambda: states(store, webhook) == ["delivered", "pending"])
            assert receiver.got[0].event["study"] == "other", "the lease is still another's"
            now[0] = 1061.0
            eventually(lambda: len(receiver.got) == 2)
    assert receiver.got[1].event["study"] == "study"


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_two_senders_do_not_both_send(
    tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    opened: Callable[[], Store]
    if kind == "sqlite":
        opened = lambda: SQLiteStore(f"{tmp_path}/imabo.db")  # noqa: E731
    else:
        url = request.getfixturevalue("postgres_url")
        opened = lambda: PostgresStore(url)  # noqa: E731
    stores = [opened(), opened()]
    try:
        with Receiver() as receiver:
            webhook = hook(stores[0], receiver.url, kinds=["drift"])
            with sending(stores[0]), sending(stores[1]):
                writer = Writer(stores[0])
                for n in range(30):
                    writer.drift(before=float(n))
                eventually(lambda: set(states(stores[0], webhook)) == {"delivered"})
            ids = [one.event["id"] for one in receiver.got]
            assert len(ids) == len(set(ids)) == 30
    finally:
        for store in stores:
            store.close()


def test_a_receiver_that_does_not_answer_holds_up_no_other_and_no_request() -> None:
    go = threading.Event()
    with (
        Receiver(go=go) as slow,
        Receiver() as quick,
        RunningServer(settings=PRIVATE) as server,
    ):
        slow_hook = hook(server.store, slow.url, kinds=["drift"])
        hook(server.store, quick.url, kinds=["drift"])
        writer = Writer(server.store)
        for _ in range(5):
            writer.drift(before=0.5)
        eventually(lambda: len(quick.got) == 5)
        with httpx.Client(base_url=server.url) as http:
            assert len(Api(http, "busy").ask(count=3)) == 3
        assert len(slow.got) <= 2
        assert "delivered" not in states(server.store, slow_hook)
        go.set()
