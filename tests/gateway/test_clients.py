"""Other clients, unchanged but for the address: LiteLLM's Router and curl."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import warnings
from typing import Any

import pytest

from tests.gateway.conftest import Gateway
from tests.gateway.upstream import N_TOKENS

THEIRS = pytest.mark.filterwarnings("ignore")  # LiteLLM warns of what it does itself
ASK: list[Any] = [{"role": "user", "content": "hi"}]
TEXT = "".join(f"t{n} " for n in range(N_TOKENS))


@pytest.fixture(scope="module")
def router(gateway: Gateway) -> Any:
    # Else it asks the internet for prices, which are not the question here.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own models
        litellm = pytest.importorskip("litellm", reason="NOT TESTED: litellm is not installed")
    parameters = {
        "model": "openai/imabo/answers", "api_base": f"{gateway.url}/v1", "api_key": "x",
    }  # fmt: skip
    listed = [{"model_name": "answers", "litellm_params": parameters}]
    return litellm.Router(model_list=listed, num_retries=0)


@THEIRS
def test_litellms_router(router: Any, gateway: Gateway) -> None:
    plain = router.completion(model="answers", messages=ASK, temperature=0.125)
    assert gateway.stub.last["temperature"] == 0.125
    told = gateway.feedback(id=plain.id, reward=1).json()
    assert (told["status"], told["study"]) == ("told", "answers")
    chunks = list(router.completion(model="answers", messages=ASK, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == TEXT
    assert gateway.feedback(id=chunks[0].id, reward=0).json()["status"] == "told"


@THEIRS
def test_litellms_router_awaited(router: Any, gateway: Gateway) -> None:
    async def ask() -> tuple[str, str]:
        plain = await router.acompletion(model="answers", messages=ASK)
        stream = await router.acompletion(model="answers", messages=ASK, stream=True)
        return plain.id, "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    completion, text = asyncio.run(ask())
    assert text == TEXT
    assert gateway.feedback(id=completion, reward=1).json()["status"] == "told"


def curl(*arguments: str) -> str:
    found = shutil.which("curl")
    if found is None:
        pytest.skip("NOT TESTED: there is no curl")
    done = subprocess.run(
        [found, "-sS", "--max-time", "20", *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_curl(gateway: Gateway) -> None:
    url, kind = f"{gateway.url}/v1", ("-H", "content-type: application/json")
    body = json.dumps({"model": "imabo/answers", "messages": ASK})
    head, _, text = curl("-i", f"{url}/chat/completions", *kind, "-d", body).partition("\n\n")
    assert "x-imabo-pull: " in head
    answer = json.loads(text)
    feedback = json.dumps({"id": answer["id"], "reward": 1})
    assert json.loads(curl(f"{url}/feedback", "-d", feedback))["status"] == "told"
    streamed = json.dumps({"model": "imabo/answers", "messages": ASK, "stream": True})
    lines = curl("-N", f"{url}/chat/completions", *kind, "-d", streamed).split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    assert len(lines) == N_TOKENS + 2
    assert "imabo/answers" in curl(f"{url}/models")
