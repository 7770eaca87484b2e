"""Arms over HTTP."""

from __future__ import annotations

import pytest

from tests.server.calls import Api, code_of

CONFIG = {"model": "large", "x": 0.5}


def test_arms_are_listed_with_what_is_known_of_them(api: Api) -> None:
    (pull,) = api.ask()
    api.tell(pull["id"], 0.75)
    (arm,) = api.read("/arms")["arms"]
    assert arm == {
        "id": 1,
        "config": pull["config"],
        "origin": "warmup",
        "state": "active",
        "n_pulls": 1,
        "n_rewards": 1,
        "n_pending": 0,
        "mean": 0.75,
        "parent": None,
        "admitted_at": pull["served_at"],
    }


def test_a_configuration_is_admitted_by_hand_once(api: Api) -> None:
    first = api.http.post(f"{api.path}/arms", json={"config": CONFIG})
    again = api.http.post(f"{api.path}/arms", json={"config": CONFIG})
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert (first.json()["origin"], first.json()["config"]) == ("manual", CONFIG)


def test_many_configurations_are_admitted_together(api: Api) -> None:
    configs = [{"model": "large", "x": n / 100} for n in range(100)]
    done = api.http.post(f"{api.path}/arms/batch", json={"configs": [*configs, CONFIG]})
    assert done.status_code == 200
    arms = done.json()["arms"]
    assert [arm["config"] for arm in arms] == [*configs, CONFIG]
    assert [arm["id"] for arm in arms] == [*range(1, 101), 51]
    assert api.read("/arms")["arms"] == arms[:-1]
    again = api.http.post(f"{api.path}/arms/batch", json={"configs": [*configs, CONFIG]})
    assert again.json() == done.json()
    assert api.http.post(f"{api.path}/arms/batch", json={"configs": []}).json() == {"arms": []}
    (event,) = api.read("/events")["events"][1:]
    assert (event["kind"], event["text"]) == ("arms", "arms 1 to 100 were added by hand")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"configs": [CONFIG, {"model": "large", "x": 7}]}, "invalid_config"),
        ({"configs": [CONFIG, []]}, "invalid_request"),
        ({"configs": CONFIG}, "invalid_request"),
        ({"config": CONFIG}, "invalid_request"),
        ({"configs": [CONFIG] * 10_001}, "invalid_request"),
    ],
    ids=["one is wrong", "one is no object", "no list", "one", "too many"],
)
def test_one_wrong_configuration_refuses_all(api: Api, body: object, code: str) -> None:
    assert code_of(api.http.post(f"{api.path}/arms/batch", json=body), 422) == code
    assert api.read("/arms")["arms"] == []


def test_an_arm_is_paused_resumed_and_retired(api: Api) -> None:
    api.http.post(f"{api.path}/arms", json={"config": CONFIG})
    for state in ("paused", "active", "retired"):
        changed = api.http.patch(f"{api.path}/arms/1", json={"state": state})
        assert (changed.status_code, changed.json()["state"]) == (200, state)
    back = api.http.patch(f"{api.path}/arms/1", json={"state": "active"})
    assert code_of(back, 422) == "invalid_setting"


@pytest.mark.parametrize("arm", ["99", "0", "x", "-1", "1.0", "9" * 30, "%C2%B2"])
def test_an_arm_that_is_not_there_is_unknown(api: Api, arm: str) -> None:
    answer = api.http.patch(f"{api.path}/arms/{arm}", json={"state": "paused"})
    assert code_of(answer, 404) == "unknown_arm"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"config": {"model": "large"}}, "invalid_config"),
        ({"config": {"model": "large", "x": 7}}, "invalid_config"),
        ({"config": {"model": ["large"], "x": 0.5}}, "invalid_request"),
        ({"config": []}, "invalid_request"),
        ({}, "invalid_request"),
    ],
)
def test_a_configuration_that_the_space_forbids_is_refused(
    api: Api, body: object, code: str
) -> None:
    assert code_of(api.http.post(f"{api.path}/arms", json=body), 422) == code
    assert api.read("/arms")["arms"] == []


def test_a_state_that_there_is_not_is_refused(api: Api) -> None:
    answer = api.http.patch(f"{api.path}/arms/1", json={"state": "asleep"})
    assert code_of(answer, 422) == "invalid_request"
