"""The application: the operations, behind the front door, on a store."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from imabo.server.access import Access
from imabo.server.commits import Commits
from imabo.server.context import Parts, Stopping
from imabo.server.dispatch import Dispatcher
from imabo.server.exports import Exports
from imabo.server.metrics import Metrics
from imabo.server.openapi import declaration, document
from imabo.server.operations import Router
from imabo.server.proposals import Proposals
from imabo.server.readiness import Readiness
from imabo.server.registry import Registry
from imabo.server.routes import OPERATIONS, page
from imabo.server.settings import METRICS_FOLDER, Settings, is_loopback
from imabo.server.sharing import share_interpreter
from imabo.stores.base import Store

_LEAVE_EVERY_S = 1.0
_LAST_WORDS_S = 0.1  # in which requests that are given up are told so


def make_app(store: Store, settings: Settings, *, clock: Callable[[], float] = time.time) -> App:
    """The service on a store that the caller opened and will close.

    Args:
        store: Where the studies and keys are.
        settings: How to run it.
        clock: The clock of every study.

    Example:
        >>> from imabo.stores import MemoryStore
        >>> app = make_app(MemoryStore(), Settings())
        >>> app.title
        'imabo'
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
    shared = os.environ.get(METRICS_FOLDER)
    metrics = Metrics(registry, commits, Path(shared) if shared else None)
    access = Access(store, may_be_open=settings.allow_open or is_loopback(settings.host))
    parts = Parts(
        settings,
        registry,
        commits,
        access,
        metrics,
        Stopping(),
        Readiness(registry),
        exports=Exports(settings.max_exports),
    )
    return App(parts)


class App(FastAPI):
    """The app: the front door answers operations, FastAPI what else there may be.

    Args:
        parts: The parts of the service.
    """

    def __init__(self, parts: Parts) -> None:
        super().__init__(
            title="imabo",
            lifespan=_lifespan,
            redirect_slashes=False,
            docs_url=None,
            redoc_url=None,
            openapi_url=None,
        )
        self.parts = parts
        for operation in OPERATIONS:
            self.add_api_route(operation.path, operation.handler, **declaration(operation))
        for path in page.PATHS:
            self.add_route(path, page.page, ["GET"], include_in_schema=False)
        self._dispatcher = Dispatcher(super().__call__, parts, Router(OPERATIONS), page.PATHS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the lifespan."""
        await self._dispatcher(scope, receive, send)

    def openapi(self) -> dict[str, object]:
        """The OpenAPI document."""
        return document(self)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    if not isinstance(app, App):
        raise TypeError("this is the lifespan of a App")
    parts = app.parts
    parts.registry.start()
    parts.commits.start()
    beside = [
        asyncio.create_task(_leave_counts(parts.metrics)),
        asyncio.create_task(share_interpreter(parts.registry.lanes)),
    ]
    try:
        yield
    finally:
        # Who waits for an answer was waited for already; this is for those who left.
        await parts.commits.drain(parts.stopping.left_s(parts.settings.drain_s))
        if not parts.stopping.left_s(parts.settings.drain_s):
            await asyncio.sleep(_LAST_WORDS_S)
        parts.stopping.has_answered = True
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        await asyncio.to_thread(parts.registry.stop)


async def _leave_counts(metrics: Metrics) -> None:
    try:
        while True:
            await asyncio.sleep(_LEAVE_EVERY_S)
            metrics.leave()
    finally:
        metrics.leave()
