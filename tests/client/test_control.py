"""The control over HTTP: both clients, and the routes beneath them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from imabo import Choice, Control, Guardrail, Space, Study, oracles, policies
from imabo.errors import InvalidConfig, InvalidSetting, NoControl
from tests.client.conftest import MakeClient
from tests.server.running import RunningServer

SPACE = Space(model=Choice("small", "middle", "large"))
TODAY = Control({"model": "small"}, share=0.25)
SETTINGS: dict[str, Any] = {"policy": policies.IMOSS(warmup=2), "oracle": oracles.Random()}


@pytest.fixture
def client(make_client: MakeClient, server: RunningServer) -> Iterator[Any]:
    made = make_client(server.url)
    yield made
    for name in made.studies():
        made.delete(name)


def test_a_study_is_created_with_a_control(client: Any, server: RunningServer) -> None:
    study = client.create(
        "compared", SPACE, control=TODAY, exposure=0.5, guardrail=Guardrail(margin=0.1), **SETTINGS
    )
    facts = study.facts()
    assert facts.state == "tuning"
    rollout = {**facts.rollout}
    assert rollout.pop("since") == rollout.pop("changed_at") == facts.document["created_at"]
    assert rollout == {
        "control": {"config": {"model": "small"}, "share": 0.25},
        "arm": 1,
        "exposure": 0.5,
        "guardrail": {"margin": 0.1, "level": 0.975},
        "state": "tuning",
        "reason": None,
    }
    answer = httpx.get(f"{server.url}/v1/studies/compared/control").json()
    assert answer == facts.document["rollout"]
    pulls = study.ask(80)
    assert {(pull.group, pull.propensity) for pull in pulls} == {
        ("control", 0.625),
        ("tuned", 0.375),
    }
    assert study.pull(pulls[0].id) == pulls[0]


def test_the_lift_is_the_study_s_own(client: Any, server: RunningServer) -> None:
    study = client.create("lifted", SPACE, control=TODAY, **SETTINGS)
    for pull in study.ask(300):
        study.tell(pull.id, 0.9 if pull.config["model"] == "large" else 0.4)
    lift = study.lift(level=0.9, last=100)
    here = Study.open("lifted", store=server.store)
    assert lift == here.lift(level=0.9, last=100)
    assert str(lift) == str(here.lift(level=0.9, last=100))
    assert lift.n_tuned + lift.n_control == 300


def test_the_kill_switch_and_the_way_on(client: Any) -> None:
    study = client.create("switched", SPACE, **SETTINGS)
    with pytest.raises(NoControl):
        study.lift()
    with pytest.raises(NoControl, match="nothing to roll back to"):
        study.roll_back()
    with pytest.raises(InvalidConfig):
        study.roll_back({"model": "huge"})
    study.roll_back({"model": "middle"}, reason="the phone rang")
    facts = study.facts()
    assert (facts.state, facts.rollout["reason"]) == ("rolled back", "the phone rang")
    assert {(pull.config["model"], pull.group) for pull in study.ask(20)} == {("middle", "control")}
    assert study.resume() is None
    facts = study.facts()
    assert (facts.state, facts.rollout["control"]) == ("tuning", None)
    study.update_control(Control({"model": "middle"}), exposure=0.0)
    assert {pull.group for pull in study.ask(20)} == {"control"}
    study.update_control(None)
    assert {pull.group for pull in study.ask(5)} == {None}
    kinds = [event.kind for event in study.events()]
    assert kinds == ["created", "rolled back", "resumed", "control", "control"]
    with pytest.raises(InvalidSetting, match="without a control"):
        study.update_control(exposure=0.5)


def test_a_declaration_that_is_silent_leaves_the_control_alone(
    client: Any, server: RunningServer
) -> None:
    study = client.create("again", SPACE, **SETTINGS)
    study.update_control(TODAY)
    body = {"name": "again", "space": SPACE.to_dict(), "control": None, "if_changed": "update"}
    parts = {name: study.facts().document[name] for name in ("policy", "oracle")}
    answer = httpx.post(f"{server.url}/v1/studies", json=body | parts)
    assert (answer.status_code, answer.json()["outcome"]) == (200, "same"), answer.text
    assert study.facts().rollout["control"]["share"] == 0.25


def test_a_share_that_is_left_out_stays(client: Any, server: RunningServer) -> None:
    client.create("shared", SPACE, control=TODAY, **SETTINGS)
    url = f"{server.url}/v1/studies/shared/control"
    changed = httpx.put(url, json={"control": {"config": {"model": "large"}}}).json()
    assert changed["control"] == {"config": {"model": "large"}, "share": 0.25}
    httpx.put(url, json={"control": None})
    fresh = httpx.put(url, json={"control": {"config": {"model": "large"}}}).json()
    assert fresh["control"]["share"] == 0.05


def test_a_roll_back_needs_no_body(client: Any, server: RunningServer) -> None:
    client.create("bare", SPACE, control=TODAY, **SETTINGS)
    answer = httpx.post(f"{server.url}/v1/studies/bare/roll-back")
    assert (answer.status_code, answer.json()["state"]) == (200, "rolled back")
    client.create("without", SPACE, **SETTINGS)
    answer = httpx.post(f"{server.url}/v1/studies/without/roll-back")
    assert (answer.status_code, answer.json()["code"]) == (409, "no_control")


@pytest.mark.parametrize(
    "body",
    [
        {"control": {"config": {"model": "small"}, "share": 2.0}},
        {"control": {"share": 0.1}},
        {"control": None, "exposure": 7},
        {"guardrail": {"margin": -1}},
        {"unknown": 1},
    ],
)
def test_bodies_that_make_no_sense_are_refused(
    client: Any, server: RunningServer, body: dict[str, Any]
) -> None:
    client.create("refusing", SPACE, **SETTINGS)
    answer = httpx.put(f"{server.url}/v1/studies/refusing/control", json=body)
    assert answer.status_code == 422, answer.text
    assert httpx.get(f"{server.url}/v1/studies/refusing/control").json()["control"] is None
