"""Calls of the API, as a caller without our client makes them."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx

SPACE: dict[str, Any] = {
    "parameters": [
        {"name": "model", "type": "choice", "values": ["small", "large"]},
        {"name": "x", "type": "float", "low": 0, "high": 1},
    ]
}
OTHER_SPACE: dict[str, Any] = {"parameters": [{"name": "x", "type": "float", "low": 0, "high": 2}]}


def study_body(name: str, **changes: Any) -> dict[str, Any]:
    """A study to create; its oracle is the cheapest one."""
    return {
        "name": name,
        "space": SPACE,
        "seed": 0,
        "oracle": {"type": "Random"},
        "policy": {"type": "IMOSS"},
    } | changes


class Api:
    """A study over HTTP: it is created with the first look at ``path``."""

    def __init__(self, http: httpx.Client, study: str, **changes: Any) -> None:
        self.http = http
        self.study = study
        self.path = f"/v1/studies/{quote(study, safe='')}"
        answer = http.post("/v1/studies", json=study_body(study, **changes))
        assert answer.status_code in (200, 201), answer.text

    def ask(self, **body: Any) -> list[dict[str, Any]]:
        answer = self.http.post(f"{self.path}/pulls", json=body)
        assert answer.status_code in (200, 201), answer.text
        pulls: list[dict[str, Any]] = answer.json()["pulls"]
        return pulls

    def tell(self, pull_id: str, reward: object) -> httpx.Response:
        return self.http.put(f"/v1/pulls/{pull_id}/reward", json={"reward": reward})

    def read(self, part: str = "", **query: Any) -> Any:
        answer = self.http.get(self.path + part, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()


LETTERS: dict[str, Any] = {
    "parameters": [{"name": "letter", "type": "choice", "values": ["a", "b", "c"]}]
}


def watching(http: httpx.Client, study: str) -> Api:
    """A study that looks for changes of the world, of a space of three letters."""
    return Api(http, study, space=LETTERS, policy={"type": "Informed"})


def change_world(api: Api) -> None:
    """Serve a study of ``watching`` whose best letter stops being good, until it has noticed."""
    for done in range(0, 400, 20):
        rewards = []
        for pull in api.ask(count=20):
            good = (0.9 if done < 300 else 0.1) if pull["config"]["letter"] == "a" else 0.3
            number = int(pull["id"].rpartition("-")[2])
            reward = float((number * 0.6180339887) % 1.0 < good)
            rewards.append({"pull": pull["id"], "reward": reward})
        answer = api.http.post("/v1/rewards", json={"rewards": rewards})
        assert answer.status_code == 200, answer.text
        if api.read("/events", limit=1)["events"][0]["kind"] == "drift":
            return
    raise AssertionError("the change was not noticed within 100 rewards")


def code_of(answer: httpx.Response, status: int) -> str:
    """The code of a refusal, after checks that hold for every one."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert set(problem) == {"type", "title", "status", "code", "detail", "what", "why", "fix"}
    assert problem["status"] == status
    assert problem["type"] == f"urn:imabo:error:{problem['code']}"
    assert problem["what"] in problem["detail"]
    code: str = problem["code"]
    return code
