"""Health, readiness and metrics."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from imabo.server.context import caller_of, in_thread, json_answer, parts_of
from imabo.server.metrics import MEDIA_TYPE
from imabo.server.operations import Operation
from imabo.server.problems import unavailable
from imabo.server.wire import StatusAnswer


async def healthz(request: Request) -> Response:
    """Whether the process runs."""
    del request
    return json_answer({"status": "ok"})


async def readyz(request: Request) -> Response:
    """Whether requests can be served: the database answers and takes writes; else why not."""
    parts = parts_of(request)
    if parts.stopping.is_set():
        raise unavailable("the service is stopping", "it takes no more requests")
    problem = await parts.readiness.check()
    if problem is not None:
        raise problem
    return json_answer({"status": "ready"})


async def metrics(request: Request) -> Response:
    """What to watch, in the Prometheus text format; of studies, those that the caller may see."""
    parts = parts_of(request)
    text = await in_thread(parts.metrics.text, caller_of(request))
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
