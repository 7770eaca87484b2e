"""What travels of signals and objectives, apart from domain types."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from imabo.engine.rewards import thumb

Name = Annotated[str, Field(min_length=1, max_length=60)]
# A thumb is true or false for those who send it: 1.0 or 0.0.
Value = Annotated[
    float,
    BeforeValidator(thumb),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "boolean"}]}),
]
Signals = Annotated[
    dict[Name, Value],
    Field(
        max_length=16,
        examples=[{"cost": 0.0004}],
        description="of the same pull, recorded with the reward or refused with it",
    ),
]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class SignalPart(_Body):
    """A named number of a request besides its reward."""

    low: float | None = None
    high: float | None = None
    unit: str = Field("", max_length=60)
    known: dict[str, float | dict[str, float] | list[list[Any]]] | None = Field(
        None,
        description="a price list: for each parameter what one unit adds or, by value, what each "
        "adds; as pairs of both where values are no texts",
    )


class LimitPart(_Body):
    """At most a share of the requests may have a signal above a value."""

    signal: Name
    above: float
    share: float = Field(gt=0, lt=1)


class ObjectivePart(_Body):
    """The reward is maximised while budgets and limits hold."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "budgets": {"cost": 0.0006},
                    "limits": [{"signal": "latency_s", "above": 2.0, "share": 0.05}],
                }
            ]
        }
    )

    maximise: str = "reward"
    budgets: dict[Name, Annotated[float, Field(gt=0)]] = Field(
        default={}, description="what the mean of a signal over the requests may be at most"
    )
    limits: list[LimitPart] = Field(default=[], max_length=16)


SignalParts = Annotated[dict[Name, SignalPart], Field(max_length=16)]


class SignalBody(_Body):
    """The value of a signal of a pull."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"value": 0.0004}]})

    value: Value


class KeySignalBody(SignalBody):
    """The value of a signal of a pull that its key names."""

    part: Annotated[int, Field(ge=0, lt=2**31)] | None = Field(
        None, description="which pull of its ask, from 0, where it was for several"
    )


class FrontierQuery(BaseModel):
    """Which signal, and how sure the intervals are to be."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    signal: Name | None = Field(None, description="by default that of the first budget")
    level: float = Field(0.95, gt=0, lt=1)
    budget: float | None = Field(
        None, ge=0, le=1e60, description="another budget, to know what it would buy"
    )


class FrontierArm(BaseModel):
    """An arm on the plane of use and reward."""

    arm: int
    config: dict[str, Any]
    mean: float = Field(description="an estimate that is not flattered by luck")
    interval: list[float | None]
    use: float
    use_interval: list[float | None]
    n_rewards: int
    n_signals: int
    is_on_frontier: bool
    observed: float | None = Field(description="the plain average of its rewards")
    cautious: float | None = Field(
        description="the careful estimate that says which arms may be part of a mix"
    )
    others: dict[str, float] | None = Field(
        description="what it uses of the other budgets and limits; null where it has not said it"
    )


class MixAnswer(BaseModel):
    """Shares of the requests by arm, with what they would earn and use on average."""

    shares: list[tuple[int, float]]
    mean: float
    use: float
    is_within: bool = Field(
        description="false where nothing is within the budget and the others that are kept"
    )


class FrontierAnswer(BaseModel):
    """What a study knows of reward against one signal."""

    signal: str
    unit: str
    level: float
    arms: list[FrontierArm] = Field(description="the one that uses least first")
    spend: float = Field(description="the mean over all requests that reported it")
    budget: float | None
    price: float | None = Field(description="what one more of it a request buys in reward now")
    best: MixAnswer | None = Field(description="within the budget; null without one")
    others: dict[str, float] = Field(
        description="the objective's other budgets and limits, which are kept"
    )
    text: str
    at: MixAnswer | None = Field(None, description="what the budget of the query would buy")
