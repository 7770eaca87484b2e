"""One browser for all, one server for most."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page.browsing import Pages, Watch, running_browser
from tests.page.studies import STRANGE, STRANGE_SPACE, assistant
from tests.server.calls import Api
from tests.server.running import RunningServer

KEYS: dict[str, tuple[str, tuple[str, ...] | None]] = {
    "admin": ("admin", None),
    "reader": ("reader", None),
    "revoked": ("admin", None),
    "limited": ("writer", ("locked-study",)),
}

PATIENCE_MS = 30_000  # for a slow machine; what is expected is there much earlier
OpenPage = Callable[..., tuple[Page, Watch]]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A browser that all tests of this folder share.

    It ends with them: its event loop must not run in this process while other tests do.
    """
    expect.set_options(timeout=PATIENCE_MS)
    with running_browser() as found:
        yield found


@pytest.fixture(scope="package")
def server() -> Iterator[RunningServer]:
    """An open server with studies that tests only look at, and the tests' own."""
    with RunningServer() as running:
        with httpx.Client(base_url=running.url) as client:
            assistant(client, "support-answers", 600)
            assistant(client, STRANGE, 60, space=STRANGE_SPACE)
        yield running


@pytest.fixture(scope="package")
def locked() -> Iterator[RunningServer]:
    """A server with keys."""
    with RunningServer(keys=KEYS) as running:
        headers = {"Authorization": f"Bearer {running.keys['admin']}"}
        with httpx.Client(base_url=running.url, headers=headers) as client:
            assistant(client, "locked-study", 60)
            assistant(client, "other-study", 20)
        yield running


@pytest.fixture
def http(server: RunningServer) -> Iterator[httpx.Client]:
    """Calls to the open server, as an application makes them."""
    with httpx.Client(base_url=server.url) as client:
        yield client


@pytest.fixture
def api(http: httpx.Client, request: pytest.FixtureRequest) -> Api:
    """A study of the test's own on the open server, after some requests."""
    return assistant(http, request.node.name[:200], 60)


@pytest.fixture(scope="package")
def pages(browser: Browser) -> Pages:
    """Those that tests share."""
    return Pages(browser)


@pytest.fixture
def open_page(pages: Pages, server: RunningServer) -> Iterator[OpenPage]:
    """Opens pages of the open server, or of another; each is checked at the end of the test."""
    with ExitStack() as stack:

        def opened(path: str = "/", url: str | None = None, **options: Any) -> tuple[Page, Watch]:
            page, watch = stack.enter_context(pages.watched_page(url or server.url, **options))
            page.goto(path)
            return page, watch

        yield opened
