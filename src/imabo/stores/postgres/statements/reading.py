"""Reading a study: all of it or what is new, its pulls, and its log."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Text, and_, bindparam, case, literal_column, select, true

from imabo.stores.postgres.statements.studies import STUDY_ID
from imabo.stores.postgres.statements.terms import (
    BOUND,
    IS_PENDING,
    NAME,
    SINCE,
    STUDY,
    among,
    is_arm,
)
from imabo.stores.postgres.tables import arms, beliefs, memories, pulls, spaces, studies
from imabo.stores.rows import ArmRows

# Index entries of pulls that are no longer pending stay until the next vacuum. A bound that is
# known already keeps the search from going through them all. It does not count once a clock was set
# back to before it.
_bound_if_known = case(
    (
        and_(
            studies.c.id == bindparam("bound_study", type_=BigInteger),
            studies.c.last_at >= BOUND,
        ),
        BOUND,
    ),
    else_=literal_column("'-infinity'::float8"),
)
_first_pending = (
    select(pulls.c.served_at)
    .where(IS_PENDING)
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
_newer_beliefs, _newer_memory = (
    select(documents.c.document)
    .where(documents.c.study == studies.c.id, documents.c.seq > SINCE)
    .scalar_subquery()
    for documents in (beliefs, memories)
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
        _newer_memory,
        _first_pending.where(
            pulls.c.study == studies.c.id, pulls.c.served_at >= _bound_if_known
        ).scalar_subquery(),
    )
    .select_from(studies)
    .join(_latest, true())
    .where(studies.c.name == NAME)
)
OLDEST_PENDING: Final = _first_pending.where(pulls.c.study == STUDY, pulls.c.served_at >= BOUND)
ARMS: Final = (
    select(*(arms.c[key] for key in ArmRows.COLUMNS))
    .where(arms.c.study == STUDY, arms.c.seq > SINCE)
    .order_by(arms.c.id)
)
_OF_NAME: Final = STUDY_ID.scalar_subquery()
SOME_ARMS: Final = (
    select(*(arms.c[key] for key in ArmRows.COLUMNS))
    .where(arms.c.study == _OF_NAME, is_arm("arm_ids"))
    .order_by(arms.c.id)
)
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
        among(pulls.c.key, "keys", Text()),
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
