"""The shipped contracts, on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from imabo import Space, Study
from imabo.stores import Store, open_store
from imabo.stores.postgres import PostgresStore
from imabo.testing.stores import StoreContract
from imabo.testing.study import StudyContract
from imabo.testing.study.base import MakeStudy


class TestPostgresStore(StoreContract):
    @pytest.fixture(autouse=True)
    def _remember(self, postgres_url: str) -> None:
        self.url = postgres_url

    @pytest.fixture
    def store(self, postgres_store: PostgresStore) -> Store:
        return postgres_store

    def reopen(self, store: Store) -> Store:
        store.close()
        return open_store(self.url)


class TestPostgresStudy(StudyContract):
    @pytest.fixture
    def make_study(self, postgres_url: str) -> Iterator[MakeStudy]:
        with ExitStack() as stack:

            def make(name: str, space: Space, **settings: Any) -> Study:
                study = Study.create(name, space, store=postgres_url, **settings)
                return stack.enter_context(study)

            yield make
