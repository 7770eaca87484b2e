"""Asks, rewards and history over HTTP."""

from __future__ import annotations

import httpx
import pytest

from imabo import Study
from tests.server.calls import SPACE, Api, code_of
from tests.server.running import RunningServer


def test_an_ask_needs_no_body_and_says_all_about_its_pull(api: Api) -> None:
    answer = api.http.post(f"{api.path}/pulls")
    assert answer.status_code == 201
    (pull,) = answer.json()["pulls"]
    assert list(pull) == [
        "id",
        "study",
        "arm",
        "config",
        "reason",
        "served_at",
        "state",
        "reward",
        "rewarded_at",
        "context",
        "key",
        "part",
        "group",
        "propensity",
        "signals",
    ]
    assert (pull["state"], pull["reward"], pull["arm"]) == ("pending", None, 1)
    assert pull["served_at"].endswith("Z")
    assert len(pull["served_at"]) == len("2026-11-15T12:00:00.000000Z")
    assert api.http.get(f"/v1/pulls/{pull['id']}").json() == pull


def test_many_are_asked_for_at_once(api: Api) -> None:
    pulls = api.ask(count=1000)
    numbers = [int(pull["id"].rpartition("-")[2]) for pull in pulls]
    assert numbers == list(range(1, 1001))


def test_a_retried_ask_with_its_key_gets_the_same_pulls(api: Api) -> None:
    body = {"count": 2, "key": "r1", "context": {"user": [1, None, "ü"]}}
    first = api.http.post(f"{api.path}/pulls", json=body)
    again = api.http.post(f"{api.path}/pulls", json=body)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert first.json()["pulls"][0]["context"] == {"user": [1, None, "ü"]}
    conflict = api.http.post(f"{api.path}/pulls", json={"count": 3, "key": "r1"})
    assert code_of(conflict, 409) == "key_conflict"
    assert api.read()["n_pulls"] == 2


def test_a_reward_counts_once_and_another_value_is_a_conflict(api: Api) -> None:
    (pull,) = api.ask()
    assert [api.tell(pull["id"], 0.5).status_code for _ in range(2)] == [204, 204]
    assert code_of(api.tell(pull["id"], 0.6), 409) == "reward_conflict"
    assert code_of(api.tell(pull["id"], 7), 422) == "invalid_reward"
    study = api.read()
    assert (study["n_rewards"], study["n_pending"]) == (1, 0)
    now = api.http.get(f"/v1/pulls/{pull['id']}").json()
    assert (now["state"], now["reward"]) == ("rewarded", 0.5)
    assert now["rewarded_at"] >= now["served_at"]


@pytest.mark.parametrize("end", ["999", "0", "01", "x", "", "1x", "-1", "9" * 19, "%C3%BC"])
def test_an_id_that_was_never_handed_out_is_unknown(api: Api, end: str) -> None:
    (pull,) = api.ask()
    token = pull["id"].rpartition("-")[0]
    assert code_of(api.tell(f"{token}-{end}", 0.5), 404) == "unknown_pull"
    assert code_of(api.http.get(f"/v1/pulls/{token}-{end}"), 404) == "unknown_pull"
    assert code_of(api.tell("nonsense-1", 0.5), 404) == "unknown_pull"
    assert api.read()["n_rewards"] == 0


def test_rewards_come_in_batches_over_several_studies_with_a_result_each(api: Api) -> None:
    other = Api(api.http, f"{api.study} (other)")
    (mine, told), (theirs,) = api.ask(count=2), other.ask()
    api.tell(told["id"], 1.0)
    rewards = [(mine["id"], 0.25), ("x-1", 0.5), (theirs["id"], 0.75), (told["id"], 0.0)]
    rewards += [(mine["id"], 0.25), (mine["id"], 9)]
    body = {"rewards": [{"pull": pull, "reward": reward} for pull, reward in rewards]}
    answer = api.http.post("/v1/rewards", json=body)
    results = answer.json()["results"]
    assert [result["pull"] for result in results] == [pull for pull, _ in rewards]
    codes = [result.get("problem", {}).get("code", result["status"]) for result in results]
    assert codes == [
        "recorded",
        "unknown_pull",
        "recorded",
        "reward_conflict",
        "recorded",
        "invalid_reward",
    ]
    assert (api.read()["n_rewards"], other.read()["n_rewards"]) == (2, 1)


@pytest.mark.parametrize(
    "rewards", [[], [{"pull": "a-1", "reward": 1}] * 1001, [{"pull": "a-1"}], {}, None]
)
def test_a_batch_of_the_wrong_size_or_form_is_refused(http: httpx.Client, rewards: object) -> None:
    answer = http.post("/v1/rewards", json={"rewards": rewards})
    assert code_of(answer, 422) == "invalid_request"


def test_the_history_is_read_page_by_page(api: Api) -> None:
    pulls = api.ask(count=5)
    first = api.read("/pulls", limit=3)
    second = api.read("/pulls", limit=3, after=first["next"])
    assert first["pulls"] + second["pulls"] == pulls
    assert (first["next"], second["next"]) == (3, None)
    assert len(api.read("/pulls")["pulls"]) == 5


def test_nothing_to_serve_is_a_conflict(http: httpx.Client) -> None:
    space = {"parameters": [{"name": "x", "type": "choice", "values": [1]}]}
    api = Api(http, "one-arm", space=space)
    (pull,) = api.ask(key="k")
    http.patch(f"{api.path}/arms/{pull['arm']}", json={"state": "paused"})
    assert code_of(http.post(f"{api.path}/pulls"), 409) == "nothing_to_serve"
    assert api.ask(key="k") == [pull]


@pytest.mark.parametrize(
    "body",
    [
        {"count": 0},
        {"count": 1001},
        {"count": "1"},
        {"count": True},
        {"key": ""},
        {"key": "x" * 201},
        {"key": 7},
        {"key": "a\0"},
        {"nonsense": 1},
        [],
        "x",
        7,
    ],
)
def test_an_ask_that_makes_no_sense_is_refused(api: Api, body: object) -> None:
    answer = api.http.post(f"{api.path}/pulls", json=body)
    assert code_of(answer, 422) == "invalid_request"
    assert api.read()["n_pulls"] == 0


def test_a_context_that_is_too_long_is_refused(api: Api) -> None:
    answer = api.http.post(f"{api.path}/pulls", json={"context": "x" * 16_385})
    assert code_of(answer, 422) == "invalid_setting"
    assert api.read()["n_pulls"] == 0


@pytest.mark.parametrize("reward", ["0.5", None, [], 10**400])
def test_a_reward_that_is_no_number_is_refused(api: Api, reward: object) -> None:
    (pull,) = api.ask()
    assert code_of(api.tell(pull["id"], reward), 422) in ("invalid_request", "invalid_reward")
    assert api.read()["n_rewards"] == 0


def test_a_reward_may_be_true_or_false(api: Api) -> None:
    first, second, third = api.ask(count=3)
    assert api.tell(first["id"], True).status_code == 204
    rewards = [{"pull": second["id"], "reward": False}, {"pull": third["id"], "reward": True}]
    api.http.post("/v1/rewards", json={"rewards": rewards}).raise_for_status()
    pulls = api.http.get(f"{api.path}/pulls").json()["pulls"]
    assert [pull["reward"] for pull in pulls] == [1.0, 0.0, 1.0]


def test_a_reward_too_large_to_work_with_is_refused_and_asks_go_on(
    http: httpx.Client,
) -> None:
    api = Api(http, "open-ends", reward_range=None)
    first, second = api.ask(count=2)
    refused = api.tell(first["id"], 1e155)
    assert code_of(refused, 422) == "invalid_reward"
    assert "1e+60" in refused.json()["why"]
    rewards = [{"pull": first["id"], "reward": -1e61}, {"pull": second["id"], "reward": -1e60}]
    results = api.http.post("/v1/rewards", json={"rewards": rewards}).json()["results"]
    assert [result["status"] for result in results] == ["refused", "recorded"]
    assert len(api.ask(count=10)) == 10
    assert api.read("/best")["mean"] == -1e60


def test_the_study_in_the_store_is_the_study_of_the_api(api: Api, server: RunningServer) -> None:
    pulls = api.ask(count=4)
    with Study.open(api.study, store=server.store) as study:
        assert study.space.to_dict()["parameters"][0]["name"] == SPACE["parameters"][0]["name"]
        study.tell(pulls[0]["id"], 0.5)
        assert study.ask().id.endswith("-5")
    assert api.ask()[0]["id"].endswith("-6")
    assert api.read()["n_rewards"] == 1
