"""The shipped contract, on every store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest

from imabo import Space, Study
from imabo.stores import MemoryStore
from imabo.testing.study import StudyContract
from imabo.testing.study.base import MakeStudy


class TestMemoryStudy(StudyContract):
    @pytest.fixture
    def make_study(self) -> MakeStudy:
        return partial(Study.create, store=MemoryStore())


class TestSQLiteStudy(StudyContract):
    @pytest.fixture
    def make_study(self, sqlite_url: str) -> Iterator[MakeStudy]:
        with ExitStack() as stack:

            def make(name: str, space: Space, **settings: Any) -> Study:
                return stack.enter_context(Study.create(name, space, store=sqlite_url, **settings))

            yield make
