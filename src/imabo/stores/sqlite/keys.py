"""Access keys in a SQLite file."""

from __future__ import annotations

from imabo.stores.keys import KeyRecord, Keys
from imabo.stores.outbox import key_data
from imabo.stores.rows import of_key, to_key
from imabo.stores.sqlite import statements
from imabo.stores.sqlite.connections import Connections
from imabo.stores.sqlite.outbox import add_event
from imabo.stores.sqlite.outbox_statements import ONE_KEY


class SQLiteKeys(Keys):
    """See ``Keys``."""

    _connections: Connections

    def put_key(self, key: KeyRecord) -> None:
        with self._connections.writing() as db:
            db.execute(statements.PUT_KEY, of_key(key))
            add_event(db, "key made", key_data(key), key.created_at)

    def keys(self) -> list[KeyRecord]:
        with self._connections.reading() as db:
            return [to_key(row) for row in db.execute(statements.KEYS)]

    def revoke_key(self, key_id: str, *, at: float) -> bool:
        with self._connections.writing() as db:
            row = db.execute(ONE_KEY, {"id": key_id}).fetchone()
            known = None if row is None else to_key(row)
            if known is not None and known.revoked_at is None:
                db.execute(statements.REVOKE_KEY, {"id": key_id, "at": at})
                add_event(db, "key revoked", key_data(known), at)
            return known is not None
