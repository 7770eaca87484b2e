"""Studies, arms and recommendations as the HTTP API writes them, without the server's libraries."""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from imabo.arms import Arm
from imabo.recommend import Best
from imabo.records import to_datetime
from imabo.stores.base import Snapshot

if TYPE_CHECKING:
    from imabo.client import RemoteFacts

Document: TypeAlias = dict[str, Any]


def stamp(moment: datetime) -> str:
    """A time as the API writes it.

    Example:
        >>> stamp(to_datetime(0.5))
        '1970-01-01T00:00:00.500000Z'
    """
    return moment.isoformat(timespec="microseconds")[:26] + "Z"


def stored_study(snapshot: Snapshot) -> Document:
    """A study, from what a store has of it."""
    record, totals = snapshot.study, snapshot.totals
    ends = record.reward_range
    return {
        "name": record.name,
        "space": dict(snapshot.space),
        "space_version": snapshot.space_version,
        "policy": dict(record.policy),
        "oracle": dict(record.oracle),
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


def remote_study(facts: RemoteFacts) -> Document:
    """A study, from what a service said of it."""
    ends = facts.reward_range
    return {
        "name": facts.name,
        "space": facts.space.to_dict(),
        "space_version": facts.space_version,
        "policy": dict(facts.policy_settings),
        "oracle": dict(facts.oracle_settings),
        "seed": str(facts.seed),
        "reward_range": None if ends is None else list(ends),
        "window_s": facts.window_s,
        "created_at": stamp(facts.created_at),
        "n_arms": facts.n_arms,
        "n_pulls": facts.n_pulls,
        "n_rewards": facts.n_rewards,
        "n_pending": facts.n_pending,
        "n_expired": facts.n_expired,
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
    ends: list[float | None] = list(best.interval)
    return {
        "arm": best.arm,
        "config": best.config,
        "mean": best.mean,
        "interval": [end if end is not None and math.isfinite(end) else None for end in ends],
        "n_rewards": best.n_rewards,
        "level": best.level,
    }
