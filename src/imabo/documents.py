"""Studies and what they show as JSON documents: the service's and the commands'."""

from __future__ import annotations

import math
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeAlias

from imabo.arms import Arm, Pull
from imabo.events import Event
from imabo.recommend import Best
from imabo.records import to_datetime
from imabo.stores.base import Snapshot

Document: TypeAlias = dict[str, Any]


@lru_cache(256)  # pulls that are served together have one time
def stamp(moment: datetime) -> str:
    """A time, which is in UTC, as documents have it.

    Example:
        >>> stamp(to_datetime(0.5))
        '1970-01-01T00:00:00.500000Z'
    """
    return moment.isoformat(timespec="microseconds")[:26] + "Z"


def study_document(snapshot: Snapshot) -> Document:
    """A study, from what a store has of it."""
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
        "created_at": stamp(to_datetime(record.created_at)),
        "n_arms": len(snapshot.arms),
        "n_pulls": totals.n_pulls,
        "n_rewards": totals.n_rewards,
        "n_pending": totals.n_pending,
        "n_expired": totals.n_expired,
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
    }


def arm_document(arm: Arm) -> Document:
    """An arm."""
    return {
        "id": arm.id,
        "config": arm.config,
        "origin": arm.origin,
        "state": arm.state,
        "n_pulls": arm.n_pulls,
        "n_rewards": arm.n_rewards,
        "n_pending": arm.n_pending,
        "mean": arm.mean,
        "parent": arm.parent,
        "admitted_at": stamp(arm.admitted_at),
    }


def best_document(best: Best) -> Document:
    """A recommendation; an end of its interval without a limit is null."""
    # A service says null for such an end, and its client says None.
    ends: list[float | None] = list(best.interval)
    return {
        "arm": best.arm,
        "config": best.config,
        "mean": best.mean,
        "interval": [end if end is not None and math.isfinite(end) else None for end in ends],
        "n_rewards": best.n_rewards,
        "level": best.level,
        "since": None if best.since is None else stamp(best.since),
    }


def event_document(event: Event) -> Document:
    """An event, with its words beside its data."""
    return {
        "kind": event.kind,
        "at": stamp(event.at),
        "data": dict(event.data),
        "text": str(event),
    }
