"""A real upstream on loopback that echoes what it gets, and fails in every way, by the model."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncIterator
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

GAP_S = 0.05  # between the tokens of a stream
N_TOKENS = 6
MODELS = (
    "small", "large", "error", "busy", "cut", "cut-stream", "cut-early", "garbage", "slow",
    "heads", "late-id", "refusing", "gone", "silent-stream", "strict",
)  # fmt: skip


class Running:
    """An ASGI application on a free port of loopback, in a thread, until ``stop``."""

    def __init__(self, app: ASGIApp, **settings: Any) -> None:
        config = uvicorn.Config(
            app, host="127.0.0.1", port=0, log_config=None, access_log=False,
            timeout_graceful_shutdown=2, **settings,
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise RuntimeError("the server did not start")
            time.sleep(0.005)
        self.port: int = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(60.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()


class Stub:
    """The upstream; ``seen`` has every request, ``cancelled`` is set when a caller left."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, dict[str, str], bytes]] = []
        self.cancelled = threading.Event()
        self.n_open = 0
        paths = ("/v1/chat/completions", "/v1/completions", "/v1/embeddings")
        self.app = Starlette(routes=[Route(path, self._answer, methods=["POST"]) for path in paths])

    @property
    def last(self) -> dict[str, Any]:
        """The body of the last request."""
        found: dict[str, Any] = json.loads(self.seen[-1][2])
        return found

    async def _answer(self, request: Request) -> Any:
        body = await request.body()
        self.seen.append((request.url.path, dict(request.headers), body))
        try:
            said = json.loads(body)
        except ValueError:
            return JSONResponse({"error": {"message": "no JSON"}}, 400)
        if not isinstance(said.get("messages", []), list):
            return JSONResponse({"error": {"message": "messages is no list"}}, 422)
        return await self._by_model(said, request)

    async def _by_model(self, said: dict[str, Any], request: Request) -> Any:
        model = said["model"]
        if model == "error":
            return JSONResponse({"error": {"message": "boom", "code": "boom"}}, 500)
        if model == "busy":
            return JSONResponse({"error": {"message": "busy"}}, 429, {"Retry-After": "7"})
        if model == "refusing":
            return JSONResponse({"error": {"message": "bad temperature"}}, 400)
        if model == "strict" and "stream_options" in said:
            return JSONResponse({"error": {"message": "extra inputs are not permitted"}}, 422)
        if model == "gone":
            return JSONResponse({"error": {"message": "no such model"}}, 404)
        if model == "garbage":
            return Response(b"<html>\xff not JSON", media_type="application/json")
        if model == "slow":
            await self._wait(request)
        if model in ("cut", "cut-stream", "cut-early"):
            return _Cut(model)
        headers = {"X-Long": "h" * 10_000} if model == "heads" else {}
        if said.get("stream") is True:
            return StreamingResponse(
                self._events(said), media_type="text/event-stream", headers=headers
            )
        return JSONResponse(answer_of(request.url.path, said), headers=headers)

    async def _wait(self, request: Request) -> None:
        try:
            while not await request.is_disconnected():
                await asyncio.sleep(0.01)
        finally:
            self.cancelled.set()

    async def _events(self, said: dict[str, Any]) -> AsyncIterator[bytes]:
        self.n_open += 1
        try:
            for n in range(N_TOKENS):
                yield event(said, n)
                await asyncio.sleep(3600 if said["model"] == "silent-stream" else GAP_S)
            if (said.get("stream_options") or {}).get("include_usage"):
                usage = {"prompt_tokens": 10, "completion_tokens": N_TOKENS, "total_tokens": 16}
                yield _data({"id": "chatcmpl-up", "choices": [], "usage": usage})
            yield b"data: [DONE]\n\n"
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        finally:
            self.n_open -= 1


class _Cut:
    """Breaks off: in the middle of a body, after two events, or before the first."""

    def __init__(self, model: str) -> None:
        self._model = model

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = "application/json" if self._model == "cut" else "text/event-stream"
        headers = [(b"content-type", kind.encode())]
        if self._model == "cut":
            headers.append((b"content-length", b"1000"))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if self._model != "cut-early":
            body = b'{"id": ' if self._model == "cut" else event({"model": "x"}, 0) * 2
            await send({"type": "http.response.body", "body": body, "more_body": True})
        # It returns without an end, so the server closes the connection.


def event(said: dict[str, Any], n: int) -> bytes:
    choice = {"index": 0, "delta": {"content": f"t{n} "}, "finish_reason": None}
    chunk: dict[str, Any] = {
        "id": "chatcmpl-up", "object": "chat.completion.chunk", "created": 1,
        "model": said["model"], "choices": [choice],
    }  # fmt: skip
    return _data(chunk)


def _data(chunk: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def answer_of(path: str, said: dict[str, Any]) -> dict[str, Any]:
    """What the upstream says: the request itself is the content."""
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    echo = json.dumps(said)
    if path.endswith("embeddings"):
        data = [{"object": "embedding", "index": 0, "embedding": [0.25, -1.5e-3]}]
        return {"object": "list", "data": data, "model": said["model"], "echo": echo,
                "usage": {"prompt_tokens": 10, "total_tokens": 10}}  # fmt: skip
    choice: dict[str, Any] = {"index": 0, "finish_reason": "stop", "logprobs": None}
    if path.endswith("chat/completions"):
        choice["message"] = {"role": "assistant", "content": echo}
    else:
        choice["text"] = echo
    found = {"id": "chatcmpl-up", "object": "chat.completion", "created": 1,
             "model": said["model"], "choices": [choice], "usage": usage,
             "big": 12345678901234567890, "small": 1.5e-300}  # fmt: skip
    if said["model"] == "late-id":
        found["id"] = found.pop("id")
    return found


class NoHttp:
    """A server that answers with what is no HTTP, on a free port of loopback."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.recv(65_536)
                connection.sendall(b"\x00\x01 nonsense\r\n\r\n")

    def stop(self) -> None:
        self._socket.close()
