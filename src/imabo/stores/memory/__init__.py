"""The store of a study that need not outlive its process."""

from __future__ import annotations

from imabo.stores.memory.store import MemoryStore

__all__ = ["MemoryStore"]
