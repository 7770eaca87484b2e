"""Health, readiness and metrics."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from imabo.server.desk import caller_of, desk_of, in_thread, json_answer
from imabo.server.metrics import MEDIA_TYPE
from imabo.server.problems import unavailable
from imabo.server.routes.table import Operation
from imabo.server.wire import StatusAnswer


async def healthz(request: Request) -> Response:
    """Whether the process runs."""
    del request
    return json_answer({"status": "ok"})


async def readyz(request: Request) -> Response:
    """Whether requests can be served: the database answers and takes writes; else why not."""
    desk = desk_of(request)
    if desk.stopping.is_set():
        raise unavailable("the service is stopping", "it takes no more requests")
    problem = await desk.readiness.check()
    if problem is not None:
        raise problem
    return json_answer({"status": "ready"})


async def metrics(request: Request) -> Response:
    """What to watch, in the Prometheus text format; of studies, those that the caller may see."""
    desk = desk_of(request)
    text = await in_thread(desk.metrics.text, caller_of(request))
    return Response(text, headers={"Content-Type": MEDIA_TYPE})


OPERATIONS = [
    Operation("GET", "/healthz", healthz, None, {200: StatusAnswer}),
    Operation("GET", "/readyz", readyz, None, {200: StatusAnswer}),
    Operation(
        "GET",
        "/metrics",
        metrics,
        "reader",
        {200: None},
        media={"text/plain": {"schema": {"type": "string"}}},
    ),
]
