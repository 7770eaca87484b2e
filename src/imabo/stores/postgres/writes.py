"""The parts of the verbs that write, each on a study that is locked."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from imabo.arms import ArmState
from imabo.stores.base import Change, NewArm
from imabo.stores.postgres import statements
from imabo.stores.postgres.outbox import add_study_event
from imabo.stores.postgres.pool import LimitedConnection
from imabo.stores.refusals import misfit
from imabo.stores.rows import dump, of_settings, of_space
from imabo.stores.rules import is_wider, superfluous
from imabo.stores.signalling import Goal


def use(db: LimitedConnection, study: int, uses: Sequence[Mapping[str, float]]) -> None:
    """Move the banks of what price lists say of pulls."""
    if uses:
        here = {"study": study}
        (row,) = db.execute(statements.GOAL, here).fetchall()
        goal = Goal.read(*row)
        for one in uses:
            goal.use(one)
        db.execute(statements.PUT_BANKS, here | {"banks": dump(goal.banks)})


def change(db: LimitedConnection, here: Mapping[str, Any], change: Change, at: float) -> None:
    """Do what a change says; ``here`` are the study and the new ``seq``."""
    event = {"kind": change.kind, "at": at, "data": dump(change.data)}
    insert_arms(db, here, change.arms)
    put_states(db, here, change.states)
    if change.space is not None and change.restart is not None:
        space = of_space(here["study"], change.space, change.restart)
        db.execute(statements.INSERT_SPACE, space)
    documents = [(statements.PUT_MEMORY, change.memory), (statements.PUT_ROLLOUT, change.rollout)]
    for put, document in documents:
        if document is not None:
            db.execute(put, {**here, "document": dump(document)})
    if change.rollout is not None:
        db.execute(statements.ROLLOUT_SEQ, here)
    if change.settings is not None:
        db.execute(statements.PUT_SETTINGS, {**here, **of_settings(change.settings)})
    if change.banks is not None:
        db.execute(statements.PUT_BANKS, {**here, "banks": dump(change.banks)})
    if change.declared is not None:
        db.execute(statements.PUT_DECLARATION, {**here, "document": dump(change.declared)})
    db.execute(statements.INSERT_EVENT, {**here, **event})
    add_study_event(db, here["study"], change.kind, change.data, at)
    db.execute(statements.ADVANCE, {**here, **event})


def put_states(
    db: LimitedConnection,
    here: Mapping[str, Any],
    states: Mapping[int, tuple[ArmState, ArmState | None]],
) -> None:
    """Put arms into states."""
    if not states:
        return
    changed = {
        "arm": list(states),
        "state": [state for state, _ in states.values()],
        "retired_from": [retired_from for _, retired_from in states.values()],
    }
    done = db.execute(statements.CHANGE_ARMS, {**here, **changed})
    check_arms(done.rowcount, states)


def check_arms(n_found: int, arms: Collection[int]) -> None:
    """Refuse a write that named an arm which is not there."""
    if n_found != len(arms):
        raise misfit(f"one of the arms {sorted(arms)} is not in the study")


def insert_arms(db: LimitedConnection, here: Mapping[str, Any], arms: Sequence[NewArm]) -> None:
    """Admit arms."""
    if not arms:
        return
    columns = {
        key: [getattr(new, key) for new in arms]
        for key in ("id", "origin", "parent", "mutated", "admitted_at")
    }
    columns["config"] = [dump(new.config) for new in arms]
    columns["identity"] = [hashlib.sha256(new.identity.encode()).hexdigest() for new in arms]
    db.execute(statements.INSERT_ARMS, {**here, **columns})


def keep_milestone(db: LimitedConnection, study: int, before: int, after: int, at: float) -> None:
    """Keep the milestone that is due between these numbers of pulls; after all counting."""
    here = {"study": study, "at": at}
    db.execute(statements.KEEP_MILESTONE, here)
    if is_wider(before, after):
        kept = [n_pulls for (n_pulls,) in db.execute(statements.KEPT_MILESTONES, here)]
        db.execute(statements.DROP_MILESTONES, here | {"gone": superfluous(kept)})
