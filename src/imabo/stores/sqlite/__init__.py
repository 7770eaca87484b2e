"""The durable store of one machine: a SQLite file, through the standard library."""

from __future__ import annotations

from imabo.stores.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]
