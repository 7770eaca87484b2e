"""Access keys."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Text, bindparam, func, insert, select, update

from imabo.stores.postgres.statements.terms import AT
from imabo.stores.postgres.tables import keys

PUT_KEY: Final = insert(keys).returning(keys.c.id)
KEYS: Final = select(
    *(keys.c[key] for key in ("id", "name", "role", "studies", "secret_hash")),
    *(keys.c[key] for key in ("created_at", "revoked_at")),
).order_by(keys.c.created_at, keys.c.id)
REVOKE_KEY: Final = (
    update(keys)
    .where(keys.c.id == bindparam("key_id", type_=Text))
    .values(revoked_at=func.coalesce(keys.c.revoked_at, AT))
    .returning(keys.c.id)
)
