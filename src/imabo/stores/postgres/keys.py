"""Access keys in PostgreSQL."""

from __future__ import annotations

from imabo.stores.keys import KeyRecord, Keys
from imabo.stores.postgres import statements
from imabo.stores.postgres.connections import Connections
from imabo.stores.rows import of_key, to_key


class PostgresKeys(Keys):
    """See ``Keys``."""

    _connections: Connections

    def put_key(self, key: KeyRecord) -> None:
        with self._connections.writing(statements.PUT_KEY, of_key(key)):
            pass

    def keys(self) -> list[KeyRecord]:
        return [to_key(row) for row in self._connections.read(statements.KEYS)]

    def revoke_key(self, key_id: str, *, at: float) -> bool:
        wanted = {"id": key_id, "at": at}
        with self._connections.writing(statements.REVOKE_KEY, wanted) as (_, found):
            return bool(found)
