"""The metrics page, and logs."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from imabo.server import logs
from imabo.server.commits import Commits
from imabo.server.metrics import SECONDS, Metrics
from imabo.server.registry import Registry
from imabo.stores import MemoryStore
from tests.server.calls import Api
from tests.server.running import RunningServer

Values = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def values(text: str) -> Values:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.fixture
def page() -> Iterator[tuple[RunningServer, httpx.Client]]:
    with RunningServer() as server, httpx.Client(base_url=server.url) as http:
        yield server, http


def test_the_page_counts_what_happened(page: tuple[RunningServer, httpx.Client]) -> None:
    _, http = page
    api = Api(http, 'a "b"\n', window_s=3600.0)
    pulls = api.ask(count=5)
    api.tell(pulls[0]["id"], 0.5)
    body = {"rewards": [{"pull": pull["id"], "reward": 0.5} for pull in pulls[1:3]]}
    http.post("/v1/rewards", json=body)
    api.tell("x-1", 0.5)
    http.get("/v1/studies/secret-name")
    answer = http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = values(answer.text)
    study = (("study", 'a "b"\n'),)
    assert found["imabo_asks_total", ()] == 5
    assert found["imabo_rewards_total", ()] == 3
    assert found["imabo_errors_total", (("code", "unknown_pull"),)] == 1
    assert found["imabo_errors_total", (("code", "unknown_study"),)] == 1
    assert found["imabo_pulls", study] == 5
    assert found["imabo_pending", study] == 2
    assert found["imabo_expired", study] == 0
    assert found["imabo_arms", study] == len(api.read("/arms")["arms"])
    assert 0 <= found["imabo_view_age_seconds", study] < 60
    assert found["imabo_proposals_ready", study] == 0
    assert found["imabo_queue_length", ()] == 0
    assert found["imabo_commit_requests_count", ()] == 3
    asks = (("method", "POST"), ("route", "/v1/studies/{study}/pulls"), ("status", "2xx"))
    assert found["imabo_request_seconds_count", asks] == 1
    assert found["imabo_request_seconds_sum", asks] > 0
    assert "secret-name" not in answer.text


def test_no_path_and_no_method_makes_a_series_of_its_own(
    page: tuple[RunningServer, httpx.Client],
) -> None:
    _, http = page
    for method in ("OPTIONS", "TRACE", "HEAD"):
        http.get(f"/{method}")
        http.request(method, "/v1/studies")
    text = http.get("/metrics").text
    lines = [line for line in text.splitlines() if line.startswith("imabo_request_seconds_count")]
    assert len(lines) == 2
    assert all('route="other"' in line for line in lines)


def test_several_processes_add_up_their_counts(tmp_path: Path) -> None:
    def one() -> Metrics:
        registry = Registry(MemoryStore())
        return Metrics(registry, Commits(registry), tmp_path)

    mine, theirs = one(), one()
    theirs.n_asks, mine.n_asks = 3, 4
    for metrics in (mine, theirs):
        metrics.requests["/r", "GET", 2] = [0.0, 1.0, *[0.0] * (len(SECONDS) - 1), 0.002]
        metrics.errors["forbidden"] = 1
    theirs.leave()
    (left,) = tmp_path.glob("*.json")
    left.rename(tmp_path / "another.json")  # as if another process had left it
    (tmp_path / "torn.json").write_text('{"asks": ')
    found = values(mine.text(None).decode())
    assert found["imabo_asks_total", ()] == 7
    assert found["imabo_errors_total", (("code", "forbidden"),)] == 2
    label = (("le", "0.0025"), ("method", "GET"), ("route", "/r"), ("status", "2xx"))
    assert found["imabo_request_seconds_bucket", label] == 2


def test_a_json_log_has_a_line_a_request_and_no_secrets(json_logs: io.StringIO) -> None:
    with RunningServer(keys={"k": ("admin", None)}) as server:
        headers = {"Authorization": f"Bearer {server.keys['k']}", "X-Request-ID": "r-1"}
        with httpx.Client(base_url=server.url, headers=headers) as http:
            Api(http, "private").ask(context={"mail": "someone"}, key="private-key")
    text = json_logs.getvalue()
    lines = [json.loads(line) for line in text.splitlines()]
    asks = [line for line in lines if line.get("route") == "/v1/studies/{study}/pulls"]
    assert len(asks) == 1
    assert asks[0].items() >= {
        "message": "request",
        "method": "POST",
        "status": 201,
        "request_id": "r-1",
    }.items()  # fmt: skip
    assert 0 < asks[0]["duration_s"] < 60
    for secret in ("someone", "private", server.keys["k"], server.keys["k"].split("_", 2)[2]):
        assert secret not in text


def test_a_json_log_tells_of_a_fault_with_its_trace(json_logs: io.StringIO) -> None:
    try:
        raise RuntimeError("inside")
    except RuntimeError as error:
        logs.log.error("it failed", exc_info=error)
    (line,) = map(json.loads, json_logs.getvalue().splitlines())
    assert (line["level"], line["message"]) == ("error", "it failed")
    assert "RuntimeError: inside" in line["error"]
