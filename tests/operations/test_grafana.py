"""The Grafana dashboard asks for metrics and labels that a running server has: for all of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.operations.promql import parsed
from tests.server.calls import Api
from tests.server.running import RunningServer

PATH = Path(__file__).parents[2] / "deploy" / "grafana" / "imabo.json"
DASHBOARD: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES = [
    (f"{panel['title']} {target['refId']}", target["expr"], target["legendFormat"])
    for panel in PANELS
    for target in panel["targets"]
]
Labels = dict[str, set[str]]


@pytest.fixture(scope="module")
def served() -> Labels:
    """Every series of a real server after some traffic, with the names of its labels."""
    with RunningServer() as server, httpx.Client(base_url=server.url) as http:
        today = {"config": {"model": "small", "x": 0.5}, "share": 0.5}
        api = Api(http, "busy", control=today)
        rewards = [{"pull": pull["id"], "reward": 0.5} for pull in api.ask(count=500)]
        http.post("/v1/rewards", json={"rewards": rewards}).raise_for_status()
        http.get("/v1/studies/missing")
        text = http.get("/metrics").text
    found: Labels = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
        if not family.samples:  # nothing of it has happened yet; studies have no full queue
            name = f"{family.name}_total" if family.type == "counter" else family.name
            found[name] = {"study"}
    return found


@pytest.mark.parametrize(("name", "expression", "legend"), QUERIES, ids=[q[0] for q in QUERIES])
def test_a_query_names_what_the_server_has(
    served: Labels, name: str, expression: str, legend: str
) -> None:
    named = parsed(expression)
    assert named.metrics, name
    for metric in named.metrics:
        assert metric in served
        wanted = named.labels - ({"le"} if not metric.endswith("_bucket") else set())
        assert wanted <= served[metric], f"{metric} has no labels {wanted - served[metric]}"
    assert set(re.findall(r"{{(\w+)}}", legend)) == named.groups - {"le"}


def test_every_metric_of_a_server_has_its_place(served: Labels) -> None:
    asked = {metric for _, expression, _ in QUERIES for metric in parsed(expression).metrics}
    parts = re.compile(r"_(bucket|sum|count)$")
    histograms = {parts.sub("", name) for name in served if name.endswith("_bucket")}
    families = {
        parts.sub("", name) if parts.sub("", name) in histograms else name
        for name in served
        if name.startswith("imabo_") and not name.endswith("_created")
    }
    shown = {parts.sub("", name) if parts.sub("", name) in histograms else name for name in asked}
    assert families - shown == set()


def test_the_variables_are_asked_of_metrics_that_there_are(served: Labels) -> None:
    variables = {one["name"]: one for one in DASHBOARD["templating"]["list"]}
    assert set(variables) == {"datasource", "study"}
    metric, label = parsed(variables["study"]["query"]).metrics
    assert label in served[metric]
    used = set(re.findall(r"\$\{?(\w+)", PATH.read_text(encoding="utf-8")))
    assert used - {"__rate_interval", "__all"} == set(variables)


def test_panels_are_named_explained_and_beside_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert place["x"] + place["w"] <= 24
        taken |= cells
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    assert all(len(panel["description"]) > 10 for panel in PANELS)
    assert all(len({t["refId"] for t in p["targets"]}) == len(p["targets"]) for p in PANELS)


@pytest.mark.parametrize(
    "wrong",
    [
        "sum(imabo_pulls",
        "sum by (study) imabo_pulls)",
        "smooth(imabo_pulls)",
        'x{study="a}',
        "a{b}",
    ],
)
def test_an_expression_that_is_wrong_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"^.+ (lacks|has|calls|cannot be read|says nothing)"):
        parsed(wrong)
