"""Between what travels and what studies know: checking what comes in, writing what goes out."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from imabo.arms import Arm, Pull
from imabo.recommend import Best
from imabo.records import to_datetime
from imabo.server.problems import invalid_request
from imabo.space.scalars import show
from imabo.stores.base import Snapshot

_AT: Final = "2026-11-15T12:00:00.000000Z"

B = TypeVar("B", bound=BaseModel)


def checked(model: type[B], value: object, where: str = "the body") -> B:
    """A value as a model, or a refusal that says where it went wrong and what was there.

    Example:
        >>> from imabo.server.wire import AskBody
        >>> checked(AskBody, {"count": 0})
        Traceback (most recent call last):
        imabo.server.problems.Refusal: the body's count is 0: input should be greater than or...
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        path = ".".join(map(str, first["loc"]))
        at = f"{where}'s {path}" if path else where
        why = first["msg"][:1].lower() + first["msg"][1:]
        raise invalid_request(f"{at[:200]} is {show(first['input'])}", why[:300]) from None


def time_of(text: str) -> datetime:
    """An RFC 3339 time as an aware datetime."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None and "T" in text.upper() and 2 <= moment.year <= 9998:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise invalid_request(
        f"the time is {show(text)}",
        f"it must be an RFC 3339 time of the years 2 to 9998 with an offset, such as {_AT}",
        "write it so",
    )


@lru_cache(256)  # pulls that are served together have one time
def stamp(moment: datetime) -> str:
    """A time as the service writes it.

    Example:
        >>> stamp(datetime(2026, 11, 15, 12, tzinfo=UTC))
        '2026-11-15T12:00:00.000000Z'
    """
    return moment.isoformat(timespec="microseconds")[:26] + "Z"


def study_json(snapshot: Snapshot) -> dict[str, Any]:
    """A study, from what the store has of it."""
    record, totals = snapshot.study, snapshot.totals
    return {
        "name": record.name,
        "space": snapshot.space,
        "space_version": snapshot.space_version,
        "policy": record.policy,
        "oracle": record.oracle,
        "seed": str(record.seed),
        "reward_range": record.reward_range,
        "window_s": record.window_s,
        "created_at": stamp(to_datetime(record.created_at)),
        "n_arms": len(snapshot.arms),
        "n_pulls": totals.n_pulls,
        "n_rewards": totals.n_rewards,
        "n_pending": totals.n_pending,
        "n_expired": totals.n_expired,
    }


def pull_json(pull: Pull, study: str) -> dict[str, Any]:
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


def arm_json(arm: Arm) -> dict[str, Any]:
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


def best_json(best: Best) -> dict[str, Any]:
    """A recommendation."""
    return {
        "arm": best.arm,
        "config": best.config,
        "mean": best.mean,
        "interval": [end if math.isfinite(end) else None for end in best.interval],
        "n_rewards": best.n_rewards,
        "level": best.level,
    }
