"""An arm, a pull, a study: from what a store keeps to what a study shows, and on to JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from imabo.arms import Arm, Pull, Tally, make_id
from imabo.control import Rollout
from imabo.magnitude import usable_sum
from imabo.space import Config
from imabo.stores.base import ArmRecord, Outline, PullRecord

if TYPE_CHECKING:
    from imabo.events import Event
    from imabo.recommend import Best

Document: TypeAlias = dict[str, Any]

RETRY_PREFIX: Final = "imabo-retry-"  # of keys that clients make where the caller gave none


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


def own_key(key: str | None) -> str | None:
    """A pull's key as its caller gave it: those that clients make for their retries are none.

    Example:
        >>> own_key("order-3"), own_key(RETRY_PREFIX + "0f3c")
        ('order-3', None)
    """
    return None if key is None or key.startswith(RETRY_PREFIX) else key


def to_pull(record: PullRecord, token: str, configs: Mapping[int, Config]) -> Pull:
    """A pull as a study shows it."""
    rewarded_at, key = record.rewarded_at, own_key(record.key)
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
        key=key,
        part=0 if key is None else record.part,
        group=record.group,
        propensity=record.propensity,
        signals=record.signals,
    )


@lru_cache(256)  # pulls that are served together have one time
def stamp(moment: datetime) -> str:
    """A time, which is in UTC, as documents have it.

    Example:
        >>> stamp(to_datetime(0.5))
        '1970-01-01T00:00:00.500000Z'
    """
    return moment.isoformat(timespec="microseconds")[:26] + "Z"


def study_document(outline: Outline) -> Document:
    """A study, from what a store has of it."""
    snapshot = outline.snapshot
    record, totals = snapshot.study, snapshot.totals
    ends = record.reward_range
    return {
        "name": record.name,
        "space": snapshot.space,
        "space_version": snapshot.space_version,
        "policy": record.policy,
        "oracle": record.oracle,
        "seed": str(record.seed),  # beyond what JSON readers take for a number
        "reward_range": None if ends is None else list(ends),
        "window_s": record.window_s,
        "revision": record.revision,
        "signals": record.signals,
        "objective": record.objective,
        "created_at": stamp(to_datetime(record.created_at)),
        "n_arms": outline.n_arms,
        "n_pulls": totals.n_pulls,
        "n_rewards": totals.n_rewards,
        "n_pending": totals.n_pending,
        "n_expired": totals.n_expired,
        "state": "tuning" if snapshot.rollout is None else snapshot.rollout["state"],
        "rollout": rollout_document(snapshot.rollout),
    }


def rollout_document(stored: Mapping[str, Any] | None) -> Document:
    """Who gets the control, from what a store has of it; ``control`` is None without one."""
    document = dict(Rollout().document() if stored is None else stored)
    start, changed_at = document.pop("start"), document.pop("changed_at")
    del document["mark"]
    document.pop("replaced", None)
    return {
        **document,
        "since": None if start is None else stamp(to_datetime(start["at"])),
        "changed_at": None if changed_at is None else stamp(to_datetime(changed_at)),
    }


def pull_document(pull: Pull, study: str) -> Document:
    """A pull of a study."""
    return {
        "id": pull.id,
        "study": study,
        "arm": pull.arm,
        "config": pull.config,
        "reason": pull.reason,
        "served_at": stamp(pull.served_at),
        "state": pull.state,
        "reward": pull.reward,
        "rewarded_at": None if pull.rewarded_at is None else stamp(pull.rewarded_at),
        "context": pull.context,
        "key": pull.key,
        "part": pull.part,
        "group": pull.group,
        "propensity": pull.propensity,
        "signals": dict(pull.signals),
    }


def arm_document(arm: Arm) -> Document:
    """An arm."""
    fields = {name: getattr(arm, name) for name in Arm.__slots__}
    return fields | {"admitted_at": stamp(arm.admitted_at)}


def best_document(best: Best) -> Document:
    """A recommendation; an end of its interval without a limit is null."""
    # A service says null for such an end, and its client says None.
    ends: list[float | None] = list(best.interval)
    return {
        "arm": best.arm,
        "config": best.config,
        "mean": best.mean,
        "observed": best.observed,
        "chance": best.chance,
        "interval": [end if end is not None and math.isfinite(end) else None for end in ends],
        "n_rewards": best.n_rewards,
        "level": best.level,
        "since": None if best.since is None else stamp(best.since),
        "shares": None if best.shares is None else [[*pair] for pair in best.shares.items()],
        "is_within": best.is_within,
        "mix_mean": best.mix_mean,
    }


def chance_text(chance: float) -> str:
    """How likely something is, in words.

    Example:
        >>> [chance_text(chance) for chance in (0.0, 0.31, 0.99, 1.0)]
        ['less than 1 in 10', '3 in 10', 'more than 9 in 10', 'certain']
    """
    if chance >= 1.0:
        return "certain"
    if chance < 0.1:
        return "less than 1 in 10"
    return "more than 9 in 10" if chance > 0.9 else f"{round(10.0 * chance)} in 10"


def event_document(event: Event) -> Document:
    """An event, with its words beside its data."""
    return {"kind": event.kind, "at": stamp(event.at), "data": dict(event.data), "text": str(event)}
