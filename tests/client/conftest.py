from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from imabo.client import Client
from tests.client.serving import SharedClock
from tests.client.waiting import waiting_client
from tests.server.running import RunningServer

MakeClient = Callable[..., Any]


@pytest.fixture(scope="package")
def shared_clock() -> SharedClock:
    return SharedClock()


@pytest.fixture(scope="package")
def server(shared_clock: SharedClock) -> Iterator[RunningServer]:
    """One server for all tests that leave it as it was."""
    with RunningServer(clock=shared_clock) as running:
        yield running


@pytest.fixture(scope="package")
def blocking_client(server: RunningServer) -> Iterator[Client]:
    with Client(server.url) as client:
        yield client


@pytest.fixture(scope="package")
def asyncio_client(server: RunningServer) -> Iterator[Any]:
    with waiting_client(server.url) as client:
        yield client


@pytest.fixture(params=["blocking", "asyncio"])
def make_client(request: pytest.FixtureRequest) -> Iterator[MakeClient]:
    """Makes clients of each kind: ``make_client(url, **settings)``; they are patient by default."""
    kind = Client if request.param == "blocking" else waiting_client
    patient = {"timeout_s": 30.0}
    with ExitStack() as stack:
        yield lambda url, **settings: stack.enter_context(kind(url, **(patient | settings)))
