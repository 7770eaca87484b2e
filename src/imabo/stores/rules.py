"""What all stores do in the same way: the time of a write, milestones, counting rewards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from imabo.errors import RewardConflict
from imabo.stores.refusals import reward_conflict

if TYPE_CHECKING:
    from imabo.stores.base import NewPull

CLOCK_SLACK_S: Final = 600.0  # clocks of several machines differ by less
_NARROWEST: Final = 8  # pulls; a younger study is read from its pulls as well
_MOST: Final = 128  # milestones of one width


def steady(at: float, last_at: float) -> float:
    """The time to write down for something that happens now.

    Args:
        at: What the clock says.
        last_at: The time of the last write.

    Example:
        >>> steady(101.0, 100.0), steady(99.0, 100.0), steady(100.0, 86_500.0)
        (101.0, 100.0, 100.0)
    """
    return at if last_at - at > CLOCK_SLACK_S else max(at, last_at)


def numbered(pulls: Sequence[NewPull], first: int) -> list[NewPull]:
    """Pulls that count on from a number, whatever theirs was."""
    return [
        pull if pull.number == number else replace(pull, number=number)
        for number, pull in enumerate(pulls, start=first)
    ]


def coin_counts(pulls: Sequence[NewPull]) -> tuple[int, int]:
    """How many of some pulls a coin made tuned, and how many the control's."""
    coins = [new.group for new in pulls if new.propensity is not None and new.propensity < 1.0]
    return coins.count("tuned"), coins.count("control")


def milestone_width(n_pulls: int) -> int:
    """How many pulls lie between two milestones of a study that has this many.

    A power of two, at least 8, and as small as 128 milestones allow. Use it to know how fine the
    history of a study is.

    Args:
        n_pulls: The study's pulls, at least 0.

    Example:
        >>> [milestone_width(n) for n in (0, 1024, 1025, 2048, 2049, 1_000_000)]
        [8, 8, 16, 16, 32, 8192]
    """
    # The smallest power of two that is at least n_pulls / 128, without rounding.
    return max(_NARROWEST, 1 << (max(n_pulls - 1, 0) // _MOST).bit_length())


def is_milestone(before: int, after: int) -> bool:
    """Whether a serve that takes a study from one number of pulls to another reaches a milestone.

    Example:
        >>> is_milestone(6, 7), is_milestone(7, 8), is_milestone(7, 40), is_milestone(8, 9)
        (False, True, True, False)
    """
    width = milestone_width(after)
    return after // width > before // width


def is_wider(before: int, after: int) -> bool:
    """Whether the milestone of a serve may be the first of its width, so that others must go.

    Example:
        >>> is_wider(1016, 1024), is_wider(1039, 1040), is_wider(1055, 1056)
        (False, True, False)
    """
    width = milestone_width(after)
    return milestone_width(before // width * width) < width


def superfluous(kept: Sequence[int]) -> list[int]:
    """The milestones to let go, by their numbers of pulls: one stays for each multiple.

    It is the first at or after the multiple; the last milestone tells the width.

    Args:
        kept: The numbers of pulls of all milestones of a study, growing.

    Example:
        >>> superfluous([*range(8, 1025, 8), 1040])[:3]
        [8, 24, 40]
    """
    width = milestone_width(kept[-1]) if kept else _NARROWEST
    pairs = zip([0, *kept], kept, strict=False)
    return [n for previous, n in pairs if n // width == previous // width]


@dataclass(frozen=True, slots=True)
class Rewarded:
    """What a reward did: ``fresh`` is false for a repetition, which changed nothing."""

    arm: int
    fresh: bool
    was_pending: bool
    seq: int


class Told(NamedTuple):
    """A pull that is rewarded, with its arm's sums before, as a row of a database."""

    number: int
    arm: int
    state: str
    reward: float | None
    reward_sum: float
    reward_squares: float


class ArmSums:
    """What rewards do to an arm: how many, how many of them were pending, its sums after them."""

    __slots__ = ("n", "n_pending", "squares", "total")

    def __init__(self, total: float, squares: float) -> None:
        self.total, self.squares = total, squares
        self.n = self.n_pending = 0


class RewardCount:
    """What rewards for pulls of one study do, for a database that is told of them all at once.

    Sums are added up here, one reward after the other, as every store and every view does: a
    database would add them in an order of its own, with another last digit.

    Args:
        seq: The study's, before.
        total: The sum of all its rewards, before.
        told: The pulls, with the columns of ``Told``.
    """

    def __init__(self, seq: int, total: float, told: Iterable[Sequence[Any]]) -> None:
        self._seq = seq
        self.total = total
        self._pulls = {row[0]: Told._make(row) for row in told}
        self.fresh: dict[int, float] = {}
        self.sums: dict[int, ArmSums] = {}  # of the arms that have fresh ones

    def add(self, rewards: Sequence[tuple[int, float]]) -> list[Rewarded | RewardConflict | None]:
        """Count rewards in order of their numbers; says for each, as given, what became of it."""
        found: list[Rewarded | RewardConflict | None] = [None] * len(rewards)
        for place in sorted(range(len(rewards)), key=lambda place: rewards[place][0]):
            number, reward = rewards[place]
            pull = self._pulls.get(number)
            if pull is not None:
                found[place] = self._add(pull, reward)
        return found

    def _add(self, pull: Told, reward: float) -> Rewarded | RewardConflict:
        recorded = pull.reward if pull.state == "rewarded" else self.fresh.get(pull.number)
        if recorded is not None:
            if recorded != reward:
                return reward_conflict(pull.number, recorded, reward)
            return Rewarded(pull.arm, False, False, self._seq + bool(self.fresh))
        was_pending = pull.state == "pending"
        self.fresh[pull.number] = reward
        self.total += reward
        sums = self.sums.get(pull.arm)
        if sums is None:
            sums = self.sums[pull.arm] = ArmSums(pull.reward_sum, pull.reward_squares)
        sums.n += 1
        sums.n_pending += was_pending
        sums.total += reward
        sums.squares += reward * reward
        return Rewarded(pull.arm, True, was_pending, self._seq + 1)
