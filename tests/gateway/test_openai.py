"""The official client, unchanged but for its address: plain, async, streamed, raw."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.gateway.conftest import UPSTREAM_KEY, Gateway
from tests.gateway.upstream import N_TOKENS

if TYPE_CHECKING:  # where it is used: it takes two seconds, which every worker would spend
    from openai import OpenAI
    from openai.types.chat import ChatCompletionMessageParam

ASK: list[ChatCompletionMessageParam] = [{"role": "user", "content": "hi"}]


@pytest.fixture(scope="module")
def client(gateway: Gateway) -> Iterator[OpenAI]:
    from openai import OpenAI

    with OpenAI(base_url=f"{gateway.url}/v1", api_key="of-the-caller", max_retries=0) as client:
        yield client


def test_a_chat_is_served_with_an_arm_and_its_id_is_the_pull(
    client: OpenAI, gateway: Gateway
) -> None:
    answer = client.chat.completions.create(model="imabo/answers", messages=ASK)
    pull_id = answer.id.removeprefix("chatcmpl-")
    with gateway.client() as imabo:
        pull = imabo.open("answers").pull(pull_id)
    sent = json.loads(answer.choices[0].message.content or "")
    assert {name: sent[name] for name in pull.config} == pull.config
    assert sent["messages"] == ASK
    assert gateway.stub.seen[-1][1]["authorization"] == f"Bearer {UPSTREAM_KEY}"


def test_raw_answers_carry_the_headers(client: OpenAI) -> None:
    raw = client.chat.completions.with_raw_response.create(model="imabo/answers", messages=ASK)
    completion = raw.parse()
    assert completion.id == f"chatcmpl-{raw.headers['x-imabo-pull']}"
    assert raw.headers["x-imabo-study"] == "answers"
    assert int(raw.headers["x-imabo-arm"]) >= 1
    assert raw.headers["x-imabo-served"] == "arm"
    assert float(raw.headers["x-imabo-latency-s"]) > 0.0


def test_a_stream_has_one_id_and_every_token(client: OpenAI) -> None:
    chunks = list(client.chat.completions.create(model="imabo/answers", messages=ASK, stream=True))
    assert len({chunk.id for chunk in chunks}) == 1
    assert chunks[0].id != "chatcmpl-up"
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert text == "".join(f"t{n} " for n in range(N_TOKENS))


def test_the_awaited_client_plain_and_streamed(gateway: Gateway) -> None:
    async def both() -> tuple[str, list[str]]:
        from openai import AsyncOpenAI

        async with AsyncOpenAI(base_url=f"{gateway.url}/v1", api_key="x", max_retries=0) as client:
            plain, stream = await asyncio.gather(
                client.chat.completions.create(model="imabo/answers", messages=ASK),
                client.chat.completions.create(model="imabo/answers", messages=ASK, stream=True),
            )
            return plain.id, [chunk.id async for chunk in stream]

    plain, streamed = asyncio.run(both())
    assert plain.startswith("chatcmpl-")
    assert len(set(streamed)) == 1
    assert streamed[0] != plain


def test_completions_embeddings_and_models(client: OpenAI) -> None:
    completion = client.completions.create(model="imabo/one", prompt="x")
    assert completion.id.startswith("cmpl-")
    embedding = client.embeddings.with_raw_response.create(model="imabo/one", input="x")
    assert embedding.parse().data[0].embedding == [0.25, -1.5e-3]
    assert embedding.headers["x-imabo-pull"]
    names = [model.id for model in client.models.list()]
    assert {"imabo/answers", "small"} <= set(names)
    assert client.models.retrieve("imabo/answers").owned_by == "imabo"


def test_errors_of_the_upstream_are_its_own(client: OpenAI) -> None:
    import openai

    with pytest.raises(openai.RateLimitError, match="busy") as limited:
        client.chat.completions.create(model="busy", messages=ASK)
    assert limited.value.response.headers["retry-after"] == "7"
    with pytest.raises(openai.BadRequestError, match="bad temperature"):
        client.chat.completions.create(model="imabo/refusing", messages=ASK)


def test_a_model_that_nobody_has_is_not_found(client: OpenAI) -> None:
    import openai

    with pytest.raises(openai.NotFoundError, match="imabo/answers"):
        client.chat.completions.create(model="imabo/anwers", messages=ASK)
