"""What travels about the control: bodies and answers, as in ``wire``."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, Field

from imabo.server.wire import Body, Config, Query, Time

Ends = list[float]
EXPOSURE: Final = (
    "share of the requests that may be tuned; the rest gets the control, and so does the control's "
    "share of those that may: exposure * (1 - share) of all requests are tuned"
)


class ControlPart(Body):
    """What a share of the requests gets, whatever was learned; ``config`` null is a draw of P0."""

    config: Config | None
    share: float = Field(
        0.05, gt=0, lt=1, description="left out in a change, it is that of the control until then"
    )


class GuardrailPart(Body):
    """Serve the control to everyone when tuned is worse than it by more than ``margin``."""

    margin: float = Field(0.02, ge=0)
    level: float = Field(0.975, gt=0, lt=1)
    signal: str | None = Field(
        None, description="the declared signal to watch in place of the reward"
    )
    worse: Literal["higher", "lower"] = Field(
        "higher", description="which way the signal is worse; of rewards it is always lower"
    )


class ControlBody(Body):
    """What to change of the control; what is left out stays, and null ends it."""

    control: ControlPart | None = None
    exposure: float = Field(1.0, ge=0, le=1, description=EXPOSURE)
    guardrail: GuardrailPart | None = None


class RollBackBody(Body):
    """Serve the control to everyone."""

    config: Config | None = Field(
        None, description="what to serve, where there is no control or another one is wanted"
    )
    reason: str | None = Field(None, max_length=500, pattern=r"^[^\x00]*$")


class LiftQuery(Query):
    """What the lift is asked for."""

    level: float = Field(0.95, gt=0, lt=1, description="coverage of the intervals")
    last: int = Field(1000, ge=1, le=10**9, description="rewards that ``last`` is about")


class PlanQuery(Query):
    """A control to plan; the mean reward and the feedback rate are those of the study."""

    share: float = Field(0.05, gt=0, lt=1, description="of the control, as ``/control`` takes it")
    exposure: float = Field(1.0, ge=0, le=1, description=EXPOSURE)


class PlanAnswer(BaseModel):
    """How many requests get the control, and how well the lift is known after some of them."""

    chance: float = Field(description="that a request gets the control")
    requests: list[int] = Field(examples=[[1000, 5000, 20000]])
    half_widths: list[float] | None = Field(
        description="half the width of the lift's interval after so many requests, at most about; "
        "null where rewards have no range, or everyone gets the control"
    )
    text: str


class RolloutAnswer(BaseModel):
    """Who gets the control."""

    control: ControlPart | None
    arm: int | None = Field(description="the control's arm; null for a random one")
    exposure: float = Field(description=EXPOSURE)
    guardrail: GuardrailPart | None
    state: Literal["tuning", "rolled back"]
    reason: str | None = Field(description="why it was rolled back")
    since: Time | None = Field(description="when the comparison with this control began")
    changed_at: Time | None = Field(description="when the state last changed")


class StretchAnswer(BaseModel):
    """Tuned minus control over some of the rewards; null while it is not known."""

    estimate: float | None
    interval: Ends | None
    relative: float | None
    relative_interval: Ends | None
    is_known: bool
    method: Literal["betting", "asymptotic"]
    level: float
    n_tuned: int
    n_control: int
    tuned_mean: float | None
    control_mean: float | None


class DayAnswer(StretchAnswer):
    """The lift of a day (UTC)."""

    day: str = Field(examples=["2026-11-15"])


class LiftAnswer(BaseModel):
    """Tuned minus control since the control was set, with intervals, and in words."""

    estimate: float | None = Field(description="null while it is not known yet")
    interval: Ends | None
    relative: float | None = Field(description="as a part of the control's mean")
    relative_interval: Ends | None
    level: float
    method: Literal["betting", "asymptotic"]
    n_tuned: int = Field(description="rewards of tuned requests")
    n_control: int
    tuned_mean: float | None
    control_mean: float | None
    served_tuned: int = Field(description="requests that a coin gave to the tuned side")
    served_control: int
    feedback_tuned: float | None
    feedback_control: float | None
    is_uneven: bool = Field(description="whether the feedback rates surely differ")
    n_more: int = Field(description="about how many more rewards until it is known")
    by_day: list[DayAnswer]
    last: StretchAnswer
    control: ControlPart
    since: Time
    state: Literal["tuning", "rolled back"]
    text: str = Field(examples=["Tuned is better than the control: +0.21, between +0.15 and +0.27"])
