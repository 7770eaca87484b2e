"""A pull as a study shows it, and the ids of pulls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from imabo.admitted import Group, PullState
from imabo.space import Config

_LONGEST_NUMBER: Final = 18  # digits; more would not fit a database's integer


@dataclass(slots=True)
class Pull:
    """One request served with an arm.

    ``reason`` says why this arm: ``warmup``, ``expand`` and ``prepared`` admitted it for this very
    request (drawn from P0, proposed now, proposed in the background), ``index`` served a known arm,
    ``waiting`` served a known one because no proposal was ready, and ``default`` stands for a
    service that did not answer, and ``control`` served the control. ``context`` and ``key`` are the
    caller's own, and ``part`` counts the pulls of a key from 0. ``signals`` are those that were
    reported so far. Inside ``with study.serve()`` set ``reward`` to report it.

    With a control, a coin chose the ``group``, which was as likely as ``propensity`` says.
    """

    id: str
    arm: int
    config: Config
    reason: str
    served_at: datetime
    state: PullState = "pending"
    reward: float | None = None
    rewarded_at: datetime | None = None
    context: Any = None
    key: str | None = None
    part: int = 0
    group: Group | None = None
    propensity: float | None = None
    signals: Mapping[str, float] = field(default_factory=dict)


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
