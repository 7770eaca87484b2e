"""Pulls by the caller's own keys over HTTP."""

from __future__ import annotations

from urllib.parse import quote

import httpx

from tests.server.calls import Api, code_of


def tell(api: Api, key: str, **body: object) -> httpx.Response:
    return api.http.put(f"{api.path}/keys/{quote(key, safe='')}/reward", json=body)


def test_a_reward_is_told_by_the_key_of_its_ask(api: Api) -> None:
    key = "a/b c?#%ü"
    (pull,) = api.ask(key=key)
    assert (pull["key"], pull["part"]) == (key, 0)
    assert [tell(api, key, reward=0.5).status_code for _ in range(2)] == [204, 204]
    assert api.read(f"/keys/{quote(key, safe='')}")["pulls"][0]["reward"] == 0.5
    assert code_of(tell(api, key, reward=0.6), 409) == "reward_conflict"
    assert code_of(tell(api, key, reward=7), 422) == "invalid_reward"
    assert api.read()["n_rewards"] == 1


def test_an_unknown_key_says_so_and_asks_nothing(api: Api) -> None:
    refused = tell(api, "r-1", reward=0.5)
    assert code_of(refused, 404) == "unknown_key"
    assert "'r-1'" in refused.json()["what"]
    assert api.study in refused.json()["what"]
    assert code_of(api.http.get(f"{api.path}/keys/r-1"), 404) == "unknown_key"
    nowhere = api.http.put("/v1/studies/nowhere/keys/r-1/reward", json={"reward": 1})
    assert code_of(nowhere, 404) == "unknown_study"
    assert api.read()["n_pulls"] == 0


def test_a_key_of_several_needs_a_part(api: Api) -> None:
    pulls = api.ask(key="job", count=3)
    assert [pull["part"] for pull in pulls] == [0, 1, 2]
    assert api.read("/keys/job")["pulls"] == pulls
    refused = tell(api, "job", reward=0.5)
    assert code_of(refused, 422) == "invalid_setting"
    assert "parts 0, 1, 2" in refused.json()["why"]
    assert tell(api, "job", reward=0.5, part=2).status_code == 204
    assert code_of(tell(api, "job", reward=0.5, part=3), 404) == "unknown_key"
    assert code_of(tell(api, "job", reward=0.5, part=-1), 422) == "invalid_request"


def test_a_batch_names_pulls_by_ids_and_by_keys(api: Api) -> None:
    api.ask(key="k")
    (pull,) = api.ask()
    rewards = [
        {"study": api.study, "key": "k", "reward": 0.25},
        {"pull": pull["id"], "reward": 0.5},
        {"study": api.study, "key": "missing", "reward": 0.5},
        {"study": "nowhere", "key": "k", "reward": 0.5},
        {"study": api.study, "key": "k", "part": 0, "reward": 0.75},
    ]
    answer = api.http.post("/v1/rewards", json={"rewards": rewards})
    results = answer.json()["results"]
    assert [result["status"] for result in results] == ["recorded"] * 2 + ["refused"] * 3
    codes = [result["problem"]["code"] for result in results[2:]]
    assert codes == ["unknown_key", "unknown_study", "reward_conflict"]
    assert [result.get("key") for result in results] == ["k", None, "missing", "k", "k"]
    for broken in ({"reward": 1}, {"key": "k", "reward": 1}, 3, {"pull": "x", "key": "k"}):
        refused = api.http.post("/v1/rewards", json={"rewards": [broken]})
        assert code_of(refused, 422) == "invalid_request"
