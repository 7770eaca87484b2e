"""What happened to a study, over HTTP, and what the service says and counts of a change."""

from __future__ import annotations

import io
import json

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.server.calls import OTHER_SPACE, Api, change_world, code_of, watching
from tests.server.running import RunningServer


def test_changes_by_hand_are_told_in_order(api: Api) -> None:
    api.http.post(f"{api.path}/arms", json={"config": {"model": "large", "x": 0.5}})
    api.http.patch(f"{api.path}/arms/1", json={"state": "paused"})
    api.http.patch(api.path, json={"space": OTHER_SPACE})
    events = api.read("/events")["events"]
    fields = {"id", "study", "kind", "at", "data", "text"}
    assert [set(event) for event in events] == [fields] * 4
    assert {event["study"] for event in events} == {api.study}
    assert [(event["kind"], event["text"]) for event in events] == [
        ("created", "the study was created"),
        ("arm", "arm 1 was added by hand"),
        ("state", "arm 1 was paused"),
        (
            "space",
            "the space changed: parameter 'model' is removed; parameter 'x': its range 0.0 to 1.0 "
            "becomes 0.0 to 2.0",
        ),
    ]
    assert events[0]["at"] == api.read()["created_at"]
    assert events[2]["data"] == {"arm": 1, "state": "paused"}
    assert api.read("/events", limit=2)["events"] == events[-2:]
    assert api.read("/events", limit=0)["events"] == []


@pytest.mark.parametrize(
    "query", ["limit=-1", "limit=10001", "limit=x", "after=-1", "after=1&before=2"]
)
def test_a_wrong_query_is_refused(api: Api, query: str) -> None:
    assert code_of(api.http.get(f"{api.path}/events?{query}"), 422) == "invalid_request"


def test_a_list_is_read_in_pages_from_either_end(api: Api) -> None:
    api.http.post(f"{api.path}/arms", json={"config": {"model": "large", "x": 0.5}})
    for state in ("paused", "active", "paused"):
        api.http.patch(f"{api.path}/arms/1", json={"state": state})
    whole = api.read("/events")
    events = whole["events"]
    assert (len(events), whole["next"]) == (5, None)
    page = api.read("/events", limit=2)
    assert (page["events"], page["next"]) == (events[3:], events[3]["id"])
    assert api.read("/events", limit=3, before=page["next"])["events"] == events[:3]
    page = api.read("/events", limit=2, after=0)
    assert (page["events"], page["next"]) == (events[:2], events[1]["id"])
    assert api.read("/events", after=page["next"])["events"] == events[2:]
    assert api.read("/events", after=events[-1]["id"]) == {"events": [], "next": None}
    found = api.read("/events", kind="arm,created")["events"]
    assert [event["kind"] for event in found] == ["created", "arm"]


def test_the_service_lists_what_happened_to_all_studies_and_to_itself() -> None:
    with RunningServer(keys={"k": ("admin", None)}) as server:
        headers = {"Authorization": f"Bearer {server.keys['k']}"}
        with httpx.Client(base_url=server.url, headers=headers) as http:
            for name in ("a", "b"):
                Api(http, name)
            http.delete("/v1/studies/a")
            log = http.get("/v1/studies/b/export").content
            lines = {"Content-Type": "application/x-ndjson"}
            http.post("/v1/imports?name=c", content=log, headers=lines)
            events = http.get("/v1/events").json()["events"]
            study = http.get("/v1/studies/c/events").json()["events"]
    assert [(event["study"], event["text"]) for event in events] == [
        (None, "the admin key 'k' was made"),
        ("b", "the study was created"),
        ("a", "the study was deleted"),
        ("c", "the study was created"),
        ("c", "the study was made from a log"),
    ]
    assert [event["kind"] for event in study] == ["created"]


def test_there_are_no_events_of_a_study_that_there_is_not(http: httpx.Client) -> None:
    assert code_of(http.get("/v1/studies/missing/events"), 404) == "unknown_study"


def test_a_reader_may_look_and_nobody_without_a_key() -> None:
    keys: dict[str, tuple[str, tuple[str, ...] | None]] = {
        "admin": ("admin", None),
        "reader": ("reader", None),
        "limited": ("reader", ("x",)),
    }
    with RunningServer(keys=keys) as server, httpx.Client(base_url=server.url) as http:
        path = "/v1/studies/watched/events"

        def get(name: str) -> httpx.Response:
            return http.get(path, headers={"Authorization": f"Bearer {server.keys[name]}"})

        http.headers["Authorization"] = f"Bearer {server.keys['admin']}"
        watching(http, "watched")
        assert get("reader").status_code == 200
        assert get("limited").status_code in (403, 404)
        del http.headers["Authorization"]
        assert code_of(http.get(path), 401) == "unauthorized"


def test_a_change_is_told_counted_and_logged(json_logs: io.StringIO) -> None:
    with RunningServer() as server, httpx.Client(base_url=server.url) as http:
        api, calm = watching(http, "watched"), watching(http, "calm")
        (pull,) = calm.ask()
        calm.tell(pull["id"], 0.5)
        assert calm.read("/best")["since"] is None
        assert calm.read("/overview")["best"]["since"] is None
        change_world(api)
        *_, event = api.read("/events")["events"]
        assert event["kind"] == "drift"
        assert " fell from " in event["text"]
        assert 0 <= event["data"]["after"] < event["data"]["before"] <= 1
        best = api.read("/best")
        assert best["since"] == event["at"]
        shown = api.read("/overview")["best"]
        assert {**shown, "since": None} == {
            name: value
            for name, value in best.items()
            if name not in ("level", "shares", "is_within", "mix_mean")
        } | {"since": None, "label": shown["label"], "mix": None}
        assert shown["since"] > api.read("/overview")["created_at"]
        counts = {
            sample.labels["study"]: sample.value
            for family in text_string_to_metric_families(http.get("/metrics").text)
            for sample in family.samples
            if sample.name == "imabo_drifts_total"
        }
        assert counts == {"watched": 1, "calm": 0}
    lines = [json.loads(line) for line in json_logs.getvalue().splitlines()]
    (line,) = [line for line in lines if line["level"] == "warning"]
    assert line["message"] == f"study 'watched': {event['text']}"
    assert (line["study"], line["kind"]) == ("watched", "drift")
    assert {name: line[name] for name in event["data"]} == event["data"]
