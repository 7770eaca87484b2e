"""A pull as a study shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from imabo.admitted import Group, PullState
from imabo.space import Config


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
