"""Decisions: pulls that are served, arms that come in, and changes by hand."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Double,
    Integer,
    Table,
    Text,
    bindparam,
    func,
    insert,
    literal_column,
    select,
    true,
    update,
)
from sqlalchemy.dialects.postgresql import Insert
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.sql.dml import ReturningUpdate

from imabo.stores.postgres.statements.notices import NOTIFIED
from imabo.stores.postgres.statements.terms import (
    AT,
    SEQ,
    STEADY_AT,
    STUDY,
    array,
    is_arm,
    table_of,
)
from imabo.stores.postgres.tables import arms, beliefs, events, memories, pulls, spaces, studies

MARK_ARMS: Final = (
    update(arms)
    .where(arms.c.study == STUDY)
    .values(marked_rewards=arms.c.n_rewards, marked_sum=arms.c.reward_sum, seq=SEQ)
)
_new_arms = table_of(
    "arm",
    id=BigInteger(),
    config=Text(),
    identity=Text(),
    origin=Text(),
    parent=BigInteger(),
    mutated=Text(),
    admitted_at=Double(),
)
INSERT_ARMS: Final = insert(arms).from_select(
    ["study", *_new_arms.c.keys(), "state", "seq"],
    select(STUDY, *_new_arms.c, literal_column("'active'"), SEQ),
)
_new_pulls = table_of(
    "pull",
    number=BigInteger(),
    arm=BigInteger(),
    reason=Text(),
    key=Text(),
    part=Integer(),
    context=Text(),
)
_served = table_of("served", arm=BigInteger(), n=BigInteger())
_N_PULLS = bindparam("n_pulls_new", type_=BigInteger)


def _serve(
    study: ColumnElement[int],
    is_there: ColumnElement[bool],
    *,
    seq: ColumnElement[int] = SEQ,
    at: ColumnElement[float] = AT,
    before: ColumnElement[int] | None = None,
) -> ReturningUpdate[Any]:
    number, *rest = _new_pulls.c
    inserted = insert(pulls).from_select(
        ["study", *_new_pulls.c.keys(), "state", "served_at", "served_seq"],
        select(
            study,
            number if before is None else before + number,
            *rest,
            literal_column("'pending'"),
            at,
            seq,
        ).where(is_there),
    )
    counted = (
        update(arms)
        .where(arms.c.study == study, is_arm("served_arm"), arms.c.id == _served.c.arm)
        .values(n_pulls=arms.c.n_pulls + _served.c.n, n_pending=arms.c.n_pending + _served.c.n)
        .values(seq=seq)
        .returning(arms.c.id)
        .cte("counted")
    )
    return (
        update(studies)
        .where(studies.c.id == study)
        .values(
            seq=seq,
            last_at=at,
            n_pulls=studies.c.n_pulls + _N_PULLS,
            n_pending=studies.c.n_pending + _N_PULLS,
            marked_at=func.coalesce(bindparam("mark_at", type_=BigInteger), studies.c.marked_at),
        )
        .add_cte(inserted.cte("inserted"))
        .returning(
            select(func.count()).select_from(counted).scalar_subquery().label("n_counted"),
            NOTIFIED,
            studies.c.seq,
            (studies.c.n_pulls - _N_PULLS).label("before"),
            studies.c.last_at,
        )
    )


SERVE: Final = _serve(STUDY, true())
# The same for pulls of known arms only, with LOCK and the checks in it: a whole transaction that
# goes there and back once. It does nothing, and returns no row, when there is anything to refuse.
_TOKEN = bindparam("study_token", type_=Text)
_named_study = studies.c.name == bindparam("study_name", type_=Text)
_served_arms = (
    select(func.count()).select_from(arms).where(arms.c.study == studies.c.id, is_arm("served_arm"))
)
_n_named = func.cardinality(array("served_arm", BigInteger()))
_current = (
    select(studies.c.id)
    .where(_named_study, studies.c.seq == SEQ - literal_column("1"))
    .where(studies.c.token == func.coalesce(_TOKEN, studies.c.token))
    .where(_served_arms.scalar_subquery() == _n_named)
    .with_for_update(key_share=True)
    .cte("current")
)
_current_id = select(_current.c.id).scalar_subquery()
SERVE_AT_ONCE: Final = _serve(_current_id, _current_id.is_not(None))
# And for a view of any age: the numbers, the seq and the time come from the study's row. An arm
# that is paused while this waits for the row is served once more.
_are_active = _served_arms.where(arms.c.state == literal_column("'active'")).scalar_subquery()
_newest = (
    select(
        studies.c.id,
        studies.c.n_pulls,
        (studies.c.seq + literal_column("1")).label("seq"),
        STEADY_AT.label("at"),
    )
    .where(_named_study, studies.c.token == _TOKEN)
    .where(_are_active == _n_named)
    .with_for_update(key_share=True)
    .cte("newest")
)
_newest_id = select(_newest.c.id).scalar_subquery()
SERVE_KNOWN: Final = _serve(
    _newest_id,
    _newest_id.is_not(None),
    seq=select(_newest.c.seq).scalar_subquery(),
    at=select(_newest.c.at).scalar_subquery(),
    before=select(_newest.c.n_pulls).scalar_subquery(),
)


def _put(documents: Table) -> Insert:
    """Replace a study's document of one kind."""
    row = upsert(documents)
    return row.on_conflict_do_update(
        index_elements=["study"],
        set_={"seq": row.excluded.seq, "document": row.excluded.document},
    )


PUT_BELIEFS: Final = _put(beliefs)
PUT_MEMORY: Final = _put(memories)
_changed = table_of("change", arm=BigInteger(), state=Text(), retired_from=Text())
CHANGE_ARMS: Final = (
    update(arms)
    .where(arms.c.study == STUDY, is_arm("change_arm"), arms.c.id == _changed.c.arm)
    .values(state=_changed.c.state, retired_from=_changed.c.retired_from, seq=SEQ)
)
INSERT_SPACE: Final = insert(spaces).from_select(
    ["study", "version", "space", "n_pulls", "n_rewards", "n_pending", "n_arms"],
    select(
        STUDY,
        func.coalesce(func.max(spaces.c.version), 0) + 1,
        bindparam("space", type_=Text),
        *(bindparam(key, type_=BigInteger) for key in ("n_pulls", "n_rewards", "n_pending")),
        bindparam("n_arms", type_=BigInteger),
    ).where(spaces.c.study == STUDY),
)
INSERT_EVENT: Final = insert(events)
ADVANCE: Final = (
    update(studies).where(studies.c.id == STUDY).values(seq=SEQ, last_at=AT).returning(NOTIFIED)
)
