"""Feedback: rewards, pulls that expire, and finished ones that go."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Double,
    and_,
    bindparam,
    delete,
    func,
    literal_column,
    select,
    update,
)

from imabo.stores.postgres.statements.notices import NOTIFIED
from imabo.stores.postgres.statements.terms import (
    AT,
    BEFORE,
    BOUND,
    IS_FINISHED,
    IS_PENDING,
    SEQ,
    STEADY_AT,
    STUDY,
    among,
    is_arm,
    table_of,
)
from imabo.stores.postgres.tables import arms, pulls, studies

# What is needed to decide about rewards, with the sums they would be added to. Subqueries, so
# that it takes one look for each pull, whatever the planner thinks.
_its_arm = and_(arms.c.study == pulls.c.study, arms.c.id == pulls.c.arm)
TOLD: Final = select(
    *(pulls.c[key] for key in ("number", "arm", "state", "reward")),
    select(arms.c.reward_sum).where(_its_arm).scalar_subquery(),
    select(arms.c.reward_squares).where(_its_arm).scalar_subquery(),
).where(pulls.c.study == STUDY, among(pulls.c.number, "numbers", BigInteger()))
_fresh = table_of("fresh", number=BigInteger(), reward=Double())
_recorded = (
    update(pulls)
    .where(
        pulls.c.study == STUDY,
        among(pulls.c.number, "fresh_number", BigInteger()),
        pulls.c.number == _fresh.c.number,
    )
    .values(
        state=literal_column("'rewarded'"),
        reward=_fresh.c.reward,
        rewarded_at=AT,
        rewarded_seq=SEQ,
    )
    .cte("recorded")
)
_sums = table_of(
    "sum",
    arm=BigInteger(),
    n=BigInteger(),
    pending=BigInteger(),
    total=Double(),
    squares=Double(),
)
_summed = (
    update(arms)
    .where(arms.c.study == STUDY, is_arm("sum_arm"), arms.c.id == _sums.c.arm)
    .values(
        n_rewards=arms.c.n_rewards + _sums.c.n,
        n_pending=arms.c.n_pending - _sums.c.pending,
        reward_sum=_sums.c.total,
        reward_squares=_sums.c.squares,
        seq=SEQ,
    )
    .cte("summed")
)
REWARD: Final = (
    update(studies)
    .where(studies.c.id == STUDY)
    .values(
        seq=SEQ,
        n_rewards=studies.c.n_rewards + bindparam("n_fresh", type_=BigInteger),
        n_pending=studies.c.n_pending - bindparam("n_was_pending", type_=BigInteger),
        reward_sum=bindparam("total", type_=Double),
        last_at=STEADY_AT,
    )
    .add_cte(_recorded, _summed)
    .returning(NOTIFIED)
)
_expired = (
    update(pulls)
    .where(pulls.c.study == STUDY, IS_PENDING)
    .where(pulls.c.served_at >= BOUND, pulls.c.served_at < BEFORE)
    .values(state=literal_column("'expired'"))
    .returning(pulls.c.arm)
    .cte("expired")
)
EXPIRE: Final = select(_expired.c.arm, func.count()).group_by(_expired.c.arm)
_left = table_of("left", arm=BigInteger(), n=BigInteger())
_released = (
    update(arms)
    .where(arms.c.study == STUDY, is_arm("left_arm"), arms.c.id == _left.c.arm)
    .values(n_pending=arms.c.n_pending - _left.c.n, seq=SEQ)
    .cte("released")
)
EXPIRED: Final = (
    update(studies)
    .where(studies.c.id == STUDY)
    .values(
        seq=SEQ,
        n_pending=studies.c.n_pending - bindparam("n_expired", type_=BigInteger),
        last_at=STEADY_AT,
    )
    .add_cte(_released)
    .returning(NOTIFIED)
)
_old = (
    select(pulls.c.number)
    .where(pulls.c.study == STUDY, IS_FINISHED, pulls.c.served_at < BEFORE)
    .order_by(pulls.c.served_at, pulls.c.number)
    .limit(bindparam("limit", type_=BigInteger))
)
PRUNE: Final = delete(pulls).where(
    pulls.c.study == STUDY,
    pulls.c.number == func.any(func.array(_old.scalar_subquery())),
)
