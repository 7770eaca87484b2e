"""What was decided and is not yet in the store."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from imabo.arms import ArmState
from imabo.stores.base import NewArm, NewPull


@dataclass(slots=True)
class Draft:
    """What was decided, for the store; a loose one has pulls of known arms alone."""

    is_loose: bool = False
    pulls: list[NewPull] = field(default_factory=list)
    arms: list[NewArm] = field(default_factory=list)
    beliefs: dict[str, Any] | None = None
    memory: dict[str, Any] | None = None
    mark_at: int | None = None
    states: dict[int, tuple[ArmState, ArmState | None]] = field(default_factory=dict)
