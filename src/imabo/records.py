"""Between what a study shows and what a store keeps: arms, pulls, their ids and their times."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from imabo.arms import Arm, Pull, Tally
from imabo.magnitude import usable_sum
from imabo.space import Config
from imabo.stores.base import ArmRecord, PullRecord

_LONGEST_NUMBER: Final = 18  # digits; more would not fit a database's integer


@lru_cache(256)  # pulls that are served together have one time
def to_datetime(seconds: float) -> datetime:
    """A store's time as an aware datetime."""
    return datetime.fromtimestamp(seconds, UTC)


def to_arm(record: ArmRecord) -> Arm:
    """An arm as a study shows it."""
    tally = record.tally
    return Arm(
        id=record.id,
        config=dict(record.config),
        origin=record.origin,
        state=record.state,
        n_pulls=tally.n_pulls,
        n_rewards=tally.n_rewards,
        n_pending=tally.n_pending,
        mean=mean_of(tally),
        parent=record.parent,
        admitted_at=to_datetime(record.admitted_at),
    )


def mean_of(tally: Tally) -> float | None:
    """The mean of an arm's rewards; None without one."""
    n = tally.n_rewards
    return usable_sum(tally.reward_sum, float(n)) / n if n else None


def to_pull(record: PullRecord, token: str, configs: Mapping[int, Config]) -> Pull:
    """A pull as a study shows it."""
    rewarded_at = record.rewarded_at
    return Pull(
        id=make_id(token, record.number),
        arm=record.arm,
        config=dict(configs[record.arm]),
        reason=record.reason,
        served_at=to_datetime(record.served_at),
        state=record.state,
        reward=record.reward,
        rewarded_at=None if rewarded_at is None else to_datetime(rewarded_at),
        context=record.context,
    )


def make_id(token: str, number: int) -> str:
    """The id of a study's pull: the study's token and the pull's number."""
    return f"{token}-{number}"


def number_of(token: str, pull_id: object) -> int | None:
    """The number in a pull's id, or None when the id is not one of this study.

    Example:
        >>> number_of("k3f9x2", "k3f9x2-15"), number_of("k3f9x2", "k3f9x2-015")
        (15, None)
    """
    if not isinstance(pull_id, str):
        return None
    start, _, digits = pull_id.rpartition("-")
    plain = digits.isascii() and digits.isdigit() and len(digits) <= _LONGEST_NUMBER
    return int(digits) if start == token and plain and digits[0] != "0" else None
