"""What travels to declare and to change a study, apart from domain types."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from imabo.server import wire
from imabo.server.wire import Body, SpacePart, StudyAnswer

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
    control: dict[str, Any] | None = Field(
        None, description="as ``PUT .../control`` takes it; so the two below"
    )
    exposure: float = Field(1.0, ge=0, le=1)
    guardrail: dict[str, Any] | None = None
    if_changed: Literal["error", "update", "keep"] = Field(
        "error", description="what to do with a study of that name that was declared otherwise"
    )
    revision: Annotated[int, Field(ge=0, lt=2**63)] | None = Field(
        None, description="of this declaration; an older one never replaces a newer one"
    )


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
    return {name: sent[name] for name in ("window_s", "reward_range") if name in sent}
