"""What of a study's record its process goes by: the settings, and what they make of the view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from imabo.arms import ActiveSet
from imabo.objective import Objective, Signal
from imabo.spending import Spending
from imabo.stores.base import Report, Reported, Settings, Snapshot, StudyRecord


def settings_of(record: StudyRecord) -> Settings:
    """What of a study's record may change."""
    changing = record.reward_range, record.window_s, record.revision
    return Settings(*changing, record.signals, record.objective)


def spending_of(record: StudyRecord) -> Spending | None:
    """What the arms of a study use of its budgets and limits; None without an objective."""
    if record.objective is None:
        return None
    constraints = Objective.restore(record.objective).constraints
    return Spending(constraints, signals_of(record)) if constraints else None


def signals_of(record: StudyRecord) -> dict[str, Signal]:
    """The signals that a study declared, by name."""
    return {name: Signal.restore(one) for name, one in (record.signals or {}).items()}


def oldest_at(snapshot: Snapshot) -> float:
    """A time that no pull which waits, or is to come, was served before."""
    oldest = snapshot.oldest_pending_at
    return snapshot.last_at if oldest is None else min(oldest, snapshot.last_at)


def count_reports(
    view: ActiveSet, told: Sequence[tuple[Report, Reported]], banks: Mapping[str, float]
) -> None:
    """Show in a view what reports did, in order of their pulls."""
    spending = view.spending
    for report, one in told:
        row, did = view.row_of(one.arm), one.rewarded
        if did is not None and did.fresh and report.reward is not None:
            view.count_reward(row, report.reward, was_pending=did.was_pending)
        if spending is not None and row is not None and one.fresh:
            spending.learn(row, one.fresh)
    if spending is not None:
        spending.put_banks(banks)
