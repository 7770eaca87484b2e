"""Webhooks over HTTP: who may add, change and list them; and what a receiver checks."""

from __future__ import annotations

from dataclasses import replace

import httpx
import pytest

from imabo import webhooks
from imabo.errors import Unauthorized
from tests.server.calls import code_of
from tests.server.running import RunningServer
from tests.server.webhooking import PRIVATE, SECRET, hook


def test_a_kind_that_there_is_not_is_refused() -> None:
    with RunningServer(settings=PRIVATE) as server, httpx.Client(base_url=server.url) as http:
        sent = {"url": "http://127.0.0.1:9/hook", "kinds": ["drft"]}
        refused = http.post("/v1/webhooks", json=sent)
        assert code_of(refused, 422) == "invalid_setting"
        assert refused.json()["fix"] == "write 'drift'"
        assert server.store.webhooks() == []
        # What it has already stays possible, be it of another version.
        hook(server.store, "http://127.0.0.1:9/hook", kinds=["drift"])
        known = replace(server.store.webhooks()[0], kinds=("of tomorrow",))
        server.store.put_webhook(known, at=1.0)
        path = f"/v1/webhooks/{known.id}"
        kept = http.patch(path, json={"kinds": ["of tomorrow", "drift"]}).json()
        assert kept["kinds"] == ["of tomorrow", "drift"]
        assert code_of(http.patch(path, json={"kinds": ["drft"]}), 422) == "invalid_setting"
        assert code_of(http.get("/v1/events?kind=drift,drft"), 422) == "invalid_setting"


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
            hook(server.store, "http://127.0.0.1:9/", kinds=["drift"])
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
        assert all(key.split("_", 2)[2] not in events.text for key in server.keys.values())


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
