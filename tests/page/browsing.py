"""A real Chromium, and pages that notice what must never happen."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

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
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self._asked)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not any(part in message.text for part in self.allowed):
            self.errors.append(message.text)

    def _asked(self, request: Request) -> None:
        if not request.url.startswith((f"{self._url}/", "data:", "blob:")):
            self.strangers.append(request.url)

    def allow(self, *statuses: int) -> None:
        """Accept that the browser notes answers with these statuses, which the test provokes."""
        self.allowed |= {f"the server responded with a status of {one} " for one in statuses}

    def check(self) -> None:
        """Fail when something happened that must not."""
        assert not self.errors, self.errors
        assert not self.strangers, self.strangers


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
