"""The gateway as an application: the paths of the OpenAI API, feedback, and its health."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Path

from imabo.gateway.answering import document, refused
from imabo.gateway.asking import studies_of
from imabo.gateway.feedback import Feedback
from imabo.gateway.mapping import CHAT, EMBEDDINGS
from imabo.gateway.relay import Parts, Relay
from imabo.gateway.settings import PREFIX, GatewaySettings
from imabo.gateway.upstream import Upstreams

_BESIDE_S: Final = 5.0  # at the end, for what no answer waits for
RELAYED: Final = (CHAT, "completions", EMBEDDINGS)


def make_app(settings: GatewaySettings) -> Starlette:
    """The gateway as an ASGI application; it opens its studies when it is started.

    Args:
        settings: What ``read_settings`` read.
    """
    parts = Parts(settings, studies_of(settings), Upstreams())
    began = int(time.time())

    async def models(request: Request) -> Response:
        if (refusal := parts.check_key(request.scope)) is not None:
            return refusal
        return document({"object": "list", "data": _models(settings, began)})

    async def model(request: Request) -> Response:
        if (refusal := parts.check_key(request.scope)) is not None:
            return refusal
        name = request.path_params["name"]
        found = [one for one in _models(settings, began) if one["id"] == name]
        return document(found[0]) if found else refused(404, "model_not_found", "no such model")

    async def health(request: Request) -> Response:
        return document({"status": "ok"})

    return Starlette(
        routes=[
            *(Path(f"/v1/{path}", Relay(parts, path), methods=["POST"]) for path in RELAYED),
            Path("/v1/feedback", Feedback(parts).answer, methods=["POST"]),
            Path("/v1/models", models, methods=["GET"]),
            Path("/v1/models/{name:path}", model, methods=["GET"]),
            Path("/healthz", health, methods=["GET"]),
        ],
        exception_handlers={HTTPException: _not_there},
        lifespan=lambda _: _lifespan(parts),
    )


@asynccontextmanager
async def _lifespan(parts: Parts) -> AsyncIterator[None]:
    try:
        await parts.studies.start()
        yield
    finally:
        if parts.beside:
            await asyncio.wait(parts.beside, timeout=_BESIDE_S)
        await parts.upstreams.close()
        await parts.studies.close()


def _models(settings: GatewaySettings, created: int) -> list[dict[str, Any]]:
    owners = {PREFIX + name: "imabo" for name in settings.routes}
    for upstream in settings.upstreams.values():
        owners |= dict.fromkeys(upstream.models, upstream.name)
    return [
        {"id": name, "object": "model", "created": created, "owned_by": owner}
        for name, owner in owners.items()
    ]


async def _not_there(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    names = ", ".join(f"/v1/{path}" for path in (*RELAYED, "feedback", "models"))
    if status == 405:
        words = f"{request.url.path} is not for {request.method}"
        return refused(405, "method_not_allowed", words[:300])
    return refused(404, "not_found", f"the gateway has {names}, and not this address")
