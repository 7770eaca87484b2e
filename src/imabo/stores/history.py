"""The contract of reading a study's past: its pulls, its log, its changes, its milestones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from imabo.arms import Group, PullState

# Why a pull was served that brought its arm in; the index of such pulls has the same words.
ADMITTING: Final = ("warmup", "expand", "prepared")

_LAST: Final = 2**63 - 1  # after every seq


class Taken(NamedTuple):
    """Up to where somebody has all that coins' pulls told, in the order in which it came in.

    Rewards up to that of pull ``number`` at ``seq``, and signals up to the seq ``signalled``.
    """

    seq: int = _LAST
    number: int = 0
    signalled: int = _LAST


ALL: Final = Taken()


@dataclass(frozen=True, slots=True)
class PullRecord:
    """A pull as the store has it."""

    number: int
    arm: int
    reason: str
    state: PullState
    served_at: float
    reward: float | None
    rewarded_at: float | None
    context: Any = None
    key: str | None = None
    part: int = 0
    group: Group | None = None
    propensity: float | None = None
    signals: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One thing that happened: ``ask``, ``tell``, ``signal``, ``expire`` or a change.

    They are in the order of ``seq``, and of the pulls.

    For an ask, ``pull`` and ``arm`` say what was served, ``group`` and ``propensity`` what the coin
    said where there is a control, and ``data`` has its ``context``, its ``key`` and its ``part`` of
    that key, where it has them; for a tell, ``reward`` is its value, and ``data`` has the
    ``signals`` that came with it; those that came alone are of kind ``signal``.
    """

    seq: int
    kind: Literal[
        "ask", "tell", "signal", "expire", "state", "arm", "arms", "space", "settings", "drift",
        "control", "rolled back", "resumed", "infeasible", "feasible",
    ]  # fmt: skip
    at: float
    pull: int | None = None
    arm: int | None = None
    reason: str | None = None
    reward: float | None = None
    data: Mapping[str, Any] | None = None
    group: Group | None = None
    propensity: float | None = None


@dataclass(frozen=True, slots=True)
class OutcomeRecord:
    """A reward of a request that a coin gave to one of two groups.

    ``seq`` is that of the transaction that recorded the reward; ``propensity`` the probability of
    the pull's own group, strictly between 0 and 1.
    """

    seq: int
    number: int
    at: float
    reward: float
    group: Group
    propensity: float


@dataclass(frozen=True, slots=True)
class SignalledRecord:
    """A request that a coin gave to one of two groups, and the signals that it has.

    ``seq`` is that of the transaction that recorded the last of them; ``told`` has the value, the
    time and the ``seq`` of each; ``propensity`` is as in ``OutcomeRecord``.
    """

    seq: int
    number: int
    group: Group
    propensity: float
    told: Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Milestone:
    """The counters of a study at one moment of its past, kept when enough pulls had passed.

    Differences of two milestones are what happened in between: the traffic of each arm, and the
    number, the sum and the squares of the rewards that arrived.

    Args:
        at: The time of the serve that reached it.
        n_pulls: Pulls right after that serve, its own included; so with the other counts.
        n_rewards: Rewards so far.
        n_pending: Pulls that wait for their reward.
        reward_sum: The sum of the rewards over all arms, in the study's own units.
        reward_squares: The sum of their squares.
        n_active: Arms that were not retired.
        arm_pulls: The pulls of arm 1, 2, 3, ..., which are all arms that there were;
            equal to a tuple of them.
        signals: Of each signal, and of each limit by its name, how many requests have said what
            they used, and what they used together; None where no signals were declared, and in what
            was kept before this was.
    """

    at: float
    n_pulls: int
    n_rewards: int
    n_pending: int
    reward_sum: float
    reward_squares: float
    n_active: int
    arm_pulls: Sequence[int]
    signals: Mapping[str, Sequence[float]] | None = None


class History(ABC):
    """What a store tells of a study's past. Reading changes nothing and holds nobody up."""

    @abstractmethod
    def spaces(self, name: str) -> list[Mapping[str, Any]]:
        """Every space version of a study, the first one first."""

    @abstractmethod
    def pulls(self, name: str, *, after: int = 0, limit: int = 1000) -> list[PullRecord]:
        """Pulls with a number above ``after``, in order."""

    @abstractmethod
    def pull(self, name: str, number: int) -> PullRecord | None:
        """One pull."""

    @abstractmethod
    def keyed(self, name: str, keys: Sequence[str]) -> dict[str, list[PullRecord]]:
        """The pulls of each of these keys that there are, by their parts.

        A look-up takes no longer however many pulls there are.
        """

    @abstractmethod
    def declaration(self, name: str) -> Mapping[str, Any] | None:
        """The document that ``change`` last got as declared, None before it did."""

    @abstractmethod
    def first_rewards(self, name: str, arms: Sequence[int]) -> dict[int, float]:
        """The rewards of the pulls that admitted these arms, by arm: those that there are.

        A pull admitted its arm when its reason is one of ``ADMITTING``. Arms that came in by hand,
        whose reward has not come or whose pull was pruned are left out. Never reads any other pull.
        """

    @abstractmethod
    def outcomes(
        self, name: str, *, after: tuple[int, int] = (0, 0), limit: int = 1000
    ) -> list[OutcomeRecord]:
        """Rewards of pulls that a coin decided, in order of (seq, number), after such a place.

        Never reads any other pull: those whose propensity is 1, or that have none, do not count.
        """

    @abstractmethod
    def signalled(
        self, name: str, *, after: tuple[int, int] = (0, 0), limit: int = 1000
    ) -> list[SignalledRecord]:
        """Pulls that a coin decided and that have signals, in order of (seq, number).

        Those after a place. A pull that gets another signal moves to the end. Never reads any
        other pull.
        """

    @abstractmethod
    def log(self, name: str) -> Iterator[LogEntry]:
        """Everything that happened, in order; one ``expire`` entry a transaction."""

    @abstractmethod
    def changes(self, name: str, *, limit: int = 1000) -> list[LogEntry]:
        """The newest changes (all kinds of ``Change``), the oldest of them first.

        At most ``limit``, which is at least 0. Never reads the pulls, however many there are.
        """

    @abstractmethod
    def milestones(self, name: str) -> list[Milestone]:
        """What was kept of the study's past, in order; at most 256, however long it is."""
