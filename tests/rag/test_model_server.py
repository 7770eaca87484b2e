"""The endpoint of the local model: its protocol at once, the model itself only when asked for."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import httpx
import pytest

from imabo import Study
from imabo_rag import Cache, Endpoint, EndpointSettings, Pipeline, own_questions, rag_space
from imabo_rag.endpoint import ModelFailed
from imabo_rag.local_model import MODEL, Said, model_file
from imabo_rag.local_server import local_server
from imabo_rag.model_server import ModelServer
from tests.rag.weights import needs_weights

needs_model = pytest.mark.skipif(
    not os.environ.get("IMABO_TEST_MODEL") or model_file() is None,
    reason="the real LLM takes a minute: make test-rag-model",
)
CHAT = [{"role": "user", "content": "What is the capital of France?"}]
ASKED = {"model": MODEL, "messages": CHAT}


def echo(messages: Sequence[Mapping[str, str]], **settings: object) -> Said:
    """Stands for the model where only the protocol is tested."""
    return Said(f"{messages[-1]['content']} {sorted(settings.items())}", 3, 2)


@contextmanager
def serving() -> Iterator[httpx.Client]:
    with ModelServer(echo) as server, httpx.Client(base_url=server.url) as http:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield http
        finally:
            server.shutdown()
            thread.join()


def test_our_client_understands_our_server() -> None:
    with serving() as http:
        url = str(http.base_url)
        with Endpoint(EndpointSettings(url, (MODEL,), max_tokens=7, retries=0)) as endpoint:
            said = endpoint.chat(MODEL, CHAT, 0.25, seed=3)
            with pytest.raises(ModelFailed, match="there is no model"):
                endpoint.chat("another", CHAT, 0.25)
        listed = http.get("/models").json()
    assert said == f"{CHAT[0]['content']} [('max_tokens', 7), ('seed', 3), ('temperature', 0.25)]"
    assert [one["id"] for one in listed["data"]] == [MODEL]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/chat/completions", {}, 400),
        ("/chat/completions", [], 400),
        ("/chat/completions", ASKED | {"messages": []}, 400),
        ("/chat/completions", ASKED | {"messages": [{"role": "user"}]}, 400),
        ("/chat/completions", ASKED | {"temperature": -1}, 400),
        ("/chat/completions", ASKED | {"temperature": "hot"}, 400),
        ("/chat/completions", ASKED | {"max_tokens": 0}, 400),
        ("/chat/completions", ASKED | {"seed": "x"}, 400),
        ("/chat/completions", ASKED | {"model": "another"}, 404),
        ("/embeddings", ASKED, 404),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_and_the_next_one_answered(
    path: str, body: object, status: int
) -> None:
    with serving() as http:
        refused = http.post(path, json=body)
        answered = http.post("/chat/completions", json=ASKED)
    assert refused.status_code == status
    assert refused.json()["error"]["message"]
    assert answered.json()["usage"] == {
        "prompt_tokens": 3,
        "completion_tokens": 2,
        "total_tokens": 5,
    }


@needs_model
@needs_weights
def test_the_loop_runs_with_the_real_model() -> None:
    own = own_questions()
    with local_server() as server, Cache(":memory:") as cache:
        settings = EndpointSettings(server.url, (MODEL,), timeout_s=120, max_tokens=16, seed=0)
        with Endpoint(settings) as endpoint:
            assert "paris" in endpoint.chat(MODEL, CHAT, 0.0).lower()
            same = [endpoint.chat(MODEL, CHAT, 1.0, seed=0) for _ in range(2)]
            assert same[0] == same[1]  # of one seed
            pipeline = Pipeline(own.passages, cache, endpoint)
            with Study.create("rag", rag_space([MODEL]), seed=1) as study:
                for question in own.questions:
                    with study.serve() as pull:
                        answer = pipeline.answer(question, pull.config)
                        pull.reward = answer.reward
                    assert answer.error is None
                assert study.n_rewards == len(own.questions)
                served = {pull.config["model"] for pull in study}
            assert served == {"extractive", MODEL}


@needs_model
def test_the_child_ends_with_the_block() -> None:
    with local_server() as server:
        child = server.process_id
        os.kill(child, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
