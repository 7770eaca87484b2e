"""Health, readiness and metrics."""

from __future__ import annotations

from starlette.responses import Response

from imabo.server.context import Context, in_thread, respond
from imabo.server.metrics import MEDIA_TYPE
from imabo.server.problems import unavailable


async def healthz(context: Context) -> Response:
    """Whether the process runs."""
    del context
    return respond({"status": "ok"})


async def readyz(context: Context) -> Response:
    """Whether requests can be served: the database answers and takes writes; else why not."""
    parts = context.parts
    if parts.stopping.is_set():
        raise unavailable("the service is stopping", "it takes no more requests")
    problem = await parts.readiness.check()
    if problem is not None:
        raise problem
    return respond({"status": "ready"})


async def metrics(context: Context) -> Response:
    """What to watch, in the Prometheus text format; of studies, those that the caller may see."""
    parts = context.parts
    text = await in_thread(parts.metrics.text, context.caller)
    return Response(text, headers={"Content-Type": MEDIA_TYPE})
