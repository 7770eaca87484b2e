"""An arm as a study shows it, and the words for what arms and pulls are."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from imabo.space import Config

ArmState = Literal["active", "paused", "retired"]
Origin = Literal["warmup", "oracle", "baseline", "manual", "control"]
PullState = Literal["pending", "rewarded", "expired"]
Group = Literal["tuned", "control"]


@dataclass(frozen=True, slots=True)
class Arm:
    """A configuration that was admitted, with what is known of it now.

    ``mean`` is in the study's own reward units and None before the first reward. ``parent`` is the
    arm that a local oracle mutated to get this one.
    """

    id: int
    config: Config
    origin: Origin
    state: ArmState
    n_pulls: int
    n_rewards: int
    n_pending: int
    mean: float | None
    parent: int | None
    admitted_at: datetime
