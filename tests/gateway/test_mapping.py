"""From a configuration to a request: every field, and who wins."""

from __future__ import annotations

import json
from typing import Any

import pytest

from imabo import Choice, Float, Int, Space, Study
from imabo.gateway.mapping import CHAT, check_route, request_of
from imabo.gateway.settings import FIELDS, GatewaySettings, settings_of
from imabo.gateway.tables import Table

CONFIG: dict[str, Any] = {"m": "large", "t": 0.25, "p": 0.9, "n": 64, "e": "high"}
MAPPED = {
    "model": "m", "temperature": "t", "top_p": "p", "max_tokens": "n", "reasoning_effort": "e",
}  # fmt: skip
MESSAGES = [{"role": "user", "content": "hi"}]


def settings(**route: Any) -> GatewaySettings:
    file = {
        "imabo": {"store": "x"},
        "upstreams": {"up": {
            "base_url": "http://127.0.0.1:1", "models": {"small": {}, "large": {}}}},
        "routes": {"r": {"default": CONFIG | {"m": "small"}, "fields": MAPPED, **route}},
    }  # fmt: skip
    return settings_of(Table("", file), {})


def sent(config: dict[str, Any], said: dict[str, Any], path: str = CHAT, **route: Any) -> Any:
    found, document = settings(**route), {"model": "imabo/r", "messages": MESSAGES, **said}
    made = request_of(found.routes["r"], config, path, json.dumps(document), document, found)
    body: dict[str, Any] = json.loads(made.body)
    assert body.pop("messages") == MESSAGES
    return body, made.overridden


def test_every_field_is_set_and_nothing_else() -> None:
    assert set(MAPPED) | {"max_completion_tokens"} == set(FIELDS)
    body, overridden = sent(CONFIG, {"seed": 7})
    assert overridden == ()
    assert body == {
        "model": "large", "seed": 7, "temperature": 0.25, "top_p": 0.9, "max_tokens": 64,
        "reasoning_effort": "high",
    }  # fmt: skip


def test_a_parameter_that_is_not_active_sets_nothing() -> None:
    body, _ = sent({"m": "small"}, {})
    assert body == {"model": "small"}


@pytest.mark.parametrize(
    ("wins", "expected", "overridden"),
    [
        (True, {"temperature": 0.9, "max_completion_tokens": 5}, ("temperature", "max_tokens")),
        (False, {"temperature": 0.25, "max_tokens": 64}, ()),
        (["temperature"], {"temperature": 0.9, "max_tokens": 64}, ("temperature",)),
    ],
)
def test_who_wins_is_said_for_all_fields_or_for_each(
    wins: object, expected: dict[str, Any], overridden: tuple[str, ...]
) -> None:
    """One limit of tokens has two names: who sets either has set both."""
    said = {"temperature": 0.9, "max_completion_tokens": 5}
    body, found = sent(CONFIG, said, caller_wins=wins)
    names = ("temperature", "max_tokens", "max_completion_tokens")
    assert {name: body[name] for name in names if name in body} == expected
    assert found == overridden


def test_of_an_embedding_the_model_alone_is_chosen() -> None:
    body, _ = sent(CONFIG, {"input": "x"}, "embeddings")
    assert body == {"model": "large", "input": "x"}


def test_a_route_must_fit_its_space() -> None:
    space = Space(
        m=Choice("small", "large"), t=Float(0, 1), p=Float(0, 1), n=Int(1, 100),
        e=Choice("low", "high"),
    )  # fmt: skip
    found = settings()
    check_route(found.routes["r"], space, found)
    with Study.create("r", space, seed=0) as study:
        for pull in study.ask(count=20):
            body, _ = sent(pull.config, {})
            assert {MAPPED[name]: value for name, value in body.items()} == pull.config
