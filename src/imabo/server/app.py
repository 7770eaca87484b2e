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
from imabo.server.desk import Desk, Stopping
from imabo.server.exports import Exports
from imabo.server.front import Front
from imabo.server.metrics import Metrics
from imabo.server.office import Office
from imabo.server.openapi import declaration, document
from imabo.server.proposals import Proposals
from imabo.server.readiness import Readiness
from imabo.server.routes import OPERATIONS, page
from imabo.server.routes.table import Switch
from imabo.server.settings import METRICS_FOLDER, Settings, is_loopback
from imabo.server.sharing import share_interpreter
from imabo.stores.base import Store

_LEAVE_EVERY_S = 1.0
_LAST_WORDS_S = 0.1  # in which requests that are given up are told so


def make_app(
    store: Store, settings: Settings, *, clock: Callable[[], float] = time.time
) -> Service:
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
    office = Office(
        store,
        clock=clock,
        poll_s=settings.poll_s,
        retention_s=settings.retention_s,
        proposals=Proposals() if settings.proposals else None,
        threads=settings.commit_threads,
    )
    commits = Commits(office, limit=settings.queue_limit, study_limit=settings.study_queue_limit)
    shared = os.environ.get(METRICS_FOLDER)
    metrics = Metrics(office, commits, Path(shared) if shared else None)
    access = Access(store, may_be_open=settings.allow_open or is_loopback(settings.host))
    desk = Desk(
        settings,
        office,
        commits,
        access,
        metrics,
        Stopping(),
        Readiness(office),
        exports=Exports(settings.max_exports),
    )
    return Service(desk)


class Service(FastAPI):
    """The app: the front door answers operations, FastAPI what else there may be.

    Args:
        desk: The parts of the service.
    """

    def __init__(self, desk: Desk) -> None:
        super().__init__(
            title="imabo",
            lifespan=_lifespan,
            redirect_slashes=False,
            docs_url=None,
            redoc_url=None,
            openapi_url=None,
        )
        self.desk = desk
        for operation in OPERATIONS:
            self.add_api_route(operation.path, operation.handler, **declaration(operation))
        for path in page.PATHS:
            self.add_route(path, page.page, ["GET"], include_in_schema=False)
        self._front = Front(super().__call__, desk, Switch(OPERATIONS), page.PATHS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the lifespan."""
        await self._front(scope, receive, send)

    def openapi(self) -> dict[str, object]:
        """The OpenAPI document."""
        return document(self)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    if not isinstance(app, Service):
        raise TypeError("this is the lifespan of a Service")
    desk = app.desk
    desk.office.start()
    desk.commits.start()
    beside = [
        asyncio.create_task(_leave_counts(desk.metrics)),
        asyncio.create_task(share_interpreter(desk.office.lanes)),
    ]
    try:
        yield
    finally:
        # Who waits for an answer was waited for already; this is for those who left.
        await desk.commits.drain(desk.stopping.left_s(desk.settings.drain_s))
        if not desk.stopping.left_s(desk.settings.drain_s):
            await asyncio.sleep(_LAST_WORDS_S)
        desk.stopping.has_answered = True
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
        await asyncio.to_thread(desk.office.stop)


async def _leave_counts(metrics: Metrics) -> None:
    try:
        while True:
            await asyncio.sleep(_LEAVE_EVERY_S)
            metrics.leave()
    finally:
        metrics.leave()
