"""What the tests of the PostgreSQL store share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from imabo.stores.postgres import PostgresStore
from tests.postgres.server import empty_url, postgres_server, postgres_url

__all__ = ["empty_url", "postgres_server", "postgres_store", "postgres_url"]


@pytest.fixture
def postgres_store(postgres_url: str) -> Iterator[PostgresStore]:
    """An empty store."""
    store = PostgresStore(postgres_url)
    yield store
    store.close()
