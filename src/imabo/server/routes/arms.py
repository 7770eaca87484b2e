"""Arms: listing, adding, pausing, resuming and retiring them."""

from __future__ import annotations

from collections.abc import Callable

from starlette.responses import Response

from imabo.arms import Arm
from imabo.documents import arm_document
from imabo.errors import UnknownArm
from imabo.server.context import Context, respond
from imabo.server.wire import ArmBody, ArmsBody, StateBody
from imabo.space.scalars import show
from imabo.study import Study

_MAX_DIGITS = 18


async def list_arms(context: Context) -> Response:
    """Every arm ever admitted, in order of admission."""
    arms = await context.with_study(Study.arms)
    return respond({"arms": [arm_document(arm) for arm in arms]})


async def add_arm(context: Context) -> Response:
    """Admit a configuration by hand; one that is an arm already becomes active again."""
    _, sent = await context.checked_body(ArmBody)

    def add(study: Study) -> tuple[bool, Arm]:
        n_before = study.n_arms
        arm = study.add_arm(sent["config"])
        return arm.id > n_before, arm

    is_new, arm = await context.change_study(add)
    return respond(arm_document(arm), 201 if is_new else 200)


async def add_arms(context: Context) -> Response:
    """Admit many configurations by hand in one transaction, all of them or none.

    Those that are arms already become active again. Done again, it changes nothing.
    """
    _, sent = await context.checked_body(ArmsBody)
    arms = await context.change_study(lambda study: study.add_arms(sent["configs"]))
    return respond({"arms": [arm_document(arm) for arm in arms]})


async def change_arm(context: Context) -> Response:
    """Pause, resume or retire an arm."""
    body, _ = await context.checked_body(StateBody)
    arm_id = _arm_id(context.params["arm"])
    verbs: dict[str, Callable[[Study], Arm]] = {
        "active": lambda study: study.resume(arm_id),
        "paused": lambda study: study.pause(arm_id),
        "retired": lambda study: study.retire(arm_id),
    }
    return respond(arm_document(await context.change_study(verbs[body.state])))


def _arm_id(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS:
        return int(text)
    raise UnknownArm(
        f"no arm has the id {show(text)}",
        "arms are numbered from 1",
        "take the id from the study's arms",
    )
