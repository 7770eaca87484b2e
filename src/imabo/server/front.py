"""The front door: what happens around every request, before and after its operation."""

from __future__ import annotations

import itertools
import re
import secrets
from time import perf_counter
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from imabo.errors import ImaboError, StoreError
from imabo.server.desk import Desk, encoded_path, require_role
from imabo.server.logs import log, log_request, requests
from imabo.server.problems import Refusal, answer, internal, outward
from imabo.server.routes.table import METHODS, Switch

_NO_KEY: Final = frozenset({"/healthz", "/readyz"})
_REQUEST_ID: Final = re.compile(rb"[A-Za-z0-9._-]{1,128}\Z")
_CLIENT_LEFT: Final = 499


class Front:
    """Knows the caller, finds the operation, answers errors, counts and logs.

    It is plain ASGI and calls operations by itself, because it is on the way of every ask: the
    framework's own layers would take as long as the decision. What is no operation (a page, say)
    is for the layers behind it.

    Args:
        app: What is behind the door.
        desk: The service.
        switch: The operations.
        elsewhere: Starts of paths that are for ``app``.
    """

    def __init__(
        self, app: ASGIApp, desk: Desk, switch: Switch, elsewhere: tuple[str, ...] = ()
    ) -> None:
        self._app = app
        self._desk = desk
        self._switch = switch
        self._elsewhere = elsewhere
        self._prefix = secrets.token_hex(4)
        self._numbers = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = perf_counter()
        desk = self._desk
        status = 0
        method, route = scope["method"], "other"
        authorization, request_id = self._headers(scope)

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"].append((b"x-request-id", request_id))
            await send(message)

        try:
            path = scope["path"]
            caller = None if path in _NO_KEY else await desk.access.caller(authorization)
            if b"%" in scope["raw_path"]:
                path = encoded_path(scope["raw_path"])
            found = self._switch.find(method, path)
            if found is not None:
                operation, params = found
                # By the pattern, never by the path: names of studies are not for metrics and logs.
                route = operation.path
                scope.update({"imabo.desk": desk, "imabo.caller": caller, "path_params": params})
                require_role(caller, operation.role)
                response = await operation.handler(Request(scope, receive, send))
                await response(scope, receive, sending)
            elif path.startswith(self._elsewhere):
                await self._app(scope, receive, sending)
            else:
                raise self._no_route(method, path)
        except ClientDisconnect:
            status = _CLIENT_LEFT
        except Exception as error:
            if status:  # too late for an answer: break the connection, so that it is noticed
                raise
            await self._refuse(error, scope, receive, sending)
        finally:
            seconds = perf_counter() - began
            method = method if method in METHODS else "other"
            desk.metrics.observe(route, method, status, seconds)
            if not requests.disabled:
                log_request(route, method, status, seconds, request_id.decode())

    async def _refuse(self, error: Exception, scope: Scope, receive: Receive, send: Send) -> None:
        if isinstance(error, ImaboError):
            shown = outward(error)
            if isinstance(error, StoreError):
                log.warning("the store refused: %s", error)
        else:
            shown = internal()
            log.error("a request failed", exc_info=error)
        self._desk.metrics.count_error(shown.code)
        await answer(shown)(scope, receive, send)

    def _no_route(self, method: str, path: str) -> Refusal:
        allowed = ", ".join(self._switch.methods(path))
        if allowed:
            return Refusal(
                "method_not_allowed",
                f"the method is {method[:20]}",
                f"this path takes {allowed}",
                "use one of these",
                headers={"Allow": allowed},
            )
        return Refusal(
            "not_found",
            "there is no such path",
            "the service has the paths of its OpenAPI document",
            "check the path; a '/' within a name is written '%2F'",
        )

    def _headers(self, scope: Scope) -> tuple[str | None, bytes]:
        authorization: str | None = None
        request_id: bytes | None = None
        for name, value in scope["headers"]:
            if name == b"authorization":
                authorization = value.decode("latin-1")
            elif name == b"x-request-id" and _REQUEST_ID.match(value):
                request_id = value
        if request_id is None:
            request_id = f"{self._prefix}-{next(self._numbers)}".encode()
        return authorization, request_id
