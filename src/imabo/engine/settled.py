"""What of a study's record its process goes by: the settings, and what they make of the view."""

from __future__ import annotations

from imabo.objective import Objective, Signal
from imabo.spending import Spending
from imabo.stores.base import Settings, Snapshot, StudyRecord


def settings_of(record: StudyRecord) -> Settings:
    """What of a study's record may change."""
    changing = record.reward_range, record.window_s, record.revision
    return Settings(*changing, record.signals, record.objective)


def spending_of(record: StudyRecord) -> Spending | None:
    """What the arms of a study use of its budgets and limits; None without an objective."""
    if record.objective is None:
        return None
    signals = {name: Signal.restore(one) for name, one in (record.signals or {}).items()}
    constraints = Objective.restore(record.objective).constraints
    return Spending(constraints, signals) if constraints else None


def oldest_at(snapshot: Snapshot) -> float:
    """A time that no pull which waits, or is to come, was served before."""
    oldest = snapshot.oldest_pending_at
    return snapshot.last_at if oldest is None else min(oldest, snapshot.last_at)
