"""What a store is given, and what it hands out: studies, arms, pulls, changes, snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from imabo.arms import ArmState, Group, Origin, Restart, Tally, Totals
from imabo.space import Config

NO_STATES: Final[Mapping[int, tuple[ArmState, ArmState | None]]] = MappingProxyType({})
SPARE: Final[tuple[ArmState, ArmState | None]] = ("retired", "retired")


@dataclass(frozen=True, slots=True)
class StudyRecord:
    """What a study was created with. ``token`` starts the ids of its pulls.

    What ``Settings`` names is as the last change left it. ``revision`` is the number that its
    declaration was given.
    """

    name: str
    token: str
    seed: int
    space: Mapping[str, Any]
    policy: Mapping[str, Any]
    oracle: Mapping[str, Any]
    reward_range: tuple[float, float] | None
    window_s: float | None
    created_at: float
    revision: int | None = None
    signals: Mapping[str, Any] | None = None
    objective: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """What of a study's record a change may replace, all of it as it is then."""

    reward_range: tuple[float, float] | None
    window_s: float | None
    revision: int | None
    signals: Mapping[str, Any] | None = None
    objective: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class NewArm:
    """An arm to admit; ``identity`` is unique in a study."""

    id: int
    config: Config
    identity: str
    origin: Origin
    parent: int | None
    mutated: str | None
    admitted_at: float


@dataclass(frozen=True, slots=True)
class ArmRecord:
    """An arm as the store has it.

    ``retired_from`` is the state of an arm before the space stopped allowing it and so retired it;
    it goes back to that state when a later space allows it again. One that only a control served is
    retired from the start (``SPARE``): nobody gave it up.
    """

    id: int
    config: Config
    origin: Origin
    state: ArmState
    retired_from: ArmState | None
    parent: int | None
    mutated: str | None
    admitted_at: float
    tally: Tally
    signals: Mapping[str, Sequence[float]] | None = None


@dataclass(frozen=True, slots=True)
class NewPull:
    """A pull to commit; ``number`` counts the study's pulls from 1.

    Pulls that one request with a ``key`` asked for have the parts 0, 1, 2, ... ``context_json`` is
    the context as compact JSON, where the caller has it. ``propensity`` is the probability that the
    pull came into its ``group``, in (0, 1]. ``uses`` is what a price list says that it uses, by the
    names of budgets and limits.
    """

    number: int
    arm: int
    reason: str
    key: str | None = None
    part: int = 0
    context: Any = None
    context_json: str | None = None
    group: Group | None = None
    propensity: float | None = None
    uses: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A study at one ``seq``; ``arms`` are all of them, or those changed since an earlier one.

    ``beliefs`` is the document that ``serve`` last got, ``memory`` the one that ``serve`` or
    ``change`` last got, ``rollout`` that of ``create`` or ``change``; None without one or when it
    is not newer. ``n_tuned`` and ``n_control`` are the pulls of each group that a coin decided.
    """

    study: StudyRecord
    seq: int
    space_version: int
    space: Mapping[str, Any]
    restart: Restart
    totals: Totals
    marked_at: int
    arms: Sequence[ArmRecord]
    last_at: float
    oldest_pending_at: float | None
    beliefs: Mapping[str, Any] | None = None
    memory: Mapping[str, Any] | None = None
    rollout: Mapping[str, Any] | None = None
    rollout_seq: int = 0
    n_tuned: int = 0
    n_control: int = 0
    banks: Mapping[str, float] = field(default_factory=dict)


class Outline(NamedTuple):
    """A study without its arms, beliefs and memory, and how many arms it has."""

    snapshot: Snapshot
    n_arms: int


@dataclass(frozen=True, slots=True)
class KeptLift:
    """What the rewards of the groups add up to, up to a reward.

    Args:
        since: The ``seq`` of the rollout that began the comparison.
        seq: That of the last reward that is in it, or of the rollout.
        number: The number of its pull, 0 before the first.
        document: JSON-safe; means nothing to the store.
        signal: The signal whose values it is of, in place of rewards; each is kept apart.
    """

    since: int
    seq: int
    number: int
    document: Mapping[str, Any]
    signal: str = ""

    @property
    def place(self) -> tuple[int, int, int]:
        """How far it goes; a larger one is newer."""
        return self.since, self.seq, self.number


@dataclass(frozen=True, slots=True)
class Placed:
    """Where ``serve_known`` put pulls: the new ``seq``, the number of the first, their time."""

    seq: int
    first: int
    at: float


@dataclass(frozen=True, slots=True)
class Expired:
    """How many pending pulls of which arms expired, and the oldest that still waits."""

    counts: Mapping[int, int]
    oldest_pending_at: float | None
    seq: int


@dataclass(frozen=True, slots=True)
class Change:
    """A change by hand (arm states, a new arm, a new space), or one of the world that was noticed.

    ``kind`` and ``data`` go to the log. ``settings`` replaces those of the study, ``declared`` the
    document of what its code last declared, ``rollout`` its control's, ``banks`` the objective's.
    """

    kind: Literal[
        "state", "arm", "arms", "space", "settings", "drift", "control", "rolled back", "resumed",
        "infeasible", "feasible",
    ]  # fmt: skip
    data: Mapping[str, Any]
    states: Mapping[int, tuple[ArmState, ArmState | None]] = field(default_factory=dict)
    arms: Sequence[NewArm] = ()
    space: Mapping[str, Any] | None = None
    restart: Restart | None = None
    memory: Mapping[str, Any] | None = None
    settings: Settings | None = None
    declared: Mapping[str, Any] | None = None
    rollout: Mapping[str, Any] | None = None
    banks: Mapping[str, float] | None = None
