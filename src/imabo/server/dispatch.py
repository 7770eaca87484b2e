"""The dispatcher: what happens around every request, before and after its operation."""

from __future__ import annotations

import asyncio
import itertools
import re
import secrets
from bisect import bisect_left
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from time import perf_counter
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote_to_bytes, urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from imabo.errors import ImaboError, StoreError, UnknownStudy
from imabo.server.access import may_see, require_role
from imabo.server.context import Context, Parts, in_thread, refuse
from imabo.server.logs import log, log_request, requests
from imabo.server.metrics import SECONDS
from imabo.server.operations import METHODS, OPERATIONS, Operation
from imabo.server.problems import (
    Refusal,
    forbidden,
    internal,
    invalid_request,
    meant,
    not_known,
    outward,
)
from imabo.server.routes import page
from imabo.server.settings import is_loopback
from imabo.stores.base import KeyRecord

if TYPE_CHECKING:
    from imabo.gateway.app import Gateway

_NO_KEY: Final = page.PATHS | {"/healthz", "/readyz"}
_READS: Final = ("GET", "HEAD")
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,128}\Z")
_CLIENT_LEFT: Final = 499
_HEADERS: Final = frozenset({b"authorization", b"host", b"origin", b"x-request-id"})

_Places = list[tuple[int, str]]


class Dispatcher:
    """The application: knows the caller, finds the operation, answers errors, counts and logs.

    It is plain ASGI and calls operations by itself, because it is on the way of every ask: a
    framework's own layers would take as long as the decision. ``lifespan`` is what is done when the
    server starts and ends, ``gateway`` one that is mounted: it knows its callers by itself.
    """

    def __init__(self, parts: Parts, lifespan: ASGIApp, gateway: Gateway | None = None) -> None:
        self.parts = parts
        self._lifespan = lifespan
        self._gateway = gateway
        self._router = Router(OPERATIONS)
        self._is_local = is_loopback(parts.settings.host) and not parts.settings.allow_open
        self._prefix = secrets.token_hex(4)
        self._numbers = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the lifespan."""
        if scope["type"] != "http":
            await self._lifespan(scope, receive, send)
            return
        began = perf_counter()
        parts = self.parts
        status, found, caller = 0, None, None
        method, route = scope["method"], "other"
        headers = scope["headers"]
        seen = {name: value.decode("latin-1") for name, value in headers if name in _HEADERS}
        request_id = self._request_id(seen.get(b"x-request-id"))

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"].append((b"x-request-id", request_id))
            await send(message)

        try:
            path = scope["path"]
            if self._gateway is not None and (its := self._gateway.route(path)) is not None:
                route = its
                await self._gateway(scope, receive, sending)
                return
            if path not in _NO_KEY:
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
                if caller is not None:
                    require_role(caller, operation.role)
                response = await operation.handler(Context(scope, receive, parts, caller, params))
            elif path in page.PATHS and method in _READS:
                route = "page"
                response = await page.page(Request(scope))
            else:
                raise self._no_route(method, path)
            await response(scope, receive, sending)
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
            if isinstance(error, UnknownStudy) and found is not None:
                error = await self._meant(error, found[1].get("study", ""), caller)
            await self._refuse(error, scope, receive, sending)
        finally:
            seconds = perf_counter() - began
            method = method if method in METHODS else "other"
            label = (route, method, status // 100)
            tally = parts.metrics.requests.get(label)
            if tally is None:
                tally = parts.metrics.requests[label] = [0.0] * (len(SECONDS) + 2)
            tally[bisect_left(SECONDS, seconds)] += 1
            tally[-1] += seconds
            if not requests.disabled:
                log_request(route, method, status, seconds, request_id.decode())

    async def _meant(
        self, error: UnknownStudy, name: str, caller: KeyRecord | None
    ) -> UnknownStudy:
        """Add which study was probably meant, of those that the caller may see."""
        with suppress(StoreError):
            names = await in_thread(self.parts.registry.store.names)
            return meant(error, name, [one for one in names if may_see(caller, one)])
        return error

    async def _refuse(self, error: Exception, scope: Scope, receive: Receive, send: Send) -> None:
        if isinstance(error, ImaboError):
            shown = outward(error)
            if isinstance(error, StoreError):
                log.warning("the store refused: %s", error)
        else:
            shown = internal()
            log.error("a request failed", exc_info=error)
        errors = self.parts.metrics.errors
        errors[shown.code] = errors.get(shown.code, 0) + 1
        await refuse(shown)(scope, receive, send)

    def _no_route(self, method: str, path: str) -> Refusal:
        methods = _READS if path in page.PATHS else self._router.methods(path)
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


class Router:
    """Finds the operation of a path, faster than by trying patterns in turn.

    Example:
        >>> router = Router(OPERATIONS)
        >>> operation, params = router.find("GET", "/v1/pulls/a-1")
        >>> operation.path, params
        ('/v1/pulls/{pull}', {'pull': 'a-1'})
        >>> router.methods("/v1/pulls/a-1"), router.methods("/v1/pulls")
        (['GET'], [])
    """

    def __init__(self, operations: Iterable[Operation]) -> None:
        # By the method and the number of segments, there are only a few to compare.
        self._rows: dict[tuple[str, int], list[tuple[_Places, _Places, Operation]]] = {}
        for operation in operations:
            segments = list(enumerate(operation.path.split("/")))
            names = [(i, part[1:-1]) for i, part in segments if part.startswith("{")]
            words = [(i, part) for i, part in segments if not part.startswith("{")]
            row = (words, names, operation)
            self._rows.setdefault((operation.method, len(segments)), []).append(row)

    def find(self, method: str, path: str) -> tuple[Operation, dict[str, str]] | None:
        """The operation of an ``encoded_path``, and what stands for the names in its pattern."""
        segments = path.split("/")
        for words, names, operation in self._rows.get((method, len(segments)), ()):
            if all(segments[i] == word for i, word in words):
                params = {name: segments[i] for i, name in names}
                if all(params.values()):
                    if "%" in path:
                        params = {name: _decoded(part) for name, part in params.items()}
                    return operation, params
        return None

    def methods(self, path: str) -> list[str]:
        """The methods that a path takes."""
        return [method for method in METHODS if self.find(method, path) is not None]


def encoded_path(raw_path: bytes) -> str:
    """A path whose segments are decoded but for what would be taken for the path's own slashes.

    Example:
        >>> encoded_path(b"/v1/studies/a%2Fb%20c")
        '/v1/studies/a%2Fb c'
    """
    try:
        segments = [unquote_to_bytes(part).decode() for part in raw_path.split(b"/")]
    except UnicodeDecodeError:
        raise invalid_request(
            "the path is not UTF-8", "names are percent-encoded UTF-8", "encode it so", status=400
        ) from None
    return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in segments)


def _decoded(segment: str) -> str:
    return segment.replace("%2F", "/").replace("%25", "%")


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
