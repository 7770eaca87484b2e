from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from imabo.stores import MemoryStore, SQLiteStore, Store


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/imabo.db"


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store of each kind."""
    is_memory = request.param == "memory"
    opened: Store = MemoryStore() if is_memory else SQLiteStore(f"{tmp_path}/imabo.db")
    yield opened
    opened.close()
