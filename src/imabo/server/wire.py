"""What travels: the JSON bodies that the service takes and gives, apart from domain types."""

from __future__ import annotations

from types import ModuleType
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)
from pydantic.config import JsonDict, JsonValue

from imabo import oracles, policies
from imabo.oracles.base import Oracle
from imabo.policies.base import Policy
from imabo.server.wire_signals import Signals
from imabo.server.wire_signals import Value as Reward

MAX_PULLS = 1000  # of one request: asks, rewards, a page of history
MAX_ARMS = 10_000  # of one request that adds them

SPACE: JsonDict = {
    "parameters": [
        {"name": "model", "type": "choice", "values": ["small", "large"]},
        {"name": "temperature", "type": "float", "low": 0.0, "high": 1.0},
    ],
    "forbid": [],
}
_CONFIG: JsonDict = {"model": "large", "temperature": 0.35}
_AT = "2026-11-15T12:00:00.000000Z"


def _kinds(module: ModuleType, base: type) -> JsonDict:
    found = {name: getattr(module, name) for name in module.__all__}
    return {
        "enum": sorted(n for n, c in found.items() if isinstance(c, type) and issubclass(c, base))
    }


def examples(*values: JsonValue) -> ConfigDict:
    """The settings of a model that shows these."""
    return ConfigDict(json_schema_extra={"examples": list(values)})


class Body(BaseModel):
    """What a caller sends: no unknown fields, no conversions, finite numbers."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


_PART = ConfigDict(extra="allow", strict=True)
Scalar = str | int | float | bool | None
Values = Annotated[list[Scalar], Field(max_length=10_000)]
Clause = Annotated[dict[str, Values | Scalar], Field(max_length=1000)]
Text = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]
Config = Annotated[dict[str, Scalar], Field(max_length=10_000, examples=[_CONFIG])]
Time = Annotated[str, Field(examples=[_AT], json_schema_extra={"format": "date-time"})]
Part = Annotated[
    Annotated[int, Field(ge=0, lt=10_000)] | None,
    Field(description="which pull of the key, from 0; needed where it was asked for several"),
]
PullId = Annotated[str, Field(max_length=200, examples=["k3f9x2a7-15"])]


class NumberParameter(Body):
    """A parameter that is a number, in steps or not, on a linear or a logarithmic scale."""

    type: Literal["float", "int"]
    name: Text
    low: float | int
    high: float | int
    log: bool = False
    step: float | int | None = None
    when: Clause | None = Field(None, description="values of others for which it is active")


class ChoiceParameter(Body):
    """A parameter that takes one of the listed values."""

    type: Literal["choice"]
    name: Text
    values: Values
    ordered: bool = False
    when: Clause | None = Field(None, description="values of others for which it is active")


Parameter = Annotated[NumberParameter | ChoiceParameter, Field(discriminator="type")]


class SpacePart(Body):
    """A search space: its parameters in order, and the combinations that it forbids."""

    model_config = examples(SPACE) | ConfigDict(title="Space")

    parameters: list[Parameter] = Field(min_length=1, max_length=1000)
    forbid: list[Clause] = Field(default=[], max_length=10_000)


class PolicyPart(BaseModel):
    """A policy by its name, with its settings beside it; the missing ones take their defaults."""

    model_config = examples({"type": "IMOSS", "beta": 0.5}) | _PART

    type: str = Field(json_schema_extra=_kinds(policies, Policy))


class OraclePart(BaseModel):
    """An oracle by its name, with its settings beside it; the missing ones take their defaults."""

    model_config = examples({"type": "GP"}) | _PART

    type: str = Field(json_schema_extra=_kinds(oracles, Oracle))


class SpaceBody(Body):
    """The space that a study moves on to."""

    space: SpacePart


class AskBody(Body):
    """A request for configurations to serve; an empty one asks for one."""

    model_config = examples({}, {"count": 2, "key": "request-17", "context": {"u": 1}})

    count: int = Field(1, ge=1, le=MAX_PULLS)
    key: Text | None = Field(
        None,
        description="your own name for the request: a retry with the same key gets the same pulls, "
        "and rewards may name it; one that begins with imabo-retry- is a client's and not shown",
    )
    context: Any = Field(None, description="kept with the pulls; at most 16,384 bytes")


class RewardBody(Body):
    """The reward of a pull."""

    model_config = examples({"reward": 0.8}, {"reward": 0.8, "signals": {"cost": 0.0004}})

    reward: Reward
    signals: Signals | None = None


class KeyRewardBody(Body):
    """The reward of a pull that its key names."""

    model_config = examples({"reward": 0.8}, {"reward": 0.8, "part": 1})

    reward: Reward
    part: Part = None
    signals: Signals | None = None


class _Report(Body):
    reward: Reward | None = None
    signals: Signals | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.reward is None and not self.signals:
            raise ValueError("a reward or signals must be reported")
        return self


class PullReward(_Report):
    """The reward of one pull of many, by its id."""

    pull: PullId


class KeyReward(_Report):
    """The reward of one pull of many, by its study and its key."""

    study: Text
    key: Text
    part: Part = None


def _named_by(one: object) -> str:
    return "by_key" if isinstance(one, dict) and "key" in one else "by_id"


class RewardsBody(Body):
    """Rewards of many pulls, of one study or several; each names its pull by its id or its key."""

    model_config = examples(
        {
            "rewards": [
                {"pull": "k3f9x2a7-15", "reward": 0.8},
                {"study": "support-answers", "key": "request-17", "reward": 0.8},
            ]
        }
    )

    rewards: list[
        Annotated[
            Annotated[PullReward, Tag("by_id")] | Annotated[KeyReward, Tag("by_key")],
            Discriminator(_named_by),
        ]
    ] = Field(min_length=1, max_length=MAX_PULLS)


class ArmBody(Body):
    """A configuration to admit by hand."""

    config: Config


class ArmsBody(Body):
    """Configurations to admit by hand, all of them or none."""

    model_config = examples({"configs": [_CONFIG, {"model": "small", "temperature": 0.1}]})

    configs: list[Config] = Field(max_length=MAX_ARMS)


class StateBody(Body):
    """The state that an arm is to have."""

    model_config = examples({"state": "paused"})

    state: Literal["active", "paused", "retired"]


class PruneBody(Body):
    """From when on pulls are kept."""

    before: Time


class Query(BaseModel):
    """What a caller asks for in the URL: no unknown names, finite numbers."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class PageQuery(Query):
    """Which part of the history."""

    after: int = Field(0, ge=0, lt=10**18, description="number of the last pull that is known")
    limit: int = Field(100, ge=1, le=MAX_PULLS)


class LevelQuery(Query):
    """How sure an interval is to be."""

    level: float = Field(0.95, gt=0, lt=1)


class FormatQuery(Query):
    """What an export is written as."""

    format: Literal["jsonl", "csv"] = "jsonl"


class ImportQuery(Query):
    """What an imported study is to be called."""

    name: Text | None = Field(None, description="for the study; by default the one in the log")


# --- what the service gives ---------------------------------------------------------------------


class PullAnswer(BaseModel):
    """One request served with an arm."""

    id: PullId
    study: str = Field(examples=["support-answers"])
    arm: int = Field(examples=[3])
    config: Config
    reason: str = Field(examples=["index"])
    served_at: Time
    state: Literal["pending", "rewarded", "expired"]
    reward: float | None
    rewarded_at: Time | None
    context: Any = None
    key: str | None = Field(description="the key of its ask, if the caller gave one")
    part: int = Field(description="which pull of its ask it is, from 0")
    group: Literal["tuned", "control"] | None = Field(
        None, description="the side of the coin, where there is a control"
    )
    propensity: float | None = Field(None, description="how likely that side was")
    signals: dict[str, float] = Field(description="those that were reported so far")


class PullsAnswer(BaseModel):
    """The pulls of an ask or of a key, in the order they were decided."""

    pulls: list[PullAnswer]


class PageAnswer(BaseModel):
    """A page of history; ``next`` is the ``after`` of the page that follows, if one may."""

    pulls: list[PullAnswer]
    next: int | None = Field(examples=[100])


class ArmAnswer(BaseModel):
    """A configuration that was admitted, with what is known of it."""

    id: int = Field(examples=[3])
    config: Config
    origin: Literal["warmup", "oracle", "baseline", "manual"]
    state: Literal["active", "paused", "retired"]
    n_pulls: int
    n_rewards: int
    n_pending: int
    mean: float | None
    parent: int | None
    admitted_at: Time


class ArmsAnswer(BaseModel):
    """Arms: all of a study in order of admission, or those that were added, as they were named."""

    arms: list[ArmAnswer]


class BestAnswer(BaseModel):
    """The arm to keep if learning stopped now. An end without a bound is null."""

    arm: int = Field(examples=[3])
    config: Config
    mean: float = Field(description="an estimate that is not flattered by the choice")
    observed: float | None = Field(
        description="the plain average of its rewards; null when it has none after a change"
    )
    chance: float = Field(description="how likely it is to be the best of the active arms")
    interval: Annotated[list[float | None], Field(min_length=2, max_length=2)]
    n_rewards: int
    level: float
    since: Time | None = Field(
        description="when the study last noticed a change: mean, interval and n_rewards are of "
        "the rewards after it; null when it never did"
    )
    shares: list[tuple[int, float]] | None = Field(
        None, description="with an objective, the mix of arms to serve"
    )
    is_within: bool = Field(True, description="false where nothing is within the budgets")
    mix_mean: float | None = Field(
        None, description="what the mix would earn on average, not flattered by the choice"
    )


class ExpiredAnswer(BaseModel):
    """How many pulls were past their window."""

    expired: int


class PrunedAnswer(BaseModel):
    """How many finished pulls were forgotten."""

    pruned: int


class StatusAnswer(BaseModel):
    """A sign of life."""

    status: Literal["ok", "ready"]


class Problem(BaseModel):
    """Why a request was refused (RFC 9457); ``code`` is stable, the texts are for people."""

    type: str = Field(examples=["urn:imabo:error:unknown_study"])
    title: str = Field(examples=["Unknown study"])
    status: int = Field(examples=[404])
    code: str = Field(examples=["unknown_study"])
    detail: str
    what: str
    why: str
    fix: str


class RewardResult(BaseModel):
    """What became of one reward of many."""

    pull: str | None = Field(None, examples=["k3f9x2a7-15"], description="where its id was given")
    study: str | None = Field(None, description="where its key was given; so the next two")
    key: str | None = None
    part: int | None = None
    status: Literal["recorded", "refused"]
    problem: Problem | None = None


class RewardsAnswer(BaseModel):
    """What became of each reward, in the order given."""

    results: list[RewardResult]
