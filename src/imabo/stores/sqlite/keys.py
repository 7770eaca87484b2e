"""Access keys in a SQLite file."""

from __future__ import annotations

from imabo.stores.keys import KeyRecord, Keys
from imabo.stores.rows import of_key, to_key
from imabo.stores.sqlite import statements
from imabo.stores.sqlite.connections import Connections


class SQLiteKeys(Keys):
    """See ``Keys``."""

    _connections: Connections

    def put_key(self, key: KeyRecord) -> None:
        with self._connections.writing() as db:
            db.execute(statements.PUT_KEY, of_key(key))

    def keys(self) -> list[KeyRecord]:
        with self._connections.reading() as db:
            return [to_key(row) for row in db.execute(statements.KEYS)]

    def revoke_key(self, key_id: str, *, at: float) -> bool:
        with self._connections.writing() as db:
            return db.execute(statements.REVOKE_KEY, {"id": key_id, "at": at}).rowcount == 1
