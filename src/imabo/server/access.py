"""Who is calling: the table of keys as the service sees it."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Callable
from typing import Final

from imabo.server.keys import hash_of
from imabo.server.problems import unauthorized
from imabo.stores.base import KeyRecord, Store

_MAX_AGE_S: Final = 1.0  # a revoked key is refused after this long at the latest
_FRESH_S: Final = 0.5  # after this long the table is read again, beside the requests
_NO_HASH: Final = hash_of("")


class Access:
    """Who is calling: the table of keys, read from the store at most a second ago.

    Args:
        store: Where the keys are.
        may_be_open: Whether requests need no key as long as the store has none.
        now: Seconds that only go forwards.
    """

    def __init__(
        self, store: Store, *, may_be_open: bool, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._may_be_open = may_be_open
        self._now = now
        self._keys: dict[str, KeyRecord] = {}
        self._read_at = -1e9
        self._reading: asyncio.Task[None] | None = None

    async def caller(self, authorization: str | None) -> KeyRecord | None:
        """The key that a request shows, None when none is needed; raises when it does not count."""
        age = self._now() - self._read_at
        if age > _FRESH_S:
            if self._reading is None or self._reading.done():
                self._reading = asyncio.create_task(self._read())
            if age > _MAX_AGE_S:
                await asyncio.shield(self._reading)
            else:
                self._reading.add_done_callback(_forget)
        return self.judge(authorization)

    def judge(self, authorization: str | None) -> KeyRecord | None:
        """As ``caller``, by the table as it is."""
        if not self._keys and self._may_be_open:
            return None
        if not authorization:
            raise unauthorized("the request has no key", "this service answers to keys only")
        scheme, _, text = authorization.partition(" ")
        parts = text.strip().split("_", 2)
        key_id, secret = parts[1:] if len(parts) == 3 and parts[0] == "imabo" else ("", "")
        key = self._keys.get(key_id)
        # Compared also when there is no such key, so that the time taken tells nothing.
        is_secret = hmac.compare_digest(hash_of(secret), key.secret_hash if key else _NO_HASH)
        if scheme.lower() != "bearer" or key is None or not is_secret or key.revoked_at is not None:
            raise unauthorized("the request's key does not count", "it is unknown or was revoked")
        return key

    async def _read(self) -> None:
        began = self._now()
        keys = await asyncio.to_thread(self._store.keys)
        self._keys = {key.id: key for key in keys}
        self._read_at = began


def _forget(task: asyncio.Task[None]) -> None:
    # Whoever needs the table reads it again and sees the error then.
    if not task.cancelled():
        task.exception()
