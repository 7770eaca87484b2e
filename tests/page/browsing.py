"""A real Chromium, and pages that notice what must never happen."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Error,
    Page,
    Request,
    sync_playwright,
)

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS: Final = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
WIDE: Final = {"width": 1280, "height": 900}
NARROW: Final = {"width": 375, "height": 812}


def find_browser() -> str | None:
    """Path of Chromium or Chrome: what BROWSER_PATH names, else what is on the PATH."""
    named = os.environ.get("BROWSER_PATH")
    found = (shutil.which(name) for name in ([named] if named else NAMES))
    return next((path for path in found if path is not None), None)


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Chromium without a window; without one, tests are skipped, and fail where CI is set."""
    path = find_browser()
    if path is None:
        words = "no Chromium or Chrome on this machine (apt-get install chromium)"
        if os.environ.get("CI"):
            pytest.fail(words)
        pytest.skip(words)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


class Watch:
    """Notes what a page must not do: errors on the console, requests to other hosts.

    Args:
        page: The page.
        url: The server's address.
    """

    def __init__(self, page: Page, url: str) -> None:
        self.errors: list[str] = []
        self.strangers: list[str] = []
        self.allowed: set[str] = set()  # parts of messages that a test brings about itself
        self._url = url
        self._page = page
        self._heard: dict[Any, Any] = {
            "console": self._said,
            "pageerror": self._failed,
            "request": self._asked,
        }
        for event, heard in self._heard.items():
            page.on(event, heard)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(message.text)

    def _failed(self, error: Error) -> None:
        self.errors.append(str(error))

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((f"{self._url}/", "data:", "blob:")):
            self.strangers.append(request.url)

    def allow(self, *statuses: int) -> None:
        """Accept that the browser notes answers with these statuses, which the test provokes."""
        self.allowed |= {f"the server responded with a status of {one} " for one in statuses}

    def end(self) -> None:
        """Watch no longer."""
        for event, heard in self._heard.items():
            self._page.remove_listener(event, heard)

    def check(self) -> None:
        """Fail when something happened that must not."""
        # Only now: what a test allows may have been said before it came to say so.
        errors = [said for said in self.errors if not any(part in said for part in self.allowed)]
        assert not errors, errors
        assert not self.strangers, self.strangers


class Pages:
    """Pages of a browser that one test has after another: to start one takes two seconds of work.

    What a page has loaded is kept for the next test, what it has stored is not. A test that opens
    several pages has a context for each, and a test that fails leaves none behind.

    Args:
        browser: The browser.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: dict[str, list[Page]] = {}

    @contextmanager
    def watched_page(self, url: str, **options: Any) -> Iterator[tuple[Page, Watch]]:
        """A page of a server as if it was fresh, checked when it is left."""
        settings: dict[str, Any] = {"viewport": WIDE, "base_url": url} | options
        free = self._free.setdefault(repr(sorted(settings.items())), [])
        page = free.pop() if free else self._browser.new_context(**settings).new_page()
        page.set_default_timeout(40_000)
        watch = Watch(page, url)
        try:
            yield page, watch
            watch.check()
        except BaseException:
            page.context.close()
            raise
        watch.end()
        try:
            page.evaluate("localStorage.clear(); sessionStorage.clear()")
            page.emulate_media(color_scheme=options.get("color_scheme"))
            page.goto("/static/icon.svg")  # of the same site, so that its process stays
        except Error:  # its server is gone, and nobody asks for such a page again
            page.context.close()
        else:
            free.append(page)


@contextmanager
def watched_page(browser: Browser, url: str, **options: Any) -> Iterator[tuple[Page, Watch]]:
    """A fresh page of a server in a context of its own, checked when it is left."""
    settings: dict[str, Any] = {"viewport": WIDE, "base_url": url} | options
    context = browser.new_context(**settings)
    try:
        page = context.new_page()
        page.set_default_timeout(40_000)
        watch = Watch(page, url)
        yield page, watch
        watch.check()
    finally:
        context.close()


def overflow(page: Page) -> int:
    """How many pixels the page is wider than its window."""
    pixels: int = page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    return pixels


def findings(page: Page, part: str = "html") -> list[tuple[str, str]]:
    """What the accessibility check finds, minor things too; a drawing is one image to it."""
    where = {"include": [[part]], "exclude": [[".main-svg"]]}
    found: list[dict[str, Any]] = Axe().run(page, context=where).response["violations"]
    return [(one["id"], one["nodes"][0]["html"][:200]) for one in found]
