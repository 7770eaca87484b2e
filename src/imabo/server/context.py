"""What every route works with: the parts of the service, and the request's own study and body."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final, TypeVar, cast

import anyio
import anyio.to_thread
from pydantic import BaseModel
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response

from imabo.server.access import Access
from imabo.server.bodies import check_media_type, parse, read_body
from imabo.server.commits import Commits
from imabo.server.conversions import checked
from imabo.server.exports import Exports
from imabo.server.insight_cache import InsightCache
from imabo.server.keys import RANKS, may_see
from imabo.server.metrics import Metrics
from imabo.server.problems import (
    forbidden,
    invalid_request,
    unavailable,
    unknown_pull,
    unknown_study,
)
from imabo.server.readiness import Readiness
from imabo.server.registry import Registry
from imabo.server.settings import Settings
from imabo.stores.base import KeyRecord

T = TypeVar("T")
B = TypeVar("B", bound=BaseModel)

_LONGEST_NAME: Final = 200
_IMPORTS_AT_ONCE: Final = 4  # each has a thread to itself; more of them wait
_AT_ONCE: Final = 4  # reads and changes of one study that have a thread
_MOST_IN_ROOM: Final = 200
_PULL_ID: Final = re.compile(r"([0-9A-Za-z_]{1,64})-[1-9][0-9]{0,17}\Z")


class Stopping(threading.Event):
    """Set when the service was told to stop, and since when it is.

    Attributes:
        has_answered: Whether every request that was taken has its answer.

    Example:
        >>> stopping = Stopping()
        >>> stopping.left_s(30.0)
        30.0
    """

    def __init__(self) -> None:
        super().__init__()
        self.has_answered = False
        self._since: float | None = None

    def set(self) -> None:
        """The service was told to stop."""
        if self._since is None:
            self._since = monotonic()
        super().set()

    def left_s(self, drain_s: float) -> float:
        """What is left of the time to drain."""
        return drain_s if self._since is None else max(0.0, self._since + drain_s - monotonic())


@dataclass(slots=True)
class Room:
    """Where requests of one study wait for a thread, and how many they are."""

    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))
    n_requests: int = 0


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of one running service."""

    settings: Settings
    registry: Registry
    commits: Commits
    access: Access
    metrics: Metrics
    stopping: Stopping
    readiness: Readiness
    insight: InsightCache = field(default_factory=InsightCache)
    exports: Exports = field(default_factory=Exports)
    imports: anyio.CapacityLimiter = field(
        default_factory=lambda: anyio.CapacityLimiter(_IMPORTS_AT_ONCE)
    )
    rooms: dict[str, Room] = field(default_factory=dict)  # of studies that something is done for


def parts_of(request: Request) -> Parts:
    """The service that a request came to."""
    return cast(Parts, request.scope["imabo.parts"])


def caller_of(request: Request) -> KeyRecord | None:
    """The key of a request, None when the service is open."""
    return cast("KeyRecord | None", request.scope["imabo.caller"])


def require_role(caller: KeyRecord | None, role: str | None) -> None:
    """Refuse a key whose role is not enough."""
    if caller is not None and role is not None and RANKS[caller.role] < RANKS[role]:
        raise forbidden(f"the key is a {caller.role}'s", f"this needs the role {role}")


def require_name(caller: KeyRecord | None, name: str) -> None:
    """Refuse a key that may not have a study of this name."""
    if not may_see(caller, name):
        raise forbidden(
            "the key does not allow a study of this name", "it is limited to named studies"
        )


def study_name(request: Request) -> str:
    """The study in a request's path, if the caller may see it."""
    name = decoded(request.path_params["study"])
    if len(name) > _LONGEST_NAME or "\0" in name or not may_see(caller_of(request), name):
        raise unknown_study(name)
    return name


async def pull_study(request: Request, pull_id: str) -> str:
    """The study that a pull is of, if the caller may see it."""
    name = await find_study(request, pull_id)
    if name is None:
        raise unknown_pull(pull_id)
    return name


async def find_study(request: Request, pull_id: str) -> str | None:
    """The study that a pull's id points to; None also when the caller may not see it."""
    form = _PULL_ID.match(pull_id)
    if form is None:
        return None
    registry, token = parts_of(request).registry, form[1]
    name = registry.known(token) or await in_thread(registry.find, token)
    return name if name is not None and may_see(caller_of(request), name) else None


async def body_of(request: Request, model: type[B], *, is_optional: bool = False) -> tuple[B, Any]:
    """The body of a request as a model, and as it was sent."""
    body = await read_body(request, parts_of(request).settings.max_body_bytes)
    if body:
        check_media_type(request)
        value = parse(body)
    elif is_optional:
        value = {}
    else:
        raise invalid_request(
            "the request has no body", "this route needs one", "send a JSON object", status=400
        )
    return checked(model, value), value


def query_of(request: Request, model: type[B]) -> B:
    """The query of a request as a model; a name that comes twice is refused."""
    pairs = request.query_params.multi_items()
    values = dict(pairs)
    if len(values) != len(pairs):
        raise invalid_request("the query names something twice", "one value counts", "drop one")
    return checked(model, values, "the query")


async def in_thread(work: Callable[..., T], *arguments: Any) -> T:
    """Run something that blocks, while the event loop goes on."""
    # Left to itself when the service gives up at the end of its drain: the caller is told then.
    return await anyio.to_thread.run_sync(work, *arguments, abandon_on_cancel=True)


async def for_study(request: Request, name: str, work: Callable[[], T]) -> T:
    """Run something that blocks and is about a study.

    A few at a time: requests of a study that is stuck must not take all the threads there are.
    """
    rooms = parts_of(request).rooms
    room = rooms.setdefault(name, Room())
    if room.n_requests >= _MOST_IN_ROOM:
        raise unavailable(
            "more requests for this study are under way than the service takes on",
            "they wait for each other",
        )
    room.n_requests += 1
    try:
        async with room.turns:
            return await in_thread(work)
    finally:
        room.n_requests -= 1
        if not room.n_requests:
            del rooms[name]


def json_answer(value: object, status: int = 200) -> Response:
    """A value as a JSON response."""
    return JsonResponse(to_json(value, inf_nan_mode="null"), status)


class JsonResponse(Response):
    """A JSON response that costs little to make.

    Args:
        body: The JSON.
        status: The HTTP status.
    """

    def __init__(self, body: bytes, status: int) -> None:
        self.status_code = status
        self.body = body
        self.background = None
        length = str(len(body)).encode()
        self.raw_headers = [(b"content-type", b"application/json"), (b"content-length", length)]


def encoded_path(raw_path: bytes) -> str:
    """A path whose segments are decoded but for what would be taken for the path's own slashes.

    Example:
        >>> encoded_path(b"/v1/studies/a%2Fb%20c")
        '/v1/studies/a%2Fb c'
    """
    from urllib.parse import unquote_to_bytes

    try:
        segments = [unquote_to_bytes(part).decode() for part in raw_path.split(b"/")]
    except UnicodeDecodeError:
        raise invalid_request(
            "the path is not UTF-8", "names are percent-encoded UTF-8", "encode it so", status=400
        ) from None
    return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in segments)


def decoded(segment: str) -> str:
    """A segment of ``encoded_path`` as the text it stands for.

    Example:
        >>> decoded("a%2Fb c")
        'a/b c'
    """
    return segment.replace("%2F", "/").replace("%25", "%") if "%" in segment else segment
