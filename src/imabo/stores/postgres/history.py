"""A study's past without its pulls: the milestones, and the changes by hand."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Connection,
    Double,
    Text,
    bindparam,
    delete,
    func,
    literal_column,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.dialects.postgresql import insert as upsert

from imabo.stores.postgres.tables import arms, events, milestones, studies
from imabo.stores.rules import is_wider, superfluous

_STUDY = bindparam("study_id", type_=BigInteger)
_OF_NAME: Final = (
    select(studies.c.id).where(studies.c.name == bindparam("name", type_=Text)).scalar_subquery()
)
CHANGES: Final = (
    select(*(events.c[key] for key in ("seq", "kind", "at", "data")))
    # A literal, not a parameter: the partial index is for this very word.
    .where(events.c.study == _OF_NAME, events.c.kind != literal_column("'expire'"))
    .order_by(events.c.seq.desc())
    .limit(bindparam("limit", type_=BigInteger))
)
MILESTONES: Final = (
    select(
        *(milestones.c[key] for key in ("at", "n_pulls", "n_rewards", "n_pending")),
        *(milestones.c[key] for key in ("reward_sum", "reward_squares", "n_active", "arm_pulls")),
    )
    .where(milestones.c.study == _OF_NAME)
    .order_by(milestones.c.n_pulls)
)
_listed = func.array_agg(aggregate_order_by(arms.c.n_pulls, arms.c.id))
_over_arms = (
    select(
        func.sum(arms.c.reward_squares).label("reward_squares"),
        func.count().filter(arms.c.state != literal_column("'retired'")).label("n_active"),
        func.array_to_json(_listed).cast(Text).label("arm_pulls"),
    )
    .where(arms.c.study == _STUDY)
    .subquery("over_arms")
)
_of_study = ("n_pulls", "n_rewards", "n_pending", "reward_sum")
_KEEP: Final = (
    upsert(milestones)
    .from_select(
        ["study", "at", *_of_study, *_over_arms.c.keys()],
        select(
            studies.c.id,
            bindparam("now", type_=Double),
            *(studies.c[key] for key in _of_study),
            *_over_arms.c,
        )
        .select_from(studies)
        .join(_over_arms, true())
        .where(studies.c.id == _STUDY),
    )
    .on_conflict_do_nothing()
)
_KEPT: Final = (
    select(milestones.c.n_pulls).where(milestones.c.study == _STUDY).order_by(milestones.c.n_pulls)
)
_LET_GO: Final = delete(milestones).where(
    milestones.c.study == _STUDY,
    milestones.c.n_pulls == func.any(bindparam("gone", type_=ARRAY(BigInteger))),
)


def keep_milestone(db: Connection, study: int, before: int, after: int, at: float) -> None:
    """Keep the milestone that is due between these numbers of pulls; after all counting."""
    here = {"study_id": study}
    db.execute(_KEEP, here | {"now": at})
    if is_wider(before, after):
        gone = superfluous([row.n_pulls for row in db.execute(_KEPT, here)])
        db.execute(_LET_GO, here | {"gone": gone})
