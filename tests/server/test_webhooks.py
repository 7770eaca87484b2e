"""Webhooks: signed, retried from the database, sent by one, and never where they may not go."""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from imabo import Float, Space, Study, webhooks
from imabo.errors import InvalidSetting, Unauthorized
from imabo.server.sender import Sender
from imabo.server.settings import Settings
from imabo.server.webhooks import (
    addresses_of,
    check_address,
    make_webhook,
    target_of,
)
from imabo.stores import MemoryStore, SQLiteStore, Store
from imabo.stores.postgres import PostgresStore
from imabo.testing.stores.facts import Writer
from tests.server.calls import Api, code_of
from tests.server.receiving import Received, Receiver, eventually
from tests.server.running import RunningServer

PRIVATE = Settings(poll_s=0.05, proposals=False, allow_private_webhooks=True)
SECRET = "a secret of 16 or more"


@contextmanager
def sending(store: Store, **settings: Any) -> Iterator[Sender]:
    """A sender that looks often and waits little."""
    usual: dict[str, Any] = {"allow_private": True, "poll_s": 0.02, "delay": lambda tries: 0.05}
    sender = Sender(store, **usual | settings)
    sender.start()
    try:
        yield sender
    finally:
        sender.stop()


def hook(store: Store, url: str, **limits: Any) -> str:
    """Add a webhook; its id."""
    made = make_webhook(url, SECRET, at=1.0, **limits)
    store.put_webhook(made, at=1.0)
    return made.id


def states(store: Store, webhook: str) -> list[str]:
    return [one.state for one in store.deliveries(webhook)]


def check(got: Received, secret: str = SECRET) -> dict[str, Any]:
    return webhooks.verify(secret, got.body, got.headers["imabo-signature"])


# --- from an event to the receiver ----------------------------------------------------------------


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
    with (
        Receiver(wait_s=300.0) as slow,
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
        slow.let_go()


# --- where they may not go ------------------------------------------------------------------------

REFUSED = [
    "http://127.0.0.1/x",
    "http://127.1/x",
    "http://localhost:8766/x",
    "http://[::1]/x",
    "http://[::ffff:127.0.0.1]/x",
    "http://0.0.0.0/x",
    "http://10.1.2.3/x",
    "http://172.16.0.1/x",
    "http://192.168.1.1/x",
    "http://100.64.0.1/x",
    "http://169.254.169.254/latest/meta-data",
    "http://[fe80::1]/x",
    "http://[fd00::1]/x",
    "http://[64:ff9b::7f00:1]/x",
    "http://[2002:7f00:1::]/x",
    "http://224.0.0.1/x",
]


@pytest.mark.parametrize("url", REFUSED)
def test_a_private_address_is_refused_when_it_is_added(http: httpx.Client, url: str) -> None:
    answer = http.post("/v1/webhooks", json={"url": url})
    assert code_of(answer, 422) == "invalid_setting"
    assert "--allow-private-webhooks" in answer.json()["fix"]


@pytest.mark.parametrize(
    "url",
    ["ftp://a.example/x", "https://user:pass@a.example/", "https:///x", "https://a.example:0/",
     "https://a.example/#x", "https://a b/", "x", "https://a.example/" + "x" * 2000, "https://ä.de"],
)  # fmt: skip
def test_an_address_of_another_form_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(InvalidSetting) as refused:
        make_webhook(url, at=0.0)
    assert "pass@" not in str(refused.value)


def test_a_name_that_leads_nowhere_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="is not known"):
        asyncio.run(check_address("https://missing.invalid/x", allow_private=True))


def test_an_address_is_checked_again_whenever_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that was public when it was added and is not any more: nothing is sent."""
    store = MemoryStore()
    with Receiver() as receiver:
        webhook = hook(store, f"http://rebound.example:{receiver.port}/x", kinds=["drift"])
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", receiver.port))]
        real = asyncio.base_events.BaseEventLoop.getaddrinfo

        async def lead_home(self: Any, host: Any, *args: Any, **more: Any) -> Any:
            return found if host == "rebound.example" else await real(self, host, *args, **more)

        monkeypatch.setattr(asyncio.base_events.BaseEventLoop, "getaddrinfo", lead_home)
        Writer(store).drift(before=0.5)
        with sending(store, allow_private=False, tries=2):
            eventually(lambda: states(store, webhook) == ["given up"])
        assert receiver.got == []
        (delivery,) = store.deliveries(webhook)
        assert "leads to 127.0.0.1: it is an address of a private network" in str(delivery.problem)
        # And when it is allowed, what was looked up is what is called, by its name.
        with sending(store):
            store.test_webhook(webhook, at=2.0)
            eventually(lambda: len(receiver.got) == 1)
    assert receiver.got[0].headers["host"] == f"rebound.example:{receiver.port}"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A certificate for hook.example that nobody knows, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "2", "-subj", "/CN=hook.example", "-keyout", key, "-out", cert,
            "-addext", "subjectAltName=DNS:hook.example"]  # fmt: skip
    subprocess.run(made, check=True, capture_output=True)
    return cert, key


@pytest.mark.parametrize(
    ("host", "is_believed", "expected"),
    [
        ("hook.example", True, "delivered"),
        ("hook.example", False, "given up"),
        ("other.example", True, "given up"),
    ],
)
def test_over_tls_the_name_counts_and_not_the_address(
    certificate: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    is_believed: bool,
    expected: str,
) -> None:
    """The connection goes to the address that was checked, and the certificate is the name's."""
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(*certificate)
    store = MemoryStore()
    with Receiver(tls=serving) as receiver:

        async def lead_home(self: Any, *args: Any, **more: Any) -> Any:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", receiver.port))]

        monkeypatch.setattr(asyncio.base_events.BaseEventLoop, "getaddrinfo", lead_home)
        webhook = hook(store, f"https://{host}:{receiver.port}/x", kinds=["drift"])
        Writer(store).drift(before=0.5)
        tls = ssl.create_default_context(cafile=certificate[0]) if is_believed else None
        with sending(store, tls=tls, tries=1):
            eventually(lambda: states(store, webhook) == [expected])
    assert len(receiver.got) == (expected == "delivered")


def test_one_private_address_among_others_is_enough_to_refuse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def both(self: Any, *args: Any, **more: Any) -> Any:
        return [(2, 1, 6, "", (ip, 443)) for ip in ("93.184.216.34", "10.0.0.1")]

    monkeypatch.setattr(asyncio.base_events.BaseEventLoop, "getaddrinfo", both)
    with pytest.raises(InvalidSetting, match=r"leads to 10\.0\.0\.1"):
        asyncio.run(addresses_of(target_of("https://two.example/"), allow_private=False))


# --- who may, and what is listed ------------------------------------------------------------------


def test_webhooks_are_added_changed_and_removed() -> None:
    with RunningServer(settings=PRIVATE) as server, httpx.Client(base_url=server.url) as http:
        url = "http://127.0.0.1:9/hook"
        sent = {"url": url, "secret": SECRET, "kinds": ["drift", "rolled back"]}
        added = http.post("/v1/webhooks", json=sent).json()
        assert added["secret"] is None, "it is the caller's own"
        path = f"/v1/webhooks/{added['id']}"
        shown = {name: value for name, value in added.items() if name != "secret"}
        assert http.get(path).json() == shown
        assert (shown["kinds"], shown["studies"]) == (["drift", "rolled back"], None)
        changed = http.patch(path, json={"kinds": None, "studies": ["a"]}).json()
        assert changed == shown | {"kinds": None, "studies": ["a"]}
        assert server.store.webhooks()[0].secret == SECRET
        tested = http.post(f"{path}/test")
        assert tested.status_code == 202
        assert tested.json()["event"]["kind"] == "webhook tested"
        assert http.get(f"{path}/deliveries?limit=1").json()["next"] == tested.json()["id"]
        again = http.post(f"{path}/deliveries/{tested.json()['id']}/again")
        assert again.status_code == 202
        assert again.json()["event"] == tested.json()["event"]
        assert again.json()["id"] > tested.json()["id"]
        for missing in ("999999", "-1", "nine", "9" * 30):
            answer = http.post(f"{path}/deliveries/{missing}/again")
            assert code_of(answer, 404) == "not_found"
        for wrong in (
            {"url": url, "secret": "short"},
            {"url": url, "kinds": []},
            {"secret": SECRET},
        ):
            assert code_of(http.post("/v1/webhooks", json=wrong), 422) == "invalid_request"
        assert http.delete(path).status_code == 204
        for call in (http.get, http.delete):
            assert code_of(call(path), 404) == "not_found"
        assert code_of(http.post(f"{path}/test"), 404) == "not_found"
        events = http.get("/v1/events?kind=webhook added,webhook removed").json()["events"]
        assert [event["text"] for event in events] == [
            f"the webhook {added['id']} to 127.0.0.1 was added",
            f"the webhook {added['id']} to 127.0.0.1 was removed",
        ]


def test_there_are_at_most_a_hundred() -> None:
    with RunningServer(settings=PRIVATE) as server, httpx.Client(base_url=server.url) as http:
        for _ in range(100):
            hook(server.store, "http://127.0.0.1:9/", kinds=["never"])
        answer = http.post("/v1/webhooks", json={"url": "http://127.0.0.1:9/"})
        assert code_of(answer, 422) == "invalid_setting"


def test_only_an_admin_of_all_studies_may() -> None:
    keys: dict[str, tuple[str, tuple[str, ...] | None]] = {
        "admin": ("admin", None),
        "limited": ("admin", ("x",)),
        "writer": ("writer", None),
    }
    with RunningServer(keys=keys) as server, httpx.Client(base_url=server.url) as http:
        for name, status in (("admin", 200), ("limited", 403), ("writer", 403)):
            headers = {"Authorization": f"Bearer {server.keys[name]}"}
            for path in ("/v1/webhooks", "/v1/events"):
                assert http.get(path, headers=headers).status_code == status
            if status == 403:
                body = {"url": "https://93.184.216.34/"}
                assert http.post("/v1/webhooks", headers=headers, json=body).status_code == 403
        headers = {"Authorization": f"Bearer {server.keys['admin']}"}
        events = http.get("/v1/events", headers=headers)
        assert [event["kind"] for event in events.json()["events"]] == ["key made"] * 3
        assert all(key.split("_")[2] not in events.text for key in server.keys.values())


# --- what the receiver checks ---------------------------------------------------------------------


def test_a_signature_holds_for_this_body_this_secret_and_this_time() -> None:
    body = b'{"id": 1}'
    signed = webhooks.sign(SECRET, body, 1000.9)
    assert webhooks.verify(SECRET, body, signed, now=1300.0) == {"id": 1}
    assert webhooks.verify(SECRET, body, f"{signed},v1=00", now=700.0) == {"id": 1}
    for wrong, now in [(signed, 1301.0), (signed, 699.0), (None, 1000.0), ("t=1000", 1000.0),
                       (f"t=1001{signed[6:]}", 1000.0), ("v1=00", 1000.0), ("t=x,v1=00", 1000.0),
                       (signed[:-1] + "\udc80", 1000.0)]:  # fmt: skip
        with pytest.raises(Unauthorized):
            webhooks.verify(SECRET, body, wrong, now=now)
    with pytest.raises(Unauthorized):
        webhooks.verify(SECRET, body + b" ", signed, now=1000.0)
