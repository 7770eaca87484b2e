"""The application: the parts of the service on a store, behind the dispatcher."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
from starlette.routing import Router

from imabo.server.access import Access
from imabo.server.commits import Commits
from imabo.server.context import Parts
from imabo.server.dispatch import Dispatcher
from imabo.server.metrics import Metrics
from imabo.server.proposals import Proposals
from imabo.server.readiness import Readiness
from imabo.server.registry import Lanes, Registry
from imabo.server.sender import Sender
from imabo.server.settings import METRICS_FOLDER, Settings, is_loopback
from imabo.stores.base import Store

if TYPE_CHECKING:
    from imabo.gateway.app import Gateway

_LEAVE_EVERY_S: Final = 1.0
_LAST_WORDS_S: Final = 0.1  # in which requests that are given up are told so
_IMPORTS_AT_ONCE: Final = 4  # each has a thread to itself; more of them wait
_LOOK_EVERY_S: Final = 0.1
_LONG_S: Final = 0.25  # that a job must be under way; few that only wait for the disk are
_KEEP_S: Final = 10.0  # after one was seen: the next is likely
SHORT_S: Final = 0.0005


def make_app(
    store: Store, settings: Settings, *, clock: Callable[[], float] = time.time
) -> Dispatcher:
    """The service on a store that the caller opened and will close, as an ASGI application.

    Example:
        >>> from imabo.stores import MemoryStore
        >>> app = make_app(MemoryStore(), Settings())
        >>> app.parts.settings.port
        8766
    """
    registry = Registry(
        store,
        clock=clock,
        poll_s=settings.poll_s,
        retention_s=settings.retention_s,
        proposals=Proposals() if settings.proposals else None,
        threads=settings.commit_threads,
    )
    commits = Commits(registry, limit=settings.queue_limit, study_limit=settings.study_queue_limit)
    sender = Sender(store, allow_private=settings.allow_private_webhooks, poll_s=settings.poll_s)
    shared = os.environ.get(METRICS_FOLDER)
    parts = Parts(
        settings,
        registry,
        commits,
        Access(store, may_be_open=settings.allow_open or is_loopback(settings.host)),
        Metrics(registry, commits, Path(shared) if shared else None, sender.outcomes),
        Readiness(registry),
        sender,
        exports=anyio.CapacityLimiter(settings.max_exports),
        imports=anyio.CapacityLimiter(_IMPORTS_AT_ONCE),
    )
    gateway = None
    if settings.gateway is not None:
        from imabo.gateway.mounted import mounted

        gateway = mounted(settings.gateway, parts)
    return Dispatcher(parts, Router(lifespan=lambda _: _lifespan(parts, gateway)), gateway)


@asynccontextmanager
async def _lifespan(parts: Parts, gateway: Gateway | None) -> AsyncIterator[None]:
    parts.registry.start()
    parts.commits.start()
    parts.sender.start()
    beside = [
        asyncio.create_task(_leave_counts(parts.metrics)),
        asyncio.create_task(share_interpreter(parts.registry.lanes)),
    ]
    try:
        yield
    finally:
        if gateway is not None:
            await gateway.stop()
        # Who waits for an answer was waited for already; this is for those who left.
        await parts.commits.drain(parts.stopping.left_s(parts.settings.drain_s))
        if not parts.stopping.left_s(parts.settings.drain_s):
            await asyncio.sleep(_LAST_WORDS_S)
        parts.stopping.has_answered = True
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        await asyncio.to_thread(parts.sender.stop)
        await asyncio.to_thread(parts.registry.stop)


async def _leave_counts(metrics: Metrics) -> None:
    try:
        while True:
            await asyncio.sleep(_LEAVE_EVERY_S)
            metrics.leave()
    finally:
        metrics.leave()


async def share_interpreter(lanes: Lanes) -> None:
    """Have threads take turns more often while a job of a study is under way for long.

    Python lets a thread compute for 5 ms before another that waits gets its turn, and a request
    waits so several times: beside a study that computes all the time, the tail of the others was 4
    times as long. Shorter turns cost a little, so they are for such times alone.
    """
    usual_s = sys.getswitchinterval()
    is_short, until = False, 0.0
    try:
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            now = time.monotonic()
            if lanes.stuck(_LONG_S):
                until = now + _KEEP_S
            if is_short != (now < until):
                is_short = not is_short
                sys.setswitchinterval(SHORT_S if is_short else usual_s)
    finally:
        sys.setswitchinterval(usual_s)
