"""Access keys: making them, and what each may do. Needs no extra, so that the shell can use it."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from typing import Final, Literal, get_args

from imabo.errors import InvalidSetting
from imabo.space.scalars import show
from imabo.stores.base import KeyRecord

Role = Literal["reader", "writer", "admin"]
RANKS: Final[Mapping[str, int]] = {role: rank for rank, role in enumerate(get_args(Role))}


def make_key(
    name: str, role: str, studies: tuple[str, ...] | None, *, at: float
) -> tuple[str, KeyRecord]:
    """A new key: the text to hand out, once, and the record to keep.

    Args:
        name: Whose it is; 1 to 200 characters.
        role: ``reader``, ``writer`` or ``admin``.
        studies: Names of the studies that it is limited to, or None.
        at: The time.

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
            f"role is {show(role)}",
            f"it must be one of {', '.join(RANKS)}",
            "pass one of these",
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


def may_see(key: KeyRecord | None, study: str) -> bool:
    """Whether a caller may know of a study; without keys, everyone may."""
    return key is None or key.studies is None or study in key.studies
