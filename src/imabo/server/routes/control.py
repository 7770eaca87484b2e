"""The control: reading and setting it, the lift over it, rolling back and going on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response

from imabo.control import SHARE, Control, Rollout, checked_rollout
from imabo.documents import rollout_document
from imabo.engine.rollouts import SAME
from imabo.evaluation import Guardrail, half_widths
from imabo.insight.compared import measure, percent
from imabo.lifting import lift_document
from imabo.policies.counts import rate_of
from imabo.server.context import Context, respond
from imabo.server.wire_control import ControlBody, LiftQuery, PlanQuery, RollBackBody
from imabo.study import Study

_AFTER: Final = (1000, 5000, 20_000)  # requests


async def read_control(context: Context) -> Response:
    """Who gets the control: it, its share, the exposure, the guardrail and the state."""

    def read(study: Study) -> dict[str, Any]:
        study.refresh()
        return _document(study)

    return respond(await context.with_study(read))


async def put_control(context: Context) -> Response:
    """Set, change or end the control; what the body leaves out stays as it is."""
    _, sent = await context.checked_body(ControlBody)
    _read(sent)  # what is wrong by itself is refused before the study is looked for

    def change(study: Study) -> dict[str, Any]:
        study.refresh()
        known = study.rollout.control
        wanted = _read(sent, SHARE if known is None else known.share)
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


async def plan(context: Context) -> Response:
    """What a control with such a share would do, and how well the lift would be known."""
    query = context.checked_query(PlanQuery)
    return respond(await context.with_study(lambda study: _plan(study, query)))


async def roll_back(context: Context) -> Response:
    """Serve the control to everyone, on all servers, until the study is resumed.

    When this is answered, no request gets anything else. Done again, it changes nothing.
    """
    body, sent = await context.checked_body(RollBackBody, is_optional=True)

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


def _read(sent: Mapping[str, Any], share: float = SHARE) -> dict[str, Any]:
    """What was sent of the control, as a study takes it; ``share`` where none was sent."""
    wanted: dict[str, Any] = {}
    if "control" in sent:
        part = sent["control"]
        wanted["control"] = None if part is None else Control(**{"share": share, **part})
    if "guardrail" in sent:
        part = sent["guardrail"]
        wanted["guardrail"] = None if part is None else Guardrail(**part)
    if "exposure" in sent:
        wanted["exposure"] = sent["exposure"]
    return wanted


def _plan(study: Study, query: PlanQuery) -> dict[str, Any]:
    wanted = Rollout(Control.random(query.share), exposure=query.exposure)
    chance = wanted.chance or 0.0
    words = f"{percent(chance)} of the requests get the control, {percent(1.0 - chance)} are tuned"
    widths, ends, totals = None, study.reward_range, study.view.totals
    if ends is not None and 0.0 < chance < 1.0:
        low, high = ends
        mean = (
            (totals.reward_sum / totals.n_rewards - low) / (high - low) if totals.n_rewards else 0.5
        )
        rate = rate_of(totals, study.window_s is not None) if totals.n_rewards else 1.0
        found = half_widths(chance, min(max(mean, 0.02), 0.98), _AFTER, feedback_rate=rate)
        widths = [(high - low) * width for width in found]
        known = ", ".join(
            f"{measure(width)} after {n:,}" for n, width in zip(_AFTER, widths, strict=True)
        )
        words += f". The lift is then known to about ± {known} requests"
    elif chance == 1.0:
        words += ": nothing is compared"
    return {
        "chance": chance,
        "requests": list(_AFTER),
        "half_widths": widths,
        "text": f"{words}.",
    }


def _document(study: Study) -> dict[str, Any]:
    return rollout_document(study.rollout.document())
