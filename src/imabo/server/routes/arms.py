"""Arms: listing, adding, pausing, resuming and retiring them."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from imabo.arms import Arm
from imabo.documents import arm_document
from imabo.errors import UnknownArm
from imabo.server.context import body_of, decoded, for_study, json_answer, parts_of, study_name
from imabo.server.operations import Operation
from imabo.server.wire import ArmAnswer, ArmBody, ArmsAnswer, ArmsBody, StateBody
from imabo.space.scalars import show

_MAX_DIGITS = 18


async def list_arms(request: Request) -> Response:
    """Every arm ever admitted, in order of admission."""
    name, registry = study_name(request), parts_of(request).registry
    arms = await for_study(request, name, lambda: registry.study(name).arms())
    return json_answer({"arms": [arm_document(arm) for arm in arms]})


async def add_arm(request: Request) -> Response:
    """Admit a configuration by hand; one that is an arm already becomes active again."""
    name, parts = study_name(request), parts_of(request)
    _, sent = await body_of(request, ArmBody)

    def add() -> tuple[bool, Arm]:
        study = parts.registry.study(name)
        n_before = study.n_arms
        arm = study.add_arm(sent["config"])
        parts.insight.forget(study)
        return arm.id > n_before, arm

    is_new, arm = await for_study(request, name, add)
    return json_answer(arm_document(arm), 201 if is_new else 200)


async def add_arms(request: Request) -> Response:
    """Admit many configurations by hand in one transaction, all of them or none.

    Those that are arms already become active again. Done again, it changes nothing.
    """
    name, parts = study_name(request), parts_of(request)
    _, sent = await body_of(request, ArmsBody)

    def add() -> list[Arm]:
        study = parts.registry.study(name)
        arms = study.add_arms(sent["configs"])
        parts.insight.forget(study)
        return arms

    arms = await for_study(request, name, add)
    return json_answer({"arms": [arm_document(arm) for arm in arms]})


async def change_arm(request: Request) -> Response:
    """Pause, resume or retire an arm."""
    name, parts = study_name(request), parts_of(request)
    body, _ = await body_of(request, StateBody)
    arm_id = _arm_id(decoded(request.path_params["arm"]))

    def change() -> Arm:
        study = parts.registry.study(name)
        verbs = {"active": study.resume, "paused": study.pause, "retired": study.retire}
        arm = verbs[body.state](arm_id)
        parts.insight.forget(study)
        return arm

    return json_answer(arm_document(await for_study(request, name, change)))


def _arm_id(text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS:
        return int(text)
    raise UnknownArm(
        f"no arm has the id {show(text)}",
        "arms are numbered from 1",
        "take the id from the study's arms",
    )


_OPENED = ("unknown_study", "invalid_setting")

OPERATIONS = [
    Operation("GET", "/v1/studies/{study}/arms", list_arms, "reader", {200: ArmsAnswer}, _OPENED),
    Operation(
        "POST",
        "/v1/studies/{study}/arms",
        add_arm,
        "admin",
        {201: ArmAnswer, 200: ArmAnswer},
        (*_OPENED, "invalid_config"),
        ArmBody,
    ),
    Operation(
        "POST",
        "/v1/studies/{study}/arms/batch",
        add_arms,
        "admin",
        {200: ArmsAnswer},
        (*_OPENED, "invalid_config"),
        ArmsBody,
    ),
    Operation(
        "PATCH",
        "/v1/studies/{study}/arms/{arm}",
        change_arm,
        "admin",
        {200: ArmAnswer},
        (*_OPENED, "unknown_arm"),
        StateBody,
    ),
]
