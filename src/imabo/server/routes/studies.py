"""Studies: creating, reading, changing and deleting them, and what was learned."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from imabo.checks import checked_record, require_same, stored_oracle, stored_policy
from imabo.documents import best_document, event_document, study_document
from imabo.errors import StudyExists, UnknownStudy
from imabo.server.context import (
    body_of,
    caller_of,
    for_study,
    in_thread,
    json_answer,
    parts_of,
    query_of,
    require_name,
    study_name,
)
from imabo.server.conversions import time_of
from imabo.server.keys import may_see
from imabo.server.operations import Operation
from imabo.server.problems import unknown_study
from imabo.server.registry import Registry
from imabo.server.routes.export import ExportAnswer
from imabo.server.wire import (
    BestAnswer,
    EventsAnswer,
    EventsQuery,
    ExpiredAnswer,
    FormatQuery,
    LevelQuery,
    PruneBody,
    PrunedAnswer,
    SpaceBody,
    StudiesAnswer,
    StudyAnswer,
    StudyBody,
)
from imabo.space import Space
from imabo.space.scalars import show


async def list_studies(request: Request) -> Response:
    """The studies that the caller may see, by name."""
    registry, key = parts_of(request).registry, caller_of(request)

    def read() -> list[dict[str, Any]]:
        studies = []
        for name in registry.store.names():
            if may_see(key, name):
                try:
                    studies.append(_read(registry, name))
                except UnknownStudy:  # deleted a moment ago, or not there yet
                    continue
        return studies

    return json_answer({"studies": await in_thread(read)})


async def create_study(request: Request) -> Response:
    """Create a study; the same one again is harmless, another one of that name is a conflict."""
    body, sent = await body_of(request, StudyBody)
    registry = parts_of(request).registry
    require_name(caller_of(request), body.name)

    def create() -> tuple[bool, dict[str, Any]]:
        ends = body.reward_range
        record = checked_record(
            body.name,
            Space.from_dict(sent["space"]),
            None if body.policy is None else stored_policy(None, sent["policy"]),
            None if body.oracle is None else stored_oracle(None, sent["oracle"]),
            seed=None if body.seed is None else int(body.seed),
            reward_range=None if ends is None else (ends[0], ends[1]),
            window_s=body.window_s,
            created_at=registry.clock(),
        )
        try:
            # The store says who of several made it: one.
            registry.store.create(record)
        except StudyExists:
            require_same(registry.store, record, any_seed=body.seed is None)
            if registry.is_making(registry.store.load(body.name).study.token):
                raise StudyExists(
                    f"a study named {show(body.name)} is being imported",
                    "names are unique in a store",
                    "wait until it is there, or choose another name",
                ) from None
            return False, _read(registry, body.name)
        return True, _read(registry, body.name)

    is_new, study = await in_thread(create)
    return json_answer(study, 201 if is_new else 200)


async def read_study(request: Request) -> Response:
    """A study: what it was created with, and how far it has come."""
    return json_answer(await in_thread(_read, parts_of(request).registry, study_name(request)))


async def change_study(request: Request) -> Response:
    """Move a study on to another space; everything that was learned stays."""
    name, parts = study_name(request), parts_of(request)
    _, sent = await body_of(request, SpaceBody)

    def change() -> dict[str, Any]:
        study = parts.registry.study(name)
        study.update_space(Space.from_dict(sent["space"]))
        parts.insight.forget(study)
        return _read(parts.registry, name)

    return json_answer(await for_study(request, name, change))


async def delete_study(request: Request) -> Response:
    """Delete a study with everything about it."""
    name, registry = study_name(request), parts_of(request).registry
    await for_study(request, name, lambda: registry.delete(name))
    return Response(status_code=204)


async def best(request: Request) -> Response:
    """The arm to keep if learning stopped now, with an interval for its mean."""
    name, query = study_name(request), query_of(request, LevelQuery)
    registry = parts_of(request).registry
    found = await for_study(request, name, lambda: registry.study(name).best(query.level))
    return json_answer(best_document(found))


async def events(request: Request) -> Response:
    """What happened to a study, the newest last: changes by hand, and of the world."""
    name, query = study_name(request), query_of(request, EventsQuery)
    registry = parts_of(request).registry

    def work() -> dict[str, Any]:
        return {"events": [event_document(one) for one in registry.study(name).events(query.limit)]}

    return json_answer(await for_study(request, name, work))


async def export(request: Request) -> Response:
    """The study as JSON lines (the whole log) or as CSV (a row a pull)."""
    name, query = study_name(request), query_of(request, FormatQuery)
    parts = parts_of(request)
    study = await for_study(request, name, lambda: parts.registry.study(name))
    return ExportAnswer(study, query.format, parts.exports)


async def expire(request: Request) -> Response:
    """Drop from the pending count what is past its window; asks do this by themselves."""
    name, registry = study_name(request), parts_of(request).registry
    return json_answer(
        {"expired": await for_study(request, name, lambda: registry.study(name).expire())}
    )


async def prune(request: Request) -> Response:
    """Forget finished pulls that were served before a time; what they taught stays."""
    name, registry = study_name(request), parts_of(request).registry
    body, _ = await body_of(request, PruneBody)
    before = time_of(body.before)
    return json_answer(
        {"pruned": await for_study(request, name, lambda: registry.study(name).prune(before))}
    )


def _read(registry: Registry, name: str) -> dict[str, Any]:
    try:
        snapshot = registry.store.load(name)
    except UnknownStudy:
        raise unknown_study(name) from None
    if registry.is_making(snapshot.study.token):
        raise unknown_study(name)
    return study_document(snapshot)


_PATH = "/v1/studies/{study}"
_UNKNOWN = ("unknown_study",)
# A study whose parts this server does not know is refused when it is opened.
_OPENED = ("unknown_study", "invalid_setting")

OPERATIONS = [
    Operation("GET", "/v1/studies", list_studies, "reader", {200: StudiesAnswer}),
    Operation(
        "POST",
        "/v1/studies",
        create_study,
        "admin",
        {201: StudyAnswer, 200: StudyAnswer},
        ("study_exists", "invalid_space", "invalid_setting", "missing_extra"),
        StudyBody,
    ),
    Operation("GET", _PATH, read_study, "reader", {200: StudyAnswer}, _UNKNOWN),
    Operation(
        "PATCH",
        _PATH,
        change_study,
        "admin",
        {200: StudyAnswer},
        (*_OPENED, "invalid_space"),
        SpaceBody,
    ),
    Operation("DELETE", _PATH, delete_study, "admin", {204: None}, _UNKNOWN),
    Operation(
        "GET",
        f"{_PATH}/best",
        best,
        "reader",
        {200: BestAnswer},
        (*_OPENED, "no_rewards"),
        query=LevelQuery,
    ),
    Operation(
        "GET",
        f"{_PATH}/events",
        events,
        "reader",
        {200: EventsAnswer},
        _OPENED,
        query=EventsQuery,
    ),
    Operation(
        "GET",
        f"{_PATH}/export",
        export,
        "reader",
        {200: None},
        _OPENED,
        query=FormatQuery,
        media={
            "application/x-ndjson": {"schema": {"type": "string"}},
            "text/csv": {"schema": {"type": "string"}},
        },
    ),
    Operation("POST", f"{_PATH}/expire", expire, "writer", {200: ExpiredAnswer}, _OPENED),
    Operation("POST", f"{_PATH}/prune", prune, "admin", {200: PrunedAnswer}, _OPENED, PruneBody),
]
