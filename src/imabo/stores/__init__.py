"""Stores: where the facts of a study are kept."""

from __future__ import annotations

import re
from typing import Final

from imabo.errors import InvalidSetting, MissingExtra
from imabo.stores.base import Store
from imabo.stores.memory import MemoryStore
from imabo.stores.sqlite import SQLiteStore

__all__ = ["MemoryStore", "SQLiteStore", "Store", "open_store"]


def open_store(store: str | Store | None, *, limit_s: float | None = None) -> Store:
    """The store that an argument ``store=`` means: None is memory, a URL is durable.

    Args:
        store: None, a URL, or a ``Store``, which is returned as it is.
        limit_s: How many seconds a call may wait for the database that a URL names; see
            ``SQLiteStore`` and ``PostgresStore``, which have defaults of their own.

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
            return SQLiteStore(path) if limit_s is None else SQLiteStore(path, limit_s=limit_s)
    if isinstance(store, str) and store.startswith(("postgresql://", "postgresql+")):
        return _open_postgres(store, limit_s)
    # What stands before an @ may be a password.
    seen = re.sub(r"//.*@", "//...@", store) if isinstance(store, str) else store
    if isinstance(store, str) and (foreign := _foreign(store)):
        raise InvalidSetting(
            f"store is {seen!r}",
            f"{foreign}; a study is kept in SQLite ('sqlite:///imabo.db'), in PostgreSQL "
            "('postgresql://user:password@host/database') or in memory (None)",
            f"write 'sqlite:///{store}', say"
            if foreign.startswith("it is a path")
            else "pass one of these",
        )
    raise InvalidSetting(
        f"store is {seen!r}",
        "it must be None (memory), a Store, or a URL such as 'sqlite:///imabo.db' that names a "
        "file or 'postgresql://user:password@host/database'",
        "write three slashes before a relative path and four before an absolute one",
    )


def _foreign(store: str) -> str | None:
    """What is wrong with a URL whose kind is not one of ours; None where it is, or is no URL."""
    kind, colon, _ = store.partition("://")
    if not colon:
        if re.fullmatch(r"[\w./~ -]+", store):
            return "it is a path and not a URL"
        return None
    name = kind.casefold().partition("+")[0]
    if name in ("http", "https"):
        return "it is the address of a service, which a Client talks to (imabo.Client, --url)"
    if name == "postgres":
        return "a URL of PostgreSQL begins with 'postgresql://'"
    if name in ("sqlite", "postgresql"):
        return None
    return f"imabo has no store for {_DATABASES.get(name, repr(kind[:40]))}"


_DATABASES: Final = {
    "mysql": "MySQL",
    "mariadb": "MariaDB",
    "mssql": "SQL Server",
    "oracle": "Oracle",
    "mongodb": "MongoDB",
    "redis": "Redis",
    "duckdb": "DuckDB",
}


def _open_postgres(url: str, limit_s: float | None) -> Store:
    try:
        from imabo.stores.postgres import PostgresStore
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package != "psycopg":
            raise
        raise MissingExtra(
            f"a PostgreSQL store needs {package}, which is not installed",
            "imabo itself needs only NumPy and SciPy",
            'run: pip install "imabo[postgres]"',
        ) from error
    return PostgresStore(url) if limit_s is None else PostgresStore(url, limit_s=limit_s)
