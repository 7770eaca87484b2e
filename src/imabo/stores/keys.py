"""The contract of access keys, which a store keeps beside its studies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """An access key: what it allows, and the hash of its secret.

    ``studies`` limits it to studies of these names; None is all of them, also later ones.
    """

    id: str
    name: str
    role: Literal["reader", "writer", "admin"]
    studies: tuple[str, ...] | None
    secret_hash: str
    created_at: float
    revoked_at: float | None = None


class Keys(ABC):
    """Where access keys are kept, as hashes that mean nothing to the store."""

    @abstractmethod
    def put_key(self, key: KeyRecord) -> None:
        """Add an access key; ``StoreError`` when its id is taken."""

    @abstractmethod
    def keys(self) -> list[KeyRecord]:
        """Every access key, revoked ones too, in order of creation."""

    @abstractmethod
    def revoke_key(self, key_id: str, *, at: float) -> bool:
        """Revoke a key; False when there is no such key. Again, it changes nothing."""
