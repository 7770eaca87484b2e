"""Access keys: making them, who is calling, and what they may do.

Needs no extra, so that the shell can use it.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Final, Literal, get_args

from imabo.errors import InvalidSetting
from imabo.server.problems import forbidden, unauthorized
from imabo.space.scalars import show
from imabo.stores.base import KeyRecord, Store

Role = Literal["reader", "writer", "admin"]
RANKS: Final[Mapping[str, int]] = {role: rank for rank, role in enumerate(get_args(Role))}

_MAX_AGE_S: Final = 1.0  # a revoked key is refused after this long at the latest
_FRESH_S: Final = 0.5  # after this long the table is read again, beside the requests


def make_key(
    name: str, role: str, studies: tuple[str, ...] | None, *, at: float
) -> tuple[str, KeyRecord]:
    """A new key: the text to hand out, once, and the record to keep.

    It may be limited to ``studies``.

    Example:
        >>> text, record = make_key("page", "reader", None, at=0.0)
        >>> text.startswith(f"imabo_{record.id}_"), text.split("_", 2)[2] in repr(record)
        (True, False)
    """
    if not 0 < len(name) <= 200 or not name.isprintable():
        raise InvalidSetting(
            f"the key's name is {show(name)}",
            "it must be text of 1 to 200 printable characters",
            "choose another name",
        )
    if role not in RANKS:
        raise InvalidSetting(
            f"role is {show(role)}", f"it must be one of {', '.join(RANKS)}", "pass one of these"
        )
    key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    record = KeyRecord(
        id=key_id,
        name=name,
        role=role,  # type: ignore[arg-type]  # one of the roles, as was just checked
        studies=studies,
        secret_hash=hash_of(secret),
        created_at=at,
    )
    return f"imabo_{key_id}_{secret}", record


def hash_of(secret: str) -> str:
    """What is kept of a secret. It has 256 random bits, so one plain hash is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()


_NO_HASH: Final = hash_of("")


def may_see(key: KeyRecord | None, study: str) -> bool:
    """Whether a caller may know of a study; without keys, everyone may."""
    return key is None or key.studies is None or study in key.studies


def require_role(caller: KeyRecord | None, role: str | None) -> None:
    """Refuse a key whose role is not enough."""
    if caller is not None and role is not None and RANKS[caller.role] < RANKS[role]:
        raise forbidden(f"the key is a {caller.role}'s", f"this needs the role {role}")


def require_name(caller: KeyRecord | None, name: str) -> None:
    """Refuse a key that may not have a study of this name."""
    if not may_see(caller, name):
        raise forbidden(
            "the key does not allow a study of this name", "it is limited to named studies"
        )


def require_all(caller: KeyRecord | None) -> None:
    """Refuse a key that is limited to named studies, for what is about all of them."""
    if caller is not None and caller.studies is not None:
        raise forbidden("the key is limited to named studies", "this is about all of them")


class Access:
    """Who is calling: the table of keys, read from the store at most a second ago.

    ``may_be_open`` says whether requests need no key as long as the store has none.
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
        self._keys = {key.id: key for key in await asyncio.to_thread(self._store.keys)}
        self._read_at = began


def _forget(task: asyncio.Task[None]) -> None:
    # Whoever needs the table reads it again and sees the error then.
    if not task.cancelled():
        task.exception()
