"""Studies to look at, filled over HTTP as applications would."""

from __future__ import annotations

import random
from typing import Any
from urllib.parse import quote

import httpx

from tests.server.calls import Api

STRANGE = "<script>alert(1)</script>"
SPACE: dict[str, Any] = {
    "parameters": [
        {"name": "model", "type": "choice", "values": ["small", "medium", "large"]},
        {"name": "temperature", "type": "float", "low": 0.0, "high": 1.0},
        {"name": "passages", "type": "int", "low": 1, "high": 10},
        {
            "name": "thinking_tokens",
            "type": "int",
            "low": 256,
            "high": 8192,
            "log": True,
            "when": {"model": ["large"]},
        },
    ]
}
STRANGE_SPACE: dict[str, Any] = {
    "parameters": [
        {"name": "model", "type": "choice", "values": ["small", STRANGE]},
        {"name": "temperature", "type": "float", "low": 0.0, "high": 1.0},
        {"name": "<b>passages</b>", "type": "int", "low": 1, "high": 10},
    ]
}
MUTATE = {"type": "Mutate"}


def chance(config: dict[str, Any]) -> float:
    """How likely an answer with a configuration is a good one."""
    base = {"small": 0.35, "medium": 0.5, "large": 0.62}.get(config["model"], 0.5)
    near = 1.0 - abs(float(config.get("temperature", 0.5)) - 0.3)
    return base + 0.25 * near + 0.02 * min(int(config.get("passages", 3)), 6) - 0.15


def drive(api: Api, n: int, *, seed: int = 0, at_once: int = 20, answered: float = 0.8) -> None:
    """Serve requests and report most of their rewards."""
    rng = random.Random(seed)
    for _ in range(0, n, at_once):
        pulls = api.ask(count=at_once)
        rewards = [
            {"pull": pull["id"], "reward": float(rng.random() < chance(pull["config"]))}
            for pull in pulls
            if rng.random() < answered
        ]
        if rewards:
            answer = api.http.post("/v1/rewards", json={"rewards": rewards})
            assert answer.status_code == 200, answer.text


MODELS = {"mini": (0.62, 0.00003, 0.4), "small": (0.79, 0.0003, 0.8), "large": (0.9, 0.002, 1.4)}
ROUTER: dict[str, Any] = {
    "space": {"parameters": [{"name": "model", "type": "choice", "values": list(MODELS)}]},
    "signals": {"cost": {"low": 0.0, "unit": "$"}, "latency_s": {"low": 0.0, "unit": "s"}},
    "objective": {
        "budgets": {"cost": 0.0006},
        "limits": [{"signal": "latency_s", "above": 2.0, "share": 0.2}],
    },
    "policy": {"type": "Informed"},
}


def router(http: httpx.Client, name: str, n: int, **changes: Any) -> Api:
    """A study of models that differ in price and speed, within a budget, after some requests."""
    api = Api(http, name, **ROUTER | changes)
    route(api, n)
    return api


def route(api: Api, n: int, *, seed: int = 0) -> None:
    """Serve requests of a study of ``router``; each says what it cost and how long it took."""
    rng = random.Random(seed)
    for _ in range(0, n, 20):
        told = []
        for pull in api.ask(count=20):
            good, cost, slow = MODELS[pull["config"]["model"]]
            signals = {
                "cost": cost * rng.uniform(0.5, 1.5),
                "latency_s": rng.expovariate(1.0 / slow),
            }
            # A judge's grade: with coin flips, luck would say which models are in the mix.
            reward = good + rng.uniform(-0.1, 0.1)
            told.append({"pull": pull["id"], "reward": reward, "signals": signals})
        answer = api.http.post("/v1/rewards", json={"rewards": told})
        assert answer.status_code == 200, answer.text


def path_of(name: str) -> str:
    """Where the page shows a study."""
    return f"/#/studies/{quote(name, safe='')}"


def assistant(http: httpx.Client, name: str, n: int = 400, **changes: Any) -> Api:
    """A study of an assistant, after some requests."""
    api = Api(http, name, **{"space": SPACE, "oracle": MUTATE, "window_s": 3600.0} | changes)
    drive(api, n)
    return api
