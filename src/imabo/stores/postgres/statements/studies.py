"""Studies as wholes: made, found, locked and deleted."""

from __future__ import annotations

from typing import Final

from sqlalchemy import bindparam, delete, select
from sqlalchemy.dialects.postgresql import insert as upsert

from imabo.stores.postgres.statements.terms import NAME, STUDY
from imabo.stores.postgres.tables import studies

CREATE: Final = (
    upsert(studies).on_conflict_do_nothing(index_elements=["name"]).returning(studies.c.id)
)
NAMES: Final = select(studies.c.name).order_by(studies.c.name)
SEQS: Final = select(studies.c.name, studies.c.seq).order_by(studies.c.name)
FIND: Final = select(studies.c.name).where(studies.c.token == bindparam("token"))
STUDY_ID: Final = select(studies.c.id).where(studies.c.name == NAME)
DELETE: Final = delete(studies).where(studies.c.id == STUDY)
# Every transaction that writes to a study begins with this one.
LOCK: Final = (
    select(*(studies.c[key] for key in ("id", "token", "seq", "reward_sum", "last_at")))
    .where(studies.c.name == NAME)
    .with_for_update(key_share=True)
)
