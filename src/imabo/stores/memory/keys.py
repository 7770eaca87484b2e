"""Access keys in memory."""

from __future__ import annotations

from dataclasses import replace

from imabo.stores.keys import KeyRecord, Keys
from imabo.stores.memory.rows import AllRows
from imabo.stores.outbox import key_data
from imabo.stores.refusals import misfit


class MemoryKeys(Keys):
    """See ``Keys``."""

    _all: AllRows

    def put_key(self, key: KeyRecord) -> None:
        with self._all.lock:
            if any(known.id == key.id for known in self.keys()):
                raise misfit(f"the access key {key.id!r} is there already")
            self._all.keys[key.id] = key
            self._all.add_event("key made", key_data(key), key.created_at)

    def keys(self) -> list[KeyRecord]:
        with self._all.lock:
            self._all.check()
            return sorted(self._all.keys.values(), key=lambda key: (key.created_at, key.id))

    def revoke_key(self, key_id: str, *, at: float) -> bool:
        with self._all.lock:
            known = {key.id: key for key in self.keys()}.get(key_id)
            if known is not None and known.revoked_at is None:
                self._all.keys[key_id] = replace(known, revoked_at=at)
                self._all.add_event("key revoked", key_data(known), at)
            return known is not None
