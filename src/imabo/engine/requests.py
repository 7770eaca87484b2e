"""What is asked of a study, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from imabo.stores.base import PullRecord


@dataclass(frozen=True, slots=True)
class Request:
    """One call of ``ask``: how many pulls, the caller's key for it, and what to store with them."""

    count: int = 1
    key: str | None = None
    context: Any = None


@dataclass(frozen=True, slots=True)
class Served:
    """The pulls of a request; they are not new when its key was known already."""

    pulls: list[PullRecord]
    is_new: bool = True
