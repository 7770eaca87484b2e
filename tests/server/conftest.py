"""Servers that many tests share."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import httpx
import pytest

from imabo.server import logs
from tests.postgres.server import postgres_server, postgres_url
from tests.server.calls import Api
from tests.server.running import RunningServer

__all__ = ["api", "http", "json_logs", "postgres_server", "postgres_url", "server"]


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    """An open server on memory."""
    with RunningServer() as running:
        yield running


@pytest.fixture(scope="module")
def http(server: RunningServer) -> Iterator[httpx.Client]:
    """A connection to the shared server."""
    with httpx.Client(base_url=server.url) as client:
        yield client


@pytest.fixture
def api(http: httpx.Client, request: pytest.FixtureRequest) -> Api:
    """A study of the test's own on the shared server."""
    return Api(http, study=request.node.name[:200])


@pytest.fixture
def json_logs(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """What the service logs as JSON lines."""
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    logs.set_up("json")
    yield stream
    logs.everything.handlers = []
    logs.everything.propagate = True
    logs.everything.setLevel(logging.NOTSET)
    logs.requests.disabled = True
