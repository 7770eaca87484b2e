"""What travels of the read models: key figures, figures, the table of arms, previews."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from imabo.insight.arm_table import OF_SIGNAL, SORTS
from imabo.server.wire import Config, Query
from imabo.server.wire_control import LiftAnswer

_SIGNAL: Final = re.compile(rf"^{OF_SIGNAL}[^\s]{{1,60}}$")
State = Literal["active", "paused", "retired"]
Interval = Annotated[
    list[float | None],
    Field(min_length=2, max_length=2, description="an end without a bound is null"),
]
Seconds = Annotated[float, Field(description="seconds since 1970", examples=[1794744000.0])]


class OverviewQuery(Query):
    """What to send beside the key figures."""

    trend: int = Field(0, ge=0, le=200, description="points of the rolling mean to send along")


class FigureQuery(Query):
    """What to draw."""

    baseline: int | None = Field(
        None,
        ge=1,
        lt=10**18,
        description="an arm to compare the reward with; other figures ignore it",
    )
    axis: Literal["time", "requests"] = Field(
        "time", description="what figures of the past have across; others ignore it"
    )
    parameter: str | None = Field(
        None,
        max_length=1000,
        description="whose values share the traffic, the first choice by default; other figures "
        "ignore it",
    )
    signal: Annotated[str, Field(min_length=1, max_length=60)] | None = Field(
        None,
        description="what the reward is held against, and the spend is of; that of the first "
        "budget by default; other figures ignore it",
    )
    limit: int = Field(
        8, ge=1, le=50, description="how many of the best arms to show; other figures ignore it"
    )


def _checked_column(text: str) -> str:
    if text not in SORTS and _SIGNAL.fullmatch(text) is None:
        raise PydanticCustomError(
            "column",
            f"it must be one of {', '.join(SORTS)} or {OF_SIGNAL}NAME, the mean of a signal",
        )
    return text


# One check, because a union would name all that it tried; whether there is such a signal, the study
# knows.
Column = Annotated[
    str,
    AfterValidator(_checked_column),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": list(SORTS), "type": "string"},
                {"pattern": _SIGNAL.pattern, "type": "string"},
            ]
        }
    ),
]


class TableQuery(Query):
    """Which arms, and in which order; equal ones are in the order of their ids."""

    sort: Column = Field("sure", description="a column; signal:cost is the mean of the signal cost")
    descending: bool = True
    states: str | None = Field(
        None,
        pattern=r"^(active|paused|retired)(,(active|paused|retired)){0,2}$",
        description="only arms in these states, with commas between; all by default",
    )
    text: str = Field("", max_length=200, description="only arms in which all of these words occur")
    offset: int = Field(0, ge=0, lt=10**9)
    limit: int = Field(50, ge=1, le=1000)


class MixPart(BaseModel):
    """An arm of a mix, with its share of the requests."""

    arm: int
    share: float
    label: str
    config: Config
    mean: float
    uses: dict[str, float] = Field(description="the mean of each signal, by name")


class BestMix(BaseModel):
    """The arms to serve within budgets and limits, the largest share first."""

    parts: list[MixPart]
    mean: float = Field(description="what they would earn together")
    uses: dict[str, float] = Field(description="what they would use together, by signal")
    is_within: bool = Field(description="false where no arm is within budgets and limits")


class BestArm(BaseModel):
    """The arm to keep if learning stopped now."""

    arm: int = Field(examples=[3])
    config: Config
    label: str = Field(description="what sets it apart from the other arms, in words")
    mean: float = Field(description="an estimate that is not flattered by the choice")
    observed: float | None = Field(
        description="the plain average of its rewards; null when it has none after a change"
    )
    chance: float | None = Field(description="how likely it is to be the best of the active arms")
    interval: Interval
    n_rewards: int
    since: Seconds | None = Field(
        description="when the study last noticed a change: the numbers are of the rewards after it"
    )
    mix: BestMix | None = Field(description="with an objective, what to serve within it")


class GoalAnswer(BaseModel):
    """A budget or a limit, and how it is kept."""

    name: str = Field(examples=["cost"])
    signal: str
    unit: str
    above: float | None = Field(description="of a limit, above which a request counts")
    allowed: float = Field(description="on average; of a limit, the share of the requests")
    used: float | None = Field(description="on average so far; of a limit, the share above it")
    recent: float | None = Field(description="the same of the newest requests since it was set so")
    n: int = Field(description="requests that have said what they used")
    n_recent: int
    price: float = Field(description="what one more of it a request buys in reward now")
    price_text: str = Field(examples=["0.01 of reward costs $0.0004 more a request"])
    text: str
    is_kept: bool | None = Field(description="null while it is not known")
    trend: list[float | None] = Field(description="what was used over time, in a few points")
    can_be_kept: bool = Field(description="false where nothing keeps it, alone or with the others")


class Answer(BaseModel):
    """A question that a team has, and what the study says to it today, for people to read."""

    name: Literal["working", "best", "cost", "feedback", "budget"]
    question: str = Field(examples=["Is it working?"])
    answer: str = Field(examples=["Yes: +0.293 against random"])
    detail: str
    tone: Literal["good", "warn", "bad", "plain"]


class OverviewAnswer(BaseModel):
    """The key figures of a study."""

    name: str = Field(examples=["support-answers"])
    created_at: Seconds
    last_at: Seconds
    last_pull_at: Seconds | None = Field(
        description="when the last request was served; rewards, expiry and changes by hand are no "
        "traffic"
    )
    n_pulls: int
    n_rewards: int
    n_pending: int
    n_expired: int
    n_arms: int
    n_active: int = Field(description="arms that are not retired")
    n_servable: int = Field(description="arms that are neither retired nor paused")
    space_version: int
    reward_range: Annotated[list[float], Field(min_length=2, max_length=2)] | None
    window_s: float | None
    recent_mean: float | None
    recent_interval: Interval | None
    n_recent: int = Field(description="rewards that recent_mean is the mean of")
    random_mean: float | None = Field(
        description="what serving at random would give; null while it is not known well enough"
    )
    random_interval: Interval | None = Field(description="is there before random_mean is")
    n_random: int = Field(description="rewards that random_mean rests on")
    n_random_more: int = Field(
        description="about how many more requests must try a configuration drawn at random until "
        "random_mean is known; 0 when it is"
    )
    best: BestArm | None
    feedback_rate: float | None
    recent_feedback_rate: float | None = Field(
        description="rewards for each of the newest tenth of the pulls; null before 20 of them"
    )
    delay_s: float | None = Field(description="half of the rewards came within so many seconds")
    cost: float | None = Field(
        description="what always serving today's best arm would have given more, an estimate"
    )
    cost_interval: Interval | None
    recent_cost: float | None = Field(description="the cost of each of the newest pulls")
    gain: float | None = Field(description="what was earned beyond serving at random")
    pulls_per_minute: float | None
    lift: LiftAnswer | None = Field(description="over the control; null without one")
    state: Literal["empty", "rolled back", "no feedback", "warming up", "learning", "settled"]
    answers: list[Answer] = Field(
        description="the four questions that the page begins with; with an objective, a fifth"
    )
    goals: list[GoalAnswer] = Field(description="budgets and limits; none without an objective")
    trend: list[float | None] | None = Field(
        None, description="the rolling mean of the rewards, when it was asked for"
    )


class Caption(BaseModel):
    """A figure by its name."""

    name: str = Field(examples=["reward"])
    title: str
    about: str
    is_research: bool = Field(False, description="whether it takes knowing how imabo works inside")


class FiguresAnswer(BaseModel):
    """The figures that there are of a study."""

    figures: list[Caption]


class FigureAnswer(BaseModel):
    """A figure as Plotly draws it, without colours of text and background."""

    name: str = Field(examples=["reward"])
    title: str
    about: str

    data: list[dict[str, Any]]
    layout: dict[str, Any]


class ArmRow(BaseModel):
    """An arm with the interval of its mean and its share of all pulls."""

    id: int = Field(examples=[3])
    config: Config
    origin: Literal["warmup", "oracle", "baseline", "manual", "control"]
    state: State
    n_pulls: int
    n_rewards: int
    n_pending: int
    mean: float | None = Field(description="the plain average of its rewards")
    low: float | None
    high: float | None
    estimate: float | None = Field(description="the mean, drawn towards what other arms say")
    sure: float | None = Field(description="its mean is above this with probability 0.9")
    share: float
    parent: int | None
    mutated: str | None = Field(description="the parameter in which it differs from its parent")
    admitted_at: Seconds
    is_best: bool
    label: str = Field(
        description="what sets it apart from the other arms, in words",
        examples=["large, with examples, T = 0"],
    )
    is_draw: bool = Field(
        description="whether only a random control served it: retired, but not by anyone"
    )
    signals: dict[str, float] = Field(
        description="the mean of each signal over its requests, where one is known"
    )


class TableAnswer(BaseModel):
    """A page of the arms; ``n`` is how many match."""

    rows: list[ArmRow]
    n: int
    n_arms: int
    offset: int
    limit: int
    sort: str
    descending: bool


class PreviewAnswer(BaseModel):
    """What a change to a space would do; of many arms, those with the most pulls are listed."""

    changes: bool
    added: list[str]
    removed: list[str]
    changed: list[str]
    retired: list[ArmRow]
    n_retired: int
    restored: list[ArmRow]
    n_restored: int
    n_active: int
    retires_best: bool
    share_retired: float
    n_configs: int | None


class MeAnswer(BaseModel):
    """Who is calling: what the key may do, and on which studies (null: all of them)."""

    role: Literal["reader", "writer", "admin"]
    studies: list[str] | None
    open: bool = Field(description="whether the service needs no key")
