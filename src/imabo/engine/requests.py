"""What is asked of a study, and what it answers."""

from __future__ import annotations

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
    """A request that was checked; ``context_json`` is its context as the stores keep it."""

    context_json: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """The pulls of a request; they are not new when its key was known already."""

    pulls: list[Pull]
    is_new: bool = True
