"""The shipped contract, on the stores that imabo brings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from imabo.stores import MemoryStore, SQLiteStore, Store
from imabo.testing.stores import StoreContract


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return MemoryStore()


class TestSQLiteStore(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = SQLiteStore(str(tmp_path / "imabo.db"))
        yield store
        store.close()

    def reopen(self, store: Store) -> Store:
        assert isinstance(store, SQLiteStore)
        store.close()
        return SQLiteStore(store.path)
