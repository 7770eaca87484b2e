"""A request's context: who calls, its study, body and query, and the parts of the service."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread
from pydantic import BaseModel
from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope

from imabo.errors import ImaboError
from imabo.server.access import Access, may_see
from imabo.server.bodies import check_media_type, checked, no_body, parse, read_body
from imabo.server.commits import Commits
from imabo.server.insight_cache import InsightCache
from imabo.server.metrics import Metrics
from imabo.server.problems import (
    MEDIA_TYPE,
    Refusal,
    document,
    invalid_request,
    status_of,
    unavailable,
    unknown_pull,
    unknown_study,
)
from imabo.server.readiness import Readiness
from imabo.server.registry import Registry
from imabo.server.sender import Sender
from imabo.server.settings import Settings
from imabo.stores.base import KeyRecord
from imabo.study import Study

T = TypeVar("T")
B = TypeVar("B", bound=BaseModel)

_LONGEST_NAME: Final = 200
_AT_ONCE: Final = 4  # reads and changes of one study that have a thread
_MOST_IN_ROOM: Final = 200
_PULL_ID: Final = re.compile(r"([0-9A-Za-z_]{1,64})-[1-9][0-9]{0,17}\Z")


class Stopping(threading.Event):
    """Set when the service was told to stop, and since when it is."""

    has_answered = False  # whether every request that was taken has its answer
    _since: float | None = None

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
    readiness: Readiness
    sender: Sender
    exports: anyio.CapacityLimiter
    imports: anyio.CapacityLimiter
    stopping: Stopping = field(default_factory=Stopping)
    insight: InsightCache = field(default_factory=InsightCache)
    rooms: dict[str, Room] = field(default_factory=dict)  # of studies that something is done for


class Context(Request):
    """One request of a caller whose key counts, and the service that it came to.

    ``caller`` is the key, None when the service is open; ``params`` is what stands for the names in
    the operation's path. ``study`` of these the caller may see; it is empty where there is none.
    """

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        parts: Parts,
        caller: KeyRecord | None,
        params: dict[str, str],
    ) -> None:
        super().__init__(scope, receive)
        self.parts = parts
        self.caller = caller
        self.params = params
        name = params.get("study", "")
        self.study = self.visible(name) if name else name

    def visible(self, name: str) -> str:
        """A study's name, if the caller may see it; whether there is one is another question."""
        if len(name) > _LONGEST_NAME or "\0" in name or not may_see(self.caller, name):
            raise unknown_study(name)
        return name

    async def study_of(self, pull_id: str) -> str:
        """The name of the study that a pull's id points to, if the caller may see it."""
        form = _PULL_ID.match(pull_id)
        if form is not None:
            registry = self.parts.registry
            name = registry.known(form[1]) or await in_thread(registry.find, form[1])
            if name is not None and may_see(self.caller, name):
                return name
        raise unknown_pull(pull_id)

    async def checked_body(self, model: type[B], *, is_optional: bool = False) -> tuple[B, Any]:
        """The body as a model, and as it was sent."""
        body = await read_body(self, self.parts.settings.max_body_bytes)
        if body:
            check_media_type(self)
        elif not is_optional:
            raise no_body()
        value = parse(body) if body else {}
        return checked(model, value), value

    def checked_query(self, model: type[B]) -> B:
        """The query as a model; a name that comes twice is refused."""
        pairs = self.query_params.multi_items()
        values = dict(pairs)
        if len(values) != len(pairs):
            raise invalid_request("the query names something twice", "one value counts", "drop one")
        return checked(model, values, "the query")

    async def for_study(self, name: str, work: Callable[[], T]) -> T:
        """Run something that blocks and is about a study: of those of one study, a few at a time.

        Requests of a study that is stuck must not take all the threads there are.
        """
        rooms = self.parts.rooms
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

    async def with_study(self, work: Callable[[Study], T]) -> T:
        """Run something that blocks on the study in the path."""
        name = self.study
        return await self.for_study(name, lambda: work(self.parts.registry.study(name)))

    async def change_study(self, change: Callable[[Study], T]) -> T:
        """As ``with_study``; who looks at the study next sees the change."""

        def work(study: Study) -> T:
            done = change(study)
            self.parts.insight.forget(study)
            return done

        return await self.with_study(work)


async def in_thread(work: Callable[..., T], *arguments: Any) -> T:
    """Run something that blocks, while the event loop goes on."""
    # Left to itself when the service gives up at the end of its drain: the caller is told then.
    return await anyio.to_thread.run_sync(work, *arguments, abandon_on_cancel=True)


class JsonResponse(Response):
    """A JSON response that costs little to make."""

    def __init__(self, body: bytes, status: int = 200) -> None:
        self.status_code = status
        self.body = body
        self.background = None
        length = str(len(body)).encode()
        self.raw_headers = [(b"content-type", b"application/json"), (b"content-length", length)]


def respond(value: object, status: int = 200) -> Response:
    """A value as a JSON response."""
    return JsonResponse(to_json(value, inf_nan_mode="null"), status)


def refuse(error: ImaboError) -> Response:
    """An error as a response."""
    return Response(
        json.dumps(document(error)).encode(),
        status_code=status_of(error),
        headers=error.headers if isinstance(error, Refusal) else None,
        media_type=MEDIA_TYPE,
    )
