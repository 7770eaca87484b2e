"""Access keys in PostgreSQL."""

from __future__ import annotations

from imabo.stores.keys import KeyRecord, Keys
from imabo.stores.outbox import key_data
from imabo.stores.postgres import statements
from imabo.stores.postgres.connections import Connections
from imabo.stores.postgres.outbox import add_event
from imabo.stores.rows import of_key, to_key


class PostgresKeys(Keys):
    """See ``Keys``."""

    _connections: Connections

    def put_key(self, key: KeyRecord) -> None:
        with self._connections.writing(statements.PUT_KEY, of_key(key)) as (db, _):
            add_event(db, "key made", key_data(key), key.created_at)

    def keys(self) -> list[KeyRecord]:
        return [to_key(row) for row in self._connections.read(statements.KEYS)]

    def revoke_key(self, key_id: str, *, at: float) -> bool:
        wanted = {"id": key_id, "at": at}
        with self._connections.writing(statements.LOCK_KEY, wanted) as (db, found):
            for known in map(to_key, found):
                if known.revoked_at is None:
                    db.execute(statements.REVOKE_KEY, wanted)
                    add_event(db, "key revoked", key_data(known), at)
            return bool(found)
