"""The control of a study of a service, written once for both clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from imabo.arms import Arm
from imabo.client import answers
from imabo.client.http import json_of
from imabo.client.steps import Steps, shared
from imabo.client.study_methods import StudyMethods
from imabo.compared import checked_reason
from imabo.control import Control, Rollout, guardrail_document, with_settings
from imabo.engine.rollouts import SAME, Same
from imabo.evaluation import Guardrail
from imabo.lifting import LiftReport, report_from
from imabo.settings import check_count, check_fraction


class StudyControl(StudyMethods):
    """What both sides do with the control of a study; ``Study`` says what each means."""

    @shared
    def update_control(
        self,
        control: Control | Same | None = SAME,
        *,
        exposure: float | Same = SAME,
        guardrail: Guardrail | Same | None = SAME,
    ) -> Steps[None]:
        """Set, change or end the control, the exposure and the guardrail; the rest stays."""
        body: dict[str, Any] = settings_body(control, exposure, guardrail)
        yield from self._call("PUT", "/control", answers.ignored, json_of(**body))

    @shared
    def lift(self, level: float = 0.95, last: int = 1000) -> Steps[LiftReport]:
        """How much better the tuned requests are than the control's, with an interval."""
        check_fraction("level", level)
        check_count("last", last, least=1)
        params = {"level": level, "last": last}
        return (yield from self._call("GET", "/lift", report_from, params=params))

    @shared
    def roll_back(
        self, config: Mapping[str, object] | None = None, *, reason: str | None = None
    ) -> Steps[None]:
        """Serve the control to everyone, on all servers, until ``resume``; the kill switch."""
        body: dict[str, Any] = {"reason": checked_reason(reason)}
        if config is not None:
            body["config"] = (yield from self._facts()).space.validate(config)
        yield from self._call("POST", "/roll-back", answers.ignored, json_of(**body))

    @shared
    def resume(self, arm: Arm | int | Same = SAME) -> Steps[Arm | None]:
        """Serve a paused arm again; without an arm, go on tuning after a roll-back."""
        if not isinstance(arm, Same):
            return (yield from self._put_state(arm, "active"))
        yield from self._call("POST", "/resume", answers.ignored)
        return None


def settings_body(
    control: Control | Same | None, exposure: float | Same, guardrail: Guardrail | Same | None
) -> dict[str, Any]:
    """What to send of the control, checked as far as that can be done here."""
    some = Control.random()
    with_settings(
        Rollout(),
        some if isinstance(control, Same) or control is None else control,
        1.0 if isinstance(exposure, Same) else exposure,
        None if isinstance(guardrail, Same) else guardrail,
    )
    body: dict[str, Any] = {}
    if not isinstance(control, Same):
        body["control"] = None if control is None else control.to_dict()
    if not isinstance(exposure, Same):
        body["exposure"] = float(exposure)
    if not isinstance(guardrail, Same):
        body["guardrail"] = guardrail_document(guardrail)
    return body
