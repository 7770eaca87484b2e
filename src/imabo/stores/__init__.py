"""Stores: where the facts of a study are kept."""

from __future__ import annotations

from imabo.errors import InvalidSetting
from imabo.stores.base import Store
from imabo.stores.memory import MemoryStore
from imabo.stores.sqlite import SQLiteStore

__all__ = ["MemoryStore", "SQLiteStore", "Store", "open_store"]


def open_store(store: str | Store | None) -> Store:
    """The store that an argument ``store=`` means: None is memory, a URL is durable.

    Example:
        >>> type(open_store(None)).__name__
        'MemoryStore'
    """
    if store is None:
        return MemoryStore()
    if isinstance(store, Store):
        return store
    if isinstance(store, str) and store.startswith("sqlite:///"):
        path = store.removeprefix("sqlite:///")
        if path and path != ":memory:":
            return SQLiteStore(path)
    raise InvalidSetting(
        f"store is {store!r}",
        "it must be None (memory), a Store, or a URL such as 'sqlite:///imabo.db' that names a "
        "file",
        "write three slashes before a relative path and four before an absolute one",
    )
