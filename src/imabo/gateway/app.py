"""The gateway as an application: the paths of the OpenAI API, feedback, and its health."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Path
from starlette.types import Receive, Scope, Send

from imabo.gateway.answering import document, refused
from imabo.gateway.asking import Studies
from imabo.gateway.feedback import Feedback
from imabo.gateway.guarding import Guard
from imabo.gateway.keeping import Lines
from imabo.gateway.mapping import CHAT, EMBEDDINGS
from imabo.gateway.own import OwnStudies
from imabo.gateway.relay import Parts, Relay
from imabo.gateway.remote import RemoteStudies
from imabo.gateway.settings import PREFIX, GatewaySettings
from imabo.gateway.upstream import Upstreams

RELAYED: Final = (CHAT, "completions", EMBEDDINGS)
_FEEDBACK: Final = "/v1/feedback"
_MODELS: Final = "/v1/models"


def make_app(settings: GatewaySettings) -> Gateway:
    """The gateway as an ASGI application; it opens its studies when it is started.

    Args:
        settings: What ``read_settings`` read.
    """
    return Gateway(settings, studies_of(settings))


def studies_of(settings: GatewaySettings, looked: Studies | None = None) -> Studies:
    """The studies at the place that the file names; ``looked`` has compared them already."""
    if settings.url is None:
        return OwnStudies(settings)
    return RemoteStudies(settings, looked if isinstance(looked, RemoteStudies) else None)


class Gateway:
    """The application. What is relayed is found here: a framework takes a tenth of its time.

    Args:
        settings: What the file says.
        studies: Those of its routes.
        guard: Says who may use it; by default whoever has the file's key.
    """

    def __init__(
        self, settings: GatewaySettings, studies: Studies, guard: Guard | None = None
    ) -> None:
        bodies = None if settings.bodies_file is None else Lines(settings.bodies_file)
        guard = guard or Guard(settings.own_key)
        self._parts = Parts(settings, studies, Upstreams(), guard, bodies)
        self._relays = {f"/v1/{path}": Relay(self._parts, path) for path in RELAYED}
        self._others = self._made(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the lifespan."""
        if scope["type"] == "http" and scope["method"] == "POST":
            relay = self._relays.get(scope["path"])
            if relay is not None:
                await relay(scope, receive, send)
                return
        await self._others(scope, receive, send)

    def route(self, path: str) -> str | None:
        """The pattern of a path that is the gateway's; None of any other."""
        if path in self._relays or path in (_FEEDBACK, _MODELS):
            return path
        return f"{_MODELS}/{{model}}" if path.startswith(f"{_MODELS}/") else None

    async def start(self) -> None:
        """Open the studies."""
        await self._parts.studies.start()

    async def stop(self) -> None:
        """Let go of the studies and the upstreams."""
        await self._parts.upstreams.close()
        if self._parts.bodies is not None:
            await self._parts.bodies.finish()
        await self._parts.studies.close()

    def _made(self, settings: GatewaySettings) -> Starlette:
        parts, began = self._parts, int(time.time())

        def listed(scope: Scope) -> list[dict[str, Any]]:
            owners = {
                PREFIX + route.name: "imabo"
                for route in settings.routes.values()
                if parts.guard.allows(scope, route.study)
            }
            for upstream in settings.upstreams.values() if parts.guard.allows(scope) else ():
                owners |= dict.fromkeys(upstream.models, upstream.name)
            return [
                {"id": name, "object": "model", "created": began, "owned_by": owner}
                for name, owner in owners.items()
            ]

        async def models(request: Request) -> Response:
            if (refusal := await parts.guard.refusal(request.scope)) is not None:
                return refusal
            return document({"object": "list", "data": listed(request.scope)})

        async def model(request: Request) -> Response:
            if (refusal := await parts.guard.refusal(request.scope)) is not None:
                return refusal
            name = request.path_params["name"]
            found = [one for one in listed(request.scope) if one["id"] == name]
            return document(found[0]) if found else refused(404, "model_not_found", "no such model")

        async def health(request: Request) -> Response:
            return document({"status": "ok"})

        @asynccontextmanager
        async def lifespan(app: object) -> AsyncIterator[None]:
            try:
                await self.start()
                yield
            finally:
                await self.stop()

        return Starlette(
            routes=[
                Path(_FEEDBACK, Feedback(parts).answer, methods=["POST"]),
                Path(_MODELS, models, methods=["GET"]),
                Path(f"{_MODELS}/{{name:path}}", model, methods=["GET"]),
                Path("/healthz", health, methods=["GET"]),
                # Whatever comes here has another method than POST.
                *(Path(path, health, methods=["POST"]) for path in self._relays),
            ],
            exception_handlers={HTTPException: _not_there},
            lifespan=lifespan,
        )


async def _not_there(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    names = ", ".join(f"/v1/{path}" for path in (*RELAYED, "feedback", "models"))
    if status == 405:
        words = f"{request.url.path} is not for {request.method}"
        return refused(405, "method_not_allowed", words[:300])
    return refused(404, "not_found", f"the gateway has {names}, and not this address")
