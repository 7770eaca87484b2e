"""The front door: what happens around every request, before and after its operation."""

from __future__ import annotations

import asyncio
import itertools
import re
import secrets
from functools import lru_cache
from time import perf_counter
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from imabo.errors import ImaboError, StoreError
from imabo.server.context import Parts, encoded_path, require_role
from imabo.server.logs import log, log_request, requests
from imabo.server.operations import METHODS, Router
from imabo.server.problems import Refusal, answer, forbidden, internal, not_known, outward
from imabo.server.settings import is_loopback

_NO_KEY: Final = frozenset({"/healthz", "/readyz"})
_READS: Final = ("GET", "HEAD")
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,128}\Z")
_CLIENT_LEFT: Final = 499
_HEADERS: Final = frozenset({b"authorization", b"host", b"origin", b"x-request-id"})


class Dispatcher:
    """Knows the caller, finds the operation, answers errors, counts and logs.

    It is plain ASGI and calls operations by itself, because it is on the way of every ask: the
    framework's own layers would take as long as the decision. What is no operation (a page, say)
    is for the layers behind it.

    Args:
        app: What is behind the door.
        parts: The service.
        router: The operations.
        elsewhere: Paths that are for ``app``, to read without a key.
    """

    def __init__(
        self, app: ASGIApp, parts: Parts, router: Router, elsewhere: frozenset[str] = frozenset()
    ) -> None:
        self._app = app
        self._parts = parts
        self._router = router
        self._elsewhere = elsewhere
        self._no_key = _NO_KEY | elsewhere
        self._is_local = is_loopback(parts.settings.host) and not parts.settings.allow_open
        self._prefix = secrets.token_hex(4)
        self._numbers = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = perf_counter()
        parts = self._parts
        status = 0
        method, route = scope["method"], "other"
        seen = _headers_of(scope)
        request_id = self._request_id(seen.get(b"x-request-id"))

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"].append((b"x-request-id", request_id))
            await send(message)

        try:
            path = scope["path"]
            caller = None
            if path not in self._no_key:
                caller = await parts.access.caller(seen.get(b"authorization"))
                if caller is None and self._is_local:
                    require_local(seen.get(b"host"), seen.get(b"origin"))
            if b"%" in scope["raw_path"]:
                path = encoded_path(scope["raw_path"])
            found = self._router.find(method, path)
            if found is not None:
                operation, params = found
                # By the pattern, never by the path: names of studies are not for metrics and logs.
                route = operation.path
                scope.update({"imabo.parts": parts, "imabo.caller": caller, "path_params": params})
                require_role(caller, operation.role)
                response = await operation.handler(Request(scope, receive, send))
                await response(scope, receive, sending)
            elif path in self._elsewhere and method in _READS:
                route = "page"
                await self._app(scope, receive, sending)
            else:
                raise self._no_route(method, path)
        except ClientDisconnect:
            status = _CLIENT_LEFT
        except asyncio.CancelledError:
            # The time to drain is over. What a thread is at may yet be done, or not.
            if status or not parts.stopping.is_set():
                raise
            await self._refuse(not_known(), scope, receive, sending)
        except Exception as error:
            if status:  # too late for an answer: break the connection, so that it is noticed
                raise
            await self._refuse(error, scope, receive, sending)
        finally:
            seconds = perf_counter() - began
            method = method if method in METHODS else "other"
            parts.metrics.observe(route, method, status, seconds)
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
        self._parts.metrics.count_error(shown.code)
        await answer(shown)(scope, receive, send)

    def _no_route(self, method: str, path: str) -> Refusal:
        methods = _READS if path in self._elsewhere else self._router.methods(path)
        allowed = ", ".join(methods)
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

    def _request_id(self, given: str | None) -> bytes:
        if given is not None and _REQUEST_ID.match(given):
            return given.encode()
        return f"{self._prefix}-{next(self._numbers)}".encode()


def _headers_of(scope: Scope) -> dict[bytes, str]:
    headers = scope["headers"]
    return {name: value.decode("latin-1") for name, value in headers if name in _HEADERS}


def require_local(host: str | None, origin: str | None) -> None:
    """Refuse what a web page elsewhere made a browser on this machine send.

    A service without keys trusts whoever is on its machine. A page can make a browser there send
    requests, under another name for the machine or from another origin; a program sends neither.
    """
    if host is not None and not _is_loopback_name(host):
        raise forbidden(
            f"the request is for the host {host[:100]!r}",
            "without keys the service answers under this machine's own address alone",
        )
    if origin is not None and origin.partition("://")[2] != host:
        raise forbidden(
            f"the request comes from a page of {origin[:100]!r}",
            "without keys the service answers its own pages and programs alone",
        )


@lru_cache(64)
def _is_loopback_name(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return False
    return name is not None and is_loopback(name)
