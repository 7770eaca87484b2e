"""What happened: to a study, and in the whole service."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from imabo.event_kinds import checked_kinds
from imabo.events import events_page
from imabo.server.access import require_all
from imabo.server.context import Context, in_thread, respond
from imabo.server.problems import invalid_request
from imabo.server.wire_events import EventsQuery
from imabo.stores.base import Store


async def events(context: Context) -> Response:
    """What happened to a study, the newest last: changes by hand, and of the world."""
    query = context.checked_query(EventsQuery)
    name = context.study
    page = await context.with_study(lambda study: _page(study.store, query, name))
    return respond(page)


async def all_events(context: Context) -> Response:
    """What happened to all studies and to the service itself, the newest last.

    A key that is limited to named studies may not see it.
    """
    require_all(context.caller)
    query = context.checked_query(EventsQuery)
    return respond(await in_thread(_page, context.parts.registry.store, query))


def _page(store: Store, query: EventsQuery, study: str | None = None) -> dict[str, Any]:
    if query.after is not None and query.before is not None:
        raise invalid_request("the query has after and before", "a page has one end", "drop one")
    kinds = checked_kinds(kind for kind in (query.kind or "").split(",") if kind)
    ends = {"after": query.after, "before": query.before}
    return events_page(store, study, **ends, kinds=kinds, limit=query.limit)
