"""The shipped contract, on studies of a real service."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from imabo import Space
from imabo.client import Client
from imabo.testing.study import StudyContract
from imabo.testing.study.base import MakeStudy
from tests.client.serving import SharedClock


def studies_of(client: Any, clock: SharedClock) -> Iterator[MakeStudy]:
    """Makes studies through a client, whose service takes the clock of the last one."""

    def make(name: str, space: Space, **settings: Any) -> Any:
        clock.current = settings.pop("clock", time.time)
        return client.create(name, space, **settings)

    yield make
    clock.current = time.time
    for name in client.studies():
        client.delete(name)


class TestRemoteStudy(StudyContract):
    @pytest.fixture
    def make_study(self, blocking_client: Client, shared_clock: SharedClock) -> Iterator[MakeStudy]:
        yield from studies_of(blocking_client, shared_clock)


class TestAsyncRemoteStudy(StudyContract):
    @pytest.fixture
    def make_study(self, asyncio_client: Any, shared_clock: SharedClock) -> Iterator[MakeStudy]:
        yield from studies_of(asyncio_client, shared_clock)
