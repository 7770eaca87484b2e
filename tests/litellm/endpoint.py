"""Servers of the OpenAI API on loopback, one a deployment; each completion has its own id."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.gateway.upstream import Running

_numbers = count(1)


class Endpoint:
    """One deployment; ``seen`` has the bodies of its requests, and while it is down it fails."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: list[dict[str, Any]] = []
        self.is_down = False
        routes = [
            Route("/v1/chat/completions", self._chat, methods=["POST"]),
            Route("/v1/embeddings", self._embed, methods=["POST"]),
        ]
        self._running = Running(Starlette(routes=routes))

    def deployment(self, group: str = "support") -> dict[str, Any]:
        """The deployment as a router's model_list has it."""
        return {
            "model_name": group,
            "model_info": {"id": self.name},
            "litellm_params": {
                "model": f"openai/{self.name}-model",
                "api_base": f"{self._running.url}/v1",
                "api_key": "none",
                "input_cost_per_token": 0.001,
                "output_cost_per_token": 0.01,
            },
        }

    def stop(self) -> None:
        self._running.stop()

    async def _chat(self, request: Request) -> Response:
        said = await request.json()
        self.seen.append(said)
        if self.is_down:
            return JSONResponse({"error": {"message": "down"}}, 500)
        head = {"id": f"chatcmpl-{next(_numbers)}", "created": 1, "model": said["model"]}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        if said.get("stream"):
            return StreamingResponse(_events(head, usage), media_type="text/event-stream")
        message = {"role": "assistant", "content": f"from {self.name}"}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        return JSONResponse(
            head | {"object": "chat.completion", "choices": [choice], "usage": usage}
        )

    async def _embed(self, request: Request) -> Response:
        said = await request.json()
        self.seen.append(said)
        data = [{"object": "embedding", "index": 0, "embedding": [0.5]}]
        usage = {"prompt_tokens": 3, "total_tokens": 3}
        found = {"object": "list", "data": data, "model": said["model"], "usage": usage}
        return JSONResponse(found)


async def _events(head: dict[str, Any], usage: dict[str, int]) -> AsyncIterator[bytes]:
    head = head | {"object": "chat.completion.chunk"}
    for text in ("a ", "b"):
        choice = {"index": 0, "delta": {"role": "assistant", "content": text}}
        yield _data(head | {"choices": [choice]})
    last = {"index": 0, "delta": {}, "finish_reason": "stop"}
    yield _data(head | {"choices": [last]})
    yield _data(head | {"choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def _data(chunk: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"
