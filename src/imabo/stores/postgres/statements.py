"""What the store says to PostgreSQL, each statement built once.

A write of any size is a fixed number of statements: its rows travel as arrays. Where several
tables change, they change in one statement, which saves the way there and back.
"""

from __future__ import annotations

import json
from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Dialect,
    Double,
    FromClause,
    Integer,
    Text,
    TypeDecorator,
    and_,
    bindparam,
    case,
    cast,
    column,
    delete,
    func,
    insert,
    literal_column,
    select,
    true,
    update,
)
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.sql.dml import ReturningUpdate
from sqlalchemy.types import TypeEngine

from imabo.stores.postgres.tables import arms, beliefs, events, keys, pulls, spaces, studies
from imabo.stores.rows import ArmRows

CHANNEL: Final = "imabo_changes"

_STUDY = bindparam("study_id", type_=BigInteger)
_SEQ = bindparam("new_seq", type_=BigInteger)
_AT = bindparam("now", type_=Double)
_NAME = bindparam("name", type_=Text)
_SINCE = bindparam("since", type_=BigInteger)
_BEFORE = bindparam("before", type_=Double)
# Literals, not parameters: the partial indexes are for these very words.
_IS_PENDING = pulls.c.state == literal_column("'pending'")
_IS_FINISHED = pulls.c.state != literal_column("'pending'")


class _Listed(TypeDecorator[list[Any]]):
    """A list that travels as an array's text, which takes the driver a fraction of the time."""

    impl = Text
    cache_ok = True

    def __init__(self, *, of_texts: bool) -> None:
        super().__init__()
        self.of_texts = of_texts

    def process_bind_param(self, value: list[Any] | None, dialect: Dialect) -> str | None:
        """See ``TypeDecorator``."""
        del dialect
        if value is None:
            return None
        return texts_array(value) if self.of_texts else numbers_array(value)


def numbers_array(numbers: list[float | None]) -> str:
    """Numbers as PostgreSQL reads an array of them.

    Example:
        >>> numbers_array([1, 0.25, None])
        '{1, 0.25, null}'
    """
    return f"{{{json.dumps(numbers)[1:-1]}}}"


def texts_array(texts: list[str | None]) -> str:
    r"""Texts as PostgreSQL reads an array of them.

    Example:
        >>> print(texts_array(['say "a"', None]))
        {"say \"a\"",null}
    """
    return f"{{{','.join('null' if text is None else _quoted(text) for text in texts)}}}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _array(parameter: str, kind: TypeEngine[Any]) -> ColumnElement[Any]:
    listed = _Listed(of_texts=isinstance(kind, Text))
    return cast(bindparam(parameter, type_=listed), ARRAY(kind))


def _rows(name: str, **columns: TypeEngine[Any]) -> FromClause:
    """A table of the parameters ``{name}_{column}``, which are arrays of equal length."""
    given = [_array(f"{name}_{key}", kind) for key, kind in columns.items()]
    valued = func.unnest(*given).table_valued(*(column(k, kind) for k, kind in columns.items()))
    return valued.render_derived(name=name)


def _among(
    member: ColumnElement[Any], parameter: str, kind: TypeEngine[Any]
) -> ColumnElement[bool]:
    """That a column's value is in an array, which an index can answer."""
    return member == func.any(_array(parameter, kind))


def _is_arm(parameter: str) -> ColumnElement[bool]:
    return _among(arms.c.id, parameter, BigInteger())


def columns_of(name: str, rows: list[tuple[Any, ...]], *columns: str) -> dict[str, list[Any]]:
    """The parameters of ``_rows``, from rows."""
    lists = map(list, zip(*rows, strict=True)) if rows else ([] for _ in columns)
    return {f"{name}_{key}": values for key, values in zip(columns, lists, strict=True)}


# A parameter must not have the name of a column that it is not the value of.

# --- studies --------------------------------------------------------------------------------------

NOTIFY: Final = select(func.pg_notify(CHANNEL, bindparam("payload", type_=Text)).cast(Text))
# The payload is NULL when it is too early for another notification.
_NOTIFIED: Final = case(
    (
        bindparam("payload", type_=Text).is_not(None),
        func.pg_notify(CHANNEL, bindparam("payload", type_=Text)).cast(Text),
    ),
)

CREATE: Final = (
    upsert(studies).on_conflict_do_nothing(index_elements=["name"]).returning(studies.c.id)
)
NAMES: Final = select(studies.c.name).order_by(studies.c.name)
SEQS: Final = select(studies.c.name, studies.c.seq).order_by(studies.c.name)
FIND: Final = select(studies.c.name).where(studies.c.token == bindparam("token"))
STUDY_ID: Final = select(studies.c.id).where(studies.c.name == _NAME)
DELETE: Final = delete(studies).where(studies.c.id == _STUDY)
# Every transaction that writes to a study begins with this one.
LOCK: Final = (
    select(studies.c.id, studies.c.seq, studies.c.reward_sum)
    .where(studies.c.name == _NAME)
    .with_for_update(key_share=True)
)

# --- reading a study ------------------------------------------------------------------------------

# Index entries of pulls that are no longer pending stay until the next vacuum. A bound that is
# known already keeps the search from going through them all.
_bound = bindparam("bound", type_=Double)
_bound_if_known = case(
    (studies.c.id == bindparam("bound_study", type_=BigInteger), _bound),
    else_=literal_column("'-infinity'::float8"),
)
_first_pending = (
    select(pulls.c.served_at)
    .where(_IS_PENDING)
    .order_by(pulls.c.served_at)
    .limit(literal_column("1"))
)
_latest = (
    select(spaces)
    .where(spaces.c.study == studies.c.id)
    .order_by(spaces.c.version.desc())
    .limit(literal_column("1"))
    .lateral("latest")
)
_first = (
    select(spaces.c.space)
    .where(spaces.c.study == studies.c.id, spaces.c.version == literal_column("1"))
    .scalar_subquery()
)
_newer_beliefs = (
    select(beliefs.c.document)
    .where(beliefs.c.study == studies.c.id, beliefs.c.seq > _SINCE)
    .scalar_subquery()
)
LOAD: Final = (
    select(
        *(studies.c[key] for key in ("id", "token", "seed", "policy", "oracle", "reward_low")),
        *(studies.c[key] for key in ("reward_high", "window_s", "created_at", "seq")),
        *(studies.c[key] for key in ("n_pulls", "n_rewards", "n_pending", "reward_sum")),
        *(studies.c[key] for key in ("marked_at", "last_at")),
        _first,
        _latest.c.version,
        _latest.c.space,
        *(_latest.c[key] for key in ("n_pulls", "n_rewards", "n_pending", "n_arms")),
        _newer_beliefs,
        _first_pending.where(
            pulls.c.study == studies.c.id, pulls.c.served_at >= _bound_if_known
        ).scalar_subquery(),
    )
    .select_from(studies)
    .join(_latest, true())
    .where(studies.c.name == _NAME)
)
OLDEST_PENDING: Final = _first_pending.where(pulls.c.study == _STUDY, pulls.c.served_at >= _bound)
ARMS: Final = (
    select(*(arms.c[key] for key in ArmRows.COLUMNS))
    .where(arms.c.study == _STUDY, arms.c.seq > _SINCE)
    .order_by(arms.c.id)
)
_OF_NAME: Final = STUDY_ID.scalar_subquery()
SPACES: Final = select(spaces.c.space).where(spaces.c.study == _OF_NAME).order_by(spaces.c.version)
_PULL: Final = [
    *(pulls.c[key] for key in ("number", "arm", "reason", "state", "served_at")),
    *(pulls.c[key] for key in ("reward", "rewarded_at", "context")),
]
PULLS: Final = (
    select(*_PULL)
    .where(pulls.c.study == _OF_NAME, pulls.c.number > bindparam("after", type_=BigInteger))
    .order_by(pulls.c.number)
    .limit(bindparam("limit", type_=BigInteger))
)
PULL: Final = select(*_PULL).where(
    pulls.c.study == _OF_NAME, pulls.c.number == bindparam("number", type_=BigInteger)
)
KEYED: Final = (
    select(pulls.c.key, *_PULL)
    .where(
        pulls.c.study == _OF_NAME,
        _among(pulls.c.key, "keys", Text()),
    )
    .order_by(pulls.c.part)
)
# An entry that is about no pull has number 0 here, so that (seq, number) orders them all. With
# HOLD the server keeps the rows and lets go of its snapshot, so that a slow reader is no burden.
LOG: Final = """
    DECLARE imabo_log NO SCROLL CURSOR WITH HOLD FOR SELECT * FROM (
        SELECT served_seq AS seq, 'ask' AS kind, served_at AS at, number, arm, reason,
            NULL::float8 AS reward, context AS data
        FROM imabo_pulls WHERE study = %(study)s
        UNION ALL SELECT rewarded_seq, 'tell', rewarded_at, number, NULL, NULL, reward, NULL
        FROM imabo_pulls WHERE study = %(study)s AND state = 'rewarded'
        UNION ALL SELECT seq, kind, at, 0, NULL, NULL, NULL, data
        FROM imabo_events WHERE study = %(study)s
    ) AS entries WHERE (seq, number) > (%(seq)s, %(number)s) ORDER BY seq, number
"""

# --- decisions ------------------------------------------------------------------------------------

MARK_ARMS: Final = (
    update(arms)
    .where(arms.c.study == _STUDY)
    .values(marked_rewards=arms.c.n_rewards, marked_sum=arms.c.reward_sum, seq=_SEQ)
)
_new_arms = _rows(
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
    select(_STUDY, *_new_arms.c, literal_column("'active'"), _SEQ),
)
_new_pulls = _rows(
    "pull",
    number=BigInteger(),
    arm=BigInteger(),
    reason=Text(),
    key=Text(),
    part=Integer(),
    context=Text(),
)
_served = _rows("served", arm=BigInteger(), n=BigInteger())
_N_PULLS = bindparam("n_pulls_new", type_=BigInteger)


def _serve(
    study: ColumnElement[int],
    is_there: ColumnElement[bool],
    *,
    seq: ColumnElement[int] = _SEQ,
    at: ColumnElement[float] = _AT,
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
        .where(arms.c.study == study, _is_arm("served_arm"), arms.c.id == _served.c.arm)
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
            _NOTIFIED,
            studies.c.seq,
            (studies.c.n_pulls - _N_PULLS).label("before"),
            studies.c.last_at,
        )
    )


SERVE: Final = _serve(_STUDY, true())
# The same for pulls of known arms only, with LOCK and the checks in it: a whole transaction that
# goes there and back once. It does nothing, and returns no row, when there is anything to refuse.
_named_study = studies.c.name == bindparam("study_name", type_=Text)
_served_arms = (
    select(func.count())
    .select_from(arms)
    .where(arms.c.study == studies.c.id, _is_arm("served_arm"))
)
_n_named = func.cardinality(_array("served_arm", BigInteger()))
_current = (
    select(studies.c.id)
    .where(_named_study, studies.c.seq == _SEQ - literal_column("1"))
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
        func.greatest(studies.c.last_at, _AT).label("at"),
    )
    .where(_named_study, studies.c.token == bindparam("study_token", type_=Text))
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
_belief = upsert(beliefs)
PUT_BELIEFS: Final = _belief.on_conflict_do_update(
    index_elements=["study"],
    set_={"seq": _belief.excluded.seq, "document": _belief.excluded.document},
)
_changed = _rows("change", arm=BigInteger(), state=Text(), retired_from=Text())
CHANGE_ARMS: Final = (
    update(arms)
    .where(arms.c.study == _STUDY, _is_arm("change_arm"), arms.c.id == _changed.c.arm)
    .values(state=_changed.c.state, retired_from=_changed.c.retired_from, seq=_SEQ)
)
INSERT_SPACE: Final = insert(spaces).from_select(
    ["study", "version", "space", "n_pulls", "n_rewards", "n_pending", "n_arms"],
    select(
        _STUDY,
        func.coalesce(func.max(spaces.c.version), 0) + 1,
        bindparam("space", type_=Text),
        *(bindparam(key, type_=BigInteger) for key in ("n_pulls", "n_rewards", "n_pending")),
        bindparam("n_arms", type_=BigInteger),
    ).where(spaces.c.study == _STUDY),
)
INSERT_EVENT: Final = insert(events)
ADVANCE: Final = (
    update(studies).where(studies.c.id == _STUDY).values(seq=_SEQ, last_at=_AT).returning(_NOTIFIED)
)

# --- feedback -------------------------------------------------------------------------------------

# What is needed to decide about rewards, with the sums they would be added to. Subqueries, so
# that it takes one look for each pull, whatever the planner thinks.
_its_arm = and_(arms.c.study == pulls.c.study, arms.c.id == pulls.c.arm)
TOLD: Final = select(
    *(pulls.c[key] for key in ("number", "arm", "state", "reward")),
    select(arms.c.reward_sum).where(_its_arm).scalar_subquery(),
    select(arms.c.reward_squares).where(_its_arm).scalar_subquery(),
).where(pulls.c.study == _STUDY, _among(pulls.c.number, "numbers", BigInteger()))
_fresh = _rows("fresh", number=BigInteger(), reward=Double())
_recorded = (
    update(pulls)
    .where(
        pulls.c.study == _STUDY,
        _among(pulls.c.number, "fresh_number", BigInteger()),
        pulls.c.number == _fresh.c.number,
    )
    .values(
        state=literal_column("'rewarded'"),
        reward=_fresh.c.reward,
        rewarded_at=_AT,
        rewarded_seq=_SEQ,
    )
    .cte("recorded")
)
_sums = _rows(
    "sum",
    arm=BigInteger(),
    n=BigInteger(),
    pending=BigInteger(),
    total=Double(),
    squares=Double(),
)
_summed = (
    update(arms)
    .where(arms.c.study == _STUDY, _is_arm("sum_arm"), arms.c.id == _sums.c.arm)
    .values(
        n_rewards=arms.c.n_rewards + _sums.c.n,
        n_pending=arms.c.n_pending - _sums.c.pending,
        reward_sum=_sums.c.total,
        reward_squares=_sums.c.squares,
        seq=_SEQ,
    )
    .cte("summed")
)
REWARD: Final = (
    update(studies)
    .where(studies.c.id == _STUDY)
    .values(
        seq=_SEQ,
        n_rewards=studies.c.n_rewards + bindparam("n_fresh", type_=BigInteger),
        n_pending=studies.c.n_pending - bindparam("n_was_pending", type_=BigInteger),
        reward_sum=bindparam("total", type_=Double),
        last_at=func.greatest(studies.c.last_at, _AT),
    )
    .add_cte(_recorded, _summed)
    .returning(_NOTIFIED)
)
_expired = (
    update(pulls)
    .where(pulls.c.study == _STUDY, _IS_PENDING)
    .where(pulls.c.served_at >= _bound, pulls.c.served_at < _BEFORE)
    .values(state=literal_column("'expired'"))
    .returning(pulls.c.arm)
    .cte("expired")
)
EXPIRE: Final = select(_expired.c.arm, func.count()).group_by(_expired.c.arm)
_left = _rows("left", arm=BigInteger(), n=BigInteger())
_released = (
    update(arms)
    .where(arms.c.study == _STUDY, _is_arm("left_arm"), arms.c.id == _left.c.arm)
    .values(n_pending=arms.c.n_pending - _left.c.n, seq=_SEQ)
    .cte("released")
)
EXPIRED: Final = (
    update(studies)
    .where(studies.c.id == _STUDY)
    .values(
        seq=_SEQ,
        n_pending=studies.c.n_pending - bindparam("n_expired", type_=BigInteger),
        last_at=func.greatest(studies.c.last_at, _AT),
    )
    .add_cte(_released)
    .returning(_NOTIFIED)
)
_old = (
    select(pulls.c.number)
    .where(pulls.c.study == _STUDY, _IS_FINISHED, pulls.c.served_at < _BEFORE)
    .order_by(pulls.c.served_at, pulls.c.number)
    .limit(bindparam("limit", type_=BigInteger))
)
PRUNE: Final = delete(pulls).where(
    pulls.c.study == _STUDY,
    pulls.c.number == func.any(func.array(_old.scalar_subquery())),
)

# --- access keys ----------------------------------------------------------------------------------

PUT_KEY: Final = insert(keys).returning(keys.c.id)
KEYS: Final = select(
    *(keys.c[key] for key in ("id", "name", "role", "studies", "secret_hash")),
    *(keys.c[key] for key in ("created_at", "revoked_at")),
).order_by(keys.c.created_at, keys.c.id)
REVOKE_KEY: Final = (
    update(keys)
    .where(keys.c.id == bindparam("key_id", type_=Text))
    .values(revoked_at=func.coalesce(keys.c.revoked_at, _AT))
    .returning(keys.c.id)
)
