"""Studies: creating, reading, changing and deleting them, and what was learned."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

from starlette.responses import Response

from imabo.checks import checked_record, stored_oracle, stored_policy
from imabo.documents import best_document, study_document
from imabo.engine.declaring import Settled
from imabo.engine.rollouts import first_change
from imabo.errors import StudyExists, UnknownStudy
from imabo.frontier import mix_document
from imabo.server.access import may_see, require_name
from imabo.server.bodies import checked
from imabo.server.context import Context, in_thread, respond
from imabo.server.problems import invalid_request, unknown_study
from imabo.server.registry import Registry
from imabo.server.routes.control import rollout_of
from imabo.server.wire import LevelQuery, PruneBody
from imabo.server.wire_control import ControlBody
from imabo.server.wire_signals import FrontierQuery
from imabo.server.wire_studies import ChangeBody, StudyBody, changes_of
from imabo.space import Space
from imabo.space.scalars import show
from imabo.study import Study

_AT: Final = "2026-11-15T12:00:00.000000Z"


async def list_studies(context: Context) -> Response:
    """The studies that the caller may see, by name."""
    registry, key = context.parts.registry, context.caller

    def read() -> list[dict[str, Any]]:
        studies = []
        for name in registry.store.names():
            if may_see(key, name):
                with suppress(UnknownStudy):  # deleted a moment ago, or not there yet
                    studies.append(_read(registry, name))
        return studies

    return respond({"studies": await in_thread(read)})


async def create_study(context: Context) -> Response:
    """Create a study; the same one again is harmless.

    For one that was declared otherwise, `if_changed` says what to do: a conflict that names the
    difference, an update of what can be changed, or to go on with it as it is.
    """
    body, sent = await context.checked_body(StudyBody)
    checked(ControlBody, {key: sent[key] for key in ("control", "guardrail") if key in sent})
    registry = context.parts.registry
    require_name(context.caller, body.name)

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
            revision=body.revision,
            signals=sent.get("signals"),
            objective=sent.get("objective"),
        )
        rollout = rollout_of(sent)
        first = None
        if rollout is not None:
            space = Space.from_dict(sent["space"])
            first = first_change(space, rollout, record.created_at, record.signals)
        try:
            # The store says who of several made it: one.
            registry.store.create(record, first)
        except StudyExists:
            if registry.is_making(registry.store.outline(body.name).snapshot.study.token):
                raise StudyExists(
                    f"a study named {show(body.name)} is being imported",
                    "names are unique in a store",
                    "wait until it is there, or choose another name",
                ) from None
            study = registry.study(body.name)
            settled = study.redeclare(
                record,
                any_seed=body.seed is None,
                if_changed=body.if_changed,
                rollout=None if first is None else first.rollout,
            )
            if settled.outcome == "updated":
                context.parts.insight.forget(study)
        else:
            settled = Settled("created")
        return settled.outcome == "created", _read(registry, body.name) | asdict(settled)

    is_new, study = await in_thread(create)
    return respond(study, 201 if is_new else 200)


async def read_study(context: Context) -> Response:
    """A study: what it was created with, and how far it has come."""
    return respond(await in_thread(_read, context.parts.registry, context.study))


async def change_study(context: Context) -> Response:
    """Move a study on to another space or other settings; everything that was learned stays."""
    name, registry = context.study, context.parts.registry
    body, sent = await context.checked_body(ChangeBody)

    def change(study: Study) -> dict[str, Any]:
        space = None if body.space is None else Space.from_dict(sent["space"])
        study.update(space, **changes_of(body, sent))
        return _read(registry, name)

    return respond(await context.change_study(change))


async def delete_study(context: Context) -> Response:
    """Delete a study with everything about it."""
    name = context.study
    await context.for_study(name, lambda: context.parts.registry.delete(name))
    return Response(status_code=204)


async def best(context: Context) -> Response:
    """The arm to keep if learning stopped now, with an interval for its mean."""
    level = context.checked_query(LevelQuery).level
    return respond(best_document(await context.with_study(lambda study: study.best(level))))


async def frontier(context: Context) -> Response:
    """Reward against a signal: every arm with intervals, the best mix, and the price now."""
    query = context.checked_query(FrontierQuery)
    found = await context.with_study(lambda study: study.frontier(query.signal, query.level))
    asked = None if query.budget is None else mix_document(found.at(query.budget))
    return respond(found.document() | {"at": asked})


async def expire(context: Context) -> Response:
    """Drop from the pending count what is past its window; asks do this by themselves."""
    return respond({"expired": await context.with_study(Study.expire)})


async def prune(context: Context) -> Response:
    """Forget finished pulls that were served before a time; what they taught stays."""
    body, _ = await context.checked_body(PruneBody)
    before = _time_of(body.before)
    return respond({"pruned": await context.with_study(lambda study: study.prune(before))})


def _read(registry: Registry, name: str) -> dict[str, Any]:
    try:
        found = registry.store.outline(name)
    except UnknownStudy:
        raise unknown_study(name) from None
    if registry.is_making(found.snapshot.study.token):
        raise unknown_study(name)
    return study_document(found)


def _time_of(text: str) -> datetime:
    """An RFC 3339 time as an aware datetime."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None and "T" in text.upper() and 2 <= moment.year <= 9998:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise invalid_request(
        f"the time is {show(text)}",
        f"it must be an RFC 3339 time of the years 2 to 9998 with an offset, such as {_AT}",
        "write it so",
    )
