"""What travels to declare and to change a study, apart from domain types."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from imabo.engine.declaring import checked_settings
from imabo.errors import InvalidSetting
from imabo.server import wire
from imabo.server.wire import Body, SpacePart
from imabo.server.wire_control import EXPOSURE, ControlPart, GuardrailPart, RolloutAnswer
from imabo.server.wire_signals import ObjectivePart, SignalParts
from imabo.space.scalars import show

_FIXED = ("name", "policy", "oracle", "seed", "revision")
_ROLLOUT = ("control", "exposure", "guardrail")
Ends = Annotated[list[float], Field(min_length=2, max_length=2)]


class StudyBody(Body):
    """A study to create, or to go on with."""

    model_config = wire.examples({"name": "support-answers", "space": wire.SPACE, "seed": 0})

    name: wire.Text
    space: SpacePart
    policy: wire.PolicyPart | None = None
    oracle: wire.OraclePart | None = None
    seed: (
        Annotated[int, Field(ge=0, lt=2**128)]
        | Annotated[str, Field(pattern=r"^[0-9]{1,39}$")]
        | None
    ) = Field(None, description="as text when it may exceed 2^53; drawn when it is left out")
    reward_range: Ends | None = Field(
        default=[0.0, 1.0], description="ends of the rewards; null for rewards without ends"
    )
    window_s: float | None = Field(None, gt=0)
    control: ControlPart | None = None
    exposure: float = Field(1.0, ge=0, le=1, description=EXPOSURE)
    guardrail: GuardrailPart | None = None
    if_changed: Literal["error", "update", "keep"] = Field(
        "error", description="what to do with a study of that name that was declared otherwise"
    )
    revision: Annotated[int, Field(ge=0, lt=2**63)] | None = Field(
        None, description="of this declaration; an older one never replaces a newer one"
    )
    signals: SignalParts | None = None
    objective: ObjectivePart | None = None


class ChangeBody(Body):
    """What a study moves on to; what is left out stays."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"window_s": 3600.0}]})

    space: SpacePart | None = None
    window_s: Annotated[float, Field(gt=0)] | None = Field(
        None, description="seconds; null for pulls that wait for ever"
    )
    reward_range: Ends | None = Field(
        None, description="only while there is no reward; null for rewards without ends"
    )
    signals: SignalParts | None = None
    objective: ObjectivePart | None = Field(None, description="null to keep no budget or limit")

    @model_validator(mode="before")
    @classmethod
    def _may_change(cls, sent: Any) -> Any:
        """Say of what a study has, and keeps, why it cannot change here."""
        for name in _FIXED if isinstance(sent, dict) else ():
            if name in sent:
                checked_settings(None, {name: sent[name]})
        for name in _ROLLOUT if isinstance(sent, dict) else ():
            if name in sent:
                why = "control, exposure and guardrail are changed together"
                fix = "send it with PUT to the study's /control"
                raise InvalidSetting(f"{name} is {show(sent[name])}", why, fix)
        return sent


class StudyAnswer(BaseModel):
    """A study: what it was created with, and how far it has come."""

    name: str = Field(examples=["support-answers"])
    space: dict[str, Any] = Field(examples=[wire.SPACE])
    space_version: int
    policy: dict[str, Any] = Field(examples=[{"type": "IMOSS", "beta": 0.5}])
    oracle: dict[str, Any] = Field(examples=[{"type": "GP"}])
    seed: str = Field(examples=["0"])
    reward_range: Ends | None
    window_s: float | None
    revision: int | None = Field(description="of its declaration; null where none was given")
    signals: dict[str, Any] | None = Field(description="that were declared; null without any")
    objective: dict[str, Any] | None = Field(description="budgets and limits; null without any")
    created_at: wire.Time
    n_arms: int
    n_pulls: int
    n_rewards: int
    n_pending: int
    n_expired: int
    state: Literal["tuning", "rolled back"]
    rollout: RolloutAnswer


class StudiesAnswer(BaseModel):
    """The studies that the caller may see, by name."""

    studies: list[StudyAnswer]


class CheckedAnswer(BaseModel):
    """What an imported log was made of."""

    decided: int = Field(description="requests whose decision came out as in the log")
    followed: int = Field(description="requests that were served as the log says")
    rewards: int
    expirations: int
    changes: int


class ImportAnswer(BaseModel):
    """A study that was made from a log."""

    study: StudyAnswer
    checked: CheckedAnswer


class DeclaredAnswer(StudyAnswer):
    """A study that was declared, and what became of the declaration."""

    outcome: Literal["created", "same", "updated", "kept"] = Field(
        description="kept: the study goes on with what it has"
    )
    difference: list[str] = Field(
        description="what was declared otherwise than the study had it, a line each",
        examples=[["window_s: 60.0 becomes 3600.0"]],
    )
    why: str = Field(description="why the study was kept as it is, if that needs a word")


def changes_of(body: ChangeBody, sent: Any) -> dict[str, Any]:
    """The settings that a body names, null or not."""
    names = ("window_s", "reward_range", "signals", "objective")
    return {name: sent[name] for name in names if name in sent}
