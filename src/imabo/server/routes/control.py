"""The control: reading and setting it, the lift over it, rolling back and going on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from imabo.control import Control, Rollout, checked_rollout
from imabo.documents import rollout_document
from imabo.engine.rollouts import SAME
from imabo.evaluation import Guardrail
from imabo.lifting import lift_document
from imabo.server.context import Context, respond
from imabo.server.wire_control import ControlBody, LiftQuery, RollBackBody
from imabo.study import Study


async def read_control(context: Context) -> Response:
    """Who gets the control: it, its share, the exposure, the guardrail and the state."""

    def read(study: Study) -> dict[str, Any]:
        study.refresh()
        return _document(study)

    return respond(await context.with_study(read))


async def put_control(context: Context) -> Response:
    """Set, change or end the control; what the body leaves out stays as it is."""
    _, sent = await context.checked_body(ControlBody)
    wanted = _read(sent)

    def change(study: Study) -> dict[str, Any]:
        study.update_control(
            wanted.get("control", SAME),
            exposure=wanted.get("exposure", SAME),
            guardrail=wanted.get("guardrail", SAME),
        )
        return _document(study)

    return respond(await context.change_study(change))


async def lift(context: Context) -> Response:
    """How much better tuned requests are than the control's, with an interval."""
    query = context.checked_query(LiftQuery)
    found = await context.with_study(lambda study: study.lift(query.level, query.last))
    return respond(lift_document(found))


async def roll_back(context: Context) -> Response:
    """Serve the control to everyone, on all servers, until the study is resumed.

    When this is answered, no request gets anything else. Done again, it changes nothing.
    """
    body, sent = await context.checked_body(RollBackBody)

    def change(study: Study) -> dict[str, Any]:
        study.roll_back(sent.get("config"), reason=body.reason)
        return _document(study)

    return respond(await context.change_study(change))


async def resume(context: Context) -> Response:
    """Go on tuning after a study was rolled back; done again, it changes nothing."""

    def change(study: Study) -> dict[str, Any]:
        study.resume()
        return _document(study)

    return respond(await context.change_study(change))


def rollout_of(sent: Mapping[str, Any]) -> Rollout | None:
    """The control that a study is to be created with; None without one."""
    wanted = _read(sent)
    return checked_rollout(
        wanted.get("control"), wanted.get("exposure", 1.0), wanted.get("guardrail")
    )


def _read(sent: Mapping[str, Any]) -> dict[str, Any]:
    """What was sent of the control, as a study takes it."""
    wanted: dict[str, Any] = {}
    if "control" in sent:
        part = sent["control"]
        wanted["control"] = None if part is None else Control(**part)
    if "guardrail" in sent:
        part = sent["guardrail"]
        wanted["guardrail"] = None if part is None else Guardrail(**part)
    if "exposure" in sent:
        wanted["exposure"] = sent["exposure"]
    return wanted


def _document(study: Study) -> dict[str, Any]:
    return rollout_document(study.rollout.document())
