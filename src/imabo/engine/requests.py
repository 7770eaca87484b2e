"""What is asked of a study, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from imabo.arms import Pull


@dataclass(frozen=True, slots=True)
class Request:
    """One of the requests that ``Study.ask_many`` serves together: what ``Study.ask`` takes.

    Args:
        count: How many pulls, at most 10,000.
        key: The caller's own name for it, of 1 to 200 characters, so that it may be repeated.
        context: JSON-safe values to store with its pulls, at most 16 KiB as JSON.

    Example:
        >>> from imabo import Float, Request, Space, Study
        >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
        >>> asked = study.ask_many([Request(), Request(count=3, key="job-7")])
        >>> [len(one.pulls) for one in asked]
        [1, 3]
    """

    count: int = 1
    key: str | None = None
    context: Any = None


@dataclass(frozen=True, slots=True)
class CheckedRequest(Request):
    """A request that was checked; ``context_json`` is its context as the stores keep it.

    With ``part`` it is one pull of a log, the next part of its key.
    """

    context_json: str | None = None
    part: int | None = None


@dataclass(frozen=True, slots=True)
class Reward:
    """One of the rewards that ``Study.tell_many`` takes: what ``Study.tell`` takes.

    Args:
        reward: A number in the study's range.
        pull_id: Whose it is, by the pull's id; or
        key: by the key that its ask was made with. One of the two.
        part: Which of the pulls of the key, from 0, where it was asked for several.
        signals: Those of the pull that are known by then; they are recorded with the reward, or
            refused with it. With a reward of None they come alone.

    Example:
        >>> from imabo import Float, Reward, Space, Study
        >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
        >>> pull = study.ask(key="order-3")
        >>> study.tell_many([Reward(0.8, key="order-3")]), study.pull(pull.id).reward
        ([None], 0.8)
    """

    reward: float | None
    pull_id: str | None = None
    key: str | None = None
    part: int | None = None
    signals: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """The pulls of a request; they are not new when its key was known already."""

    pulls: list[Pull]
    is_new: bool = True
