"""Feedback by a completion's id: the right arm, across gateways, with comments and scores."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from imabo import Choice, Client, Signal, Space, Study, oracles
from tests.gateway.conftest import SPACE, Gateway, file_of
from tests.gateway.upstream import Stub
from tests.server.running import RunningServer


def test_every_reward_goes_to_the_arm_that_answered(gateway: Gateway) -> None:
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: gateway.chat(), range(40)))
    for answer in answers:
        reward = 1 if answer.json()["model"] == "large" else 0
        told = gateway.feedback(id=answer.json()["id"], reward=reward)
        assert told.json() == {
            "object": "feedback", "status": "told", "pull": answer.headers["x-imabo-pull"],
            "study": "answers", "reward": float(reward),
        }  # fmt: skip
    with gateway.client() as client:
        study = client.open("answers")
        for answer in answers:
            pull = study.pull(answer.headers["x-imabo-pull"])
            assert pull.reward == (1.0 if pull.config["model"] == "large" else 0.0)
            assert pull.config["model"] == answer.json()["model"]
            assert pull.arm == int(answer.headers["x-imabo-arm"])


def test_a_gateway_knows_the_completions_of_another(
    gateway: Gateway,
    made: Callable[[dict[str, Any]], Gateway],
    stub: tuple[Stub, str],
    imabo: RunningServer,
) -> None:
    other = made(file_of(stub[1], imabo.url))  # as after a restart: it remembers nothing
    for model, study in (("imabo/answers", "answers"), ("imabo/one", "one")):
        completion = gateway.chat(model).json()["id"]
        assert other.feedback(id=completion, reward=0.5).json()["status"] == "told"
        with gateway.client() as client:
            assert client.open(study).pull(completion.removeprefix("chatcmpl-")).reward == 0.5


def test_repeated_feedback_counts_once_and_another_value_is_refused(gateway: Gateway) -> None:
    completion = gateway.chat().json()["id"]
    for _ in range(2):
        assert gateway.feedback(id=completion, reward=1).status_code == 200
    refused = gateway.feedback(id=completion, reward=0)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "reward_conflict")


def test_scores_make_the_reward_with_the_routes_weights(gateway: Gateway) -> None:
    completion = gateway.chat().json()["id"]
    told = gateway.feedback(id=completion, scores={"right": 1.0, "polite": 0.0}).json()
    assert (told["status"], told["reward"]) == ("told", 0.75)
    refused = gateway.feedback(id=completion, scores={"right": 1.0})
    assert refused.status_code == 422
    assert "all scores" in refused.json()["error"]["message"]


def test_comments_are_kept_where_the_file_says_so(
    gateway: Gateway,
    made: Callable[[dict[str, Any]], Gateway],
    stub: tuple[Stub, str],
    imabo: RunningServer,
    tmp_path: Path,
) -> None:
    completion = gateway.chat().json()["id"]
    assert gateway.feedback(id=completion, comment="nice").json()["kept"] is False
    path = tmp_path / "feedback.jsonl"
    other = made(file_of(stub[1], imabo.url, gateway={"feedback_file": str(path)}))
    assert other.feedback(id=completion, reward=1, comment="nice").json()["kept"] is True
    assert other.feedback(id=completion, comment="very\nnice").json()["status"] == "noted"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["id"], line["comment"]) for line in lines] == [
        (completion, "nice"),
        (completion, "very\nnice"),
    ]


def test_a_file_that_cannot_be_written_loses_no_reward(
    made: Callable[[dict[str, Any]], Gateway],
    stub: tuple[Stub, str],
    imabo: RunningServer,
    tmp_path: Path,
) -> None:
    file = file_of(stub[1], imabo.url, gateway={"feedback_file": str(tmp_path)})
    other = made(file)
    told = other.feedback(id=other.chat().json()["id"], reward=1, comment="nice").json()
    assert (told["status"], told["kept"]) == ("told", False)


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"id": "chatcmpl-9aXk", "reward": 1}, 404),
        ({"id": "chatcmpl-nobody-15", "reward": 1}, 404),
        ({"id": 3, "reward": 1}, 422),
        ({"id": "chatcmpl-a-1"}, 422),
        ({"id": "chatcmpl-a-1", "reward": "1"}, 422),
        ({"id": "chatcmpl-a-1", "reward": 1, "rewards": 2}, 422),
        ({"id": "chatcmpl-a-1", "scores": [1]}, 422),
        ([], 422),
    ],
)
def test_what_is_wrong_is_said(said: Any, status: int, gateway: Gateway) -> None:
    answer = gateway.http.post("/v1/feedback", json=said)
    assert answer.status_code == status
    assert answer.json()["error"]["message"]


def test_a_reward_out_of_range_is_refused(gateway: Gateway) -> None:
    completion = gateway.chat().json()["id"]
    refused = gateway.feedback(id=completion, reward=7)
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid_reward")


def test_studies_of_a_database_in_this_process(
    made: Callable[[dict[str, Any]], Gateway], stub: tuple[Stub, str], database: str
) -> None:
    Study.create("answers", SPACE, store=database, seed=0).close()
    file = file_of(stub[1], "")
    file["imabo"] = {"store": database, "deadline_s": 30.0}
    file["routes"] = {"answers": file["routes"]["answers"]}
    gateway = made(file)
    answers = [gateway.chat(metadata={"imabo_key": f"k{n}"}) for n in range(5)]
    for answer in answers:
        assert gateway.feedback(id=answer.json()["id"], reward=1).json()["study"] == "answers"
    too_long = gateway.chat(metadata={"imabo_context": "x" * 20_000})
    assert too_long.headers["x-imabo-served"] == "default"
    study = Study.open("answers", store=database)
    assert (study.n_pulls, study.n_rewards) == (5, 5)
    assert study.pull(key="k3").id == answers[3].headers["x-imabo-pull"]
    study.close()


def test_what_a_request_took_and_cost_is_told_as_signals(
    made: Callable[[dict[str, Any]], Gateway], stub: tuple[Stub, str], imabo: RunningServer
) -> None:
    with Client(imabo.url) as client:
        names = (
            "latency_s", "first_token_s", "cost", "tokens", "input_tokens", "output_tokens",
            "fallback", "overridden",
        )  # fmt: skip
        metered = client.create(
            "metered",
            Space(model=Choice("small"), heat=Choice(0.25)),
            oracle=oracles.Random(),
            signals={name: Signal(low=0.0) for name in names},
        )
        file = file_of(stub[1], imabo.url)
        default = {"model": "small", "heat": 0.25}
        fields = {"model": "model", "temperature": "heat"}
        route = {"study": "metered", "default": default, "fields": fields}
        file["routes"]["metered"] = route
        fixed = {name: route[name] for name in ("study", "default")}
        file["routes"]["cut"] = fixed | {"model": "cut-stream"}
        gateway = made(file)
        with suppress(httpx.RemoteProtocolError):
            gateway.chat("imabo/cut", stream=True)
        for is_stream in (False, True, None):
            if is_stream is None:  # by now it would have been told, of the pull that came first
                first = metered.pulls(limit=1)[0]
                assert first.signals == {}, "what broke off has no latency"
                break
            own = {"temperature": 0.5} if is_stream else {}  # the caller's stays
            answer = gateway.chat("imabo/metered", stream=is_stream, **own)
            # A stream is asked for its count; who did not ask for it does not see that.
            assert ('"usage"' in answer.text) is not is_stream
            assert not is_stream or answer.text.endswith("}\n\ndata: [DONE]\n\n")
            pull_id, until = answer.headers["x-imabo-pull"], time.monotonic() + 60.0
            while len(metered.pull(pull_id).signals) < len(names) and time.monotonic() < until:
                time.sleep(0.02)
            told = metered.pull(pull_id).signals
            assert sorted(told) == sorted(names)
            assert 0.0 < told["first_token_s"] <= told["latency_s"] < 10.0
            n_out = 6.0 if is_stream else 5.0
            assert told["cost"] == pytest.approx(0.01 + 0.002 * n_out)
            expected = [10.0 + n_out, 10.0, n_out, 0.0, float(is_stream)]
            assert [told[name] for name in names[3:]] == expected
