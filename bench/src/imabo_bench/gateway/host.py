"""What is measured beside the gateway, as processes.

An upstream that answers at once, and a bare pass-through to it. ``python -m
imabo_bench.gateway.host`` runs one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from imabo.server.serving import address_of, allow_files, listen, quiet_config, run_quietly

GAP_S: Final = 0.05  # between the tokens of a stream
_FILES: Final = 4096
_CHOICE: Final = {"index": 0, "message": {"role": "assistant", "content": "ok " * 50}}
_USAGE: Final = {"prompt_tokens": 12, "completion_tokens": 50, "total_tokens": 62}
_ANSWER: Final = json.dumps(
    {"id": "chatcmpl-1", "object": "chat.completion", "choices": [_CHOICE], "usage": _USAGE}
).encode()
_EVENT: Final = b'data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":"ok"}}]}\n\n'


def upstream(n_tokens: int) -> Starlette:
    """Answers at once; a stream has a token now and one every ``GAP_S``."""

    async def events() -> AsyncIterator[bytes]:
        for n in range(n_tokens):
            if n:
                await asyncio.sleep(GAP_S)
            yield _EVENT
        yield b"data: [DONE]\n\n"

    async def answer(request: Request) -> Response:
        if b'"stream"' in await request.body():
            return StreamingResponse(events(), media_type="text/event-stream")
        return Response(_ANSWER, media_type="application/json")

    return Starlette(routes=[Route("/v1/chat/completions", answer, methods=["POST"])])


def bare(url: str) -> Starlette:
    """The least that Starlette and httpx take to pass a request on, and its answer back."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=256)
    client = httpx.AsyncClient(limits=limits, timeout=60.0)

    async def answer(request: Request) -> Response:
        body = await request.body()
        headers = {"content-type": "application/json", "authorization": "Bearer x"}
        sent = client.build_request("POST", url + request.url.path, content=body, headers=headers)
        if b'"stream"' not in body:
            whole = await client.send(sent)
            kind = whole.headers["content-type"]
            return Response(whole.content, whole.status_code, media_type=kind)
        begun = await client.send(sent, stream=True)
        return StreamingResponse(
            begun.aiter_raw(),
            begun.status_code,
            media_type=begun.headers["content-type"],
            background=BackgroundTask(begun.aclose),
        )

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        del app
        yield
        await client.aclose()

    route = Route("/v1/chat/completions", answer, methods=["POST"])
    return Starlette(routes=[route], lifespan=lifespan)


def main() -> int:
    """Serve until SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m imabo_bench.gateway.host", description=__doc__)
    parser.add_argument("what", choices=["upstream", "bare"])
    parser.add_argument("--url", default="")
    parser.add_argument("--tokens", type=int, default=5)
    options = parser.parse_args()
    logging.disable()  # of callers that go at the end of a load
    app = upstream(options.tokens) if options.what == "upstream" else bare(options.url)
    allow_files(_FILES)
    listener = listen("127.0.0.1", 0)
    print(address_of(listener), flush=True)  # whoever started this waits for the address
    run_quietly(uvicorn.Server(quiet_config(app, "httptools")), listener)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
