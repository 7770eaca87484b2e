"""What writes to PostgreSQL have in common: facts as the parameters of their statements."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from imabo.arms import Restart
from imabo.stores.base import NewArm, NewPull, StaleView
from imabo.stores.postgres.statements import decisions
from imabo.stores.postgres.statements.terms import columns_of
from imabo.stores.refusals import misfit
from imabo.stores.rows import dump, dump_or_none


def served_rows(pulls: Sequence[NewPull], counts: Mapping[int, int], at: float) -> dict[str, Any]:
    """What the statements that serve take."""
    rows = [
        (new.number, new.arm, new.reason, new.key, new.part, dump_or_none(new.context))
        for new in pulls
    ]
    columns = ("number", "arm", "reason", "key", "part", "context")
    return (
        {"now": at, "n_pulls_new": len(rows)}
        | columns_of("pull", rows, *columns)
        | columns_of("served", list(counts.items()), "arm", "n")
    )


def advanced(study: Any, seq: int) -> dict[str, Any]:
    """What the statements of a decision have in common; refuses one that rests on another view."""
    if study.seq != seq:
        raise StaleView
    return {"study_id": study.id, "new_seq": seq + 1}


def check_arms(n_found: int, arms: Collection[int]) -> None:
    """Refuse a write that named an arm which is not there."""
    if n_found != len(arms):
        raise misfit(f"one of the arms {sorted(arms)} is not in the study")


def insert_arms(db: Connection, here: Mapping[str, Any], arms: Sequence[NewArm]) -> None:
    """Admit arms."""
    if not arms:
        return
    rows = [
        (
            arm.id,
            dump(arm.config),
            hashlib.sha256(arm.identity.encode()).hexdigest(),
            arm.origin,
            arm.parent,
            arm.mutated,
            arm.admitted_at,
        )
        for arm in arms
    ]
    columns = ("id", "config", "identity", "origin", "parent", "mutated", "admitted_at")
    db.execute(decisions.INSERT_ARMS, {**here, **columns_of("arm", rows, *columns)})


def insert_space(db: Connection, study: int, space: Mapping[str, Any], restart: Restart) -> None:
    """Add a version of the space."""
    db.execute(
        decisions.INSERT_SPACE,
        {
            "study_id": study,
            "space": dump(space),
            "n_pulls": restart.n_pulls,
            "n_rewards": restart.n_rewards,
            "n_pending": restart.n_pending,
            "n_arms": restart.n_arms,
        },
    )


def insert_event(db: Connection, study: int, seq: int, kind: str, at: float, data: str) -> None:
    """Add what is not a pull to the log."""
    row = {"study": study, "seq": seq, "kind": kind, "at": at, "data": data}
    db.execute(decisions.INSERT_EVENT, row)
