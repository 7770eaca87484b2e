"""Screenshots of every view: ``python -m tests.page.pictures OUT [VIEW ...]``.

``OUT/study-1400-light.png`` and so on; with views named, only those. The one in the README is
``docs/images/page.png``: ``top-1400-light.png``.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import httpx
from playwright.sync_api import Browser, Page

from tests.page.browsing import NARROW, overflow, running_browser, watched_page
from tests.page.studies import (
    ROUTER,
    SPACE,
    STRANGE,
    STRANGE_SPACE,
    assistant,
    drive,
    path_of,
    route,
    router,
)
from tests.server.calls import Api
from tests.server.running import RunningServer

SIZES: Final = ({"width": 1400, "height": 900}, {"width": 800, "height": 1000}, NARROW)
LOOKS: Final[dict[str, dict[str, Any]]] = {
    f"{size['width']}-{scheme}": {"viewport": size, "color_scheme": scheme}
    for size in SIZES
    for scheme in ("light", "dark")
}

TODAY: Final[dict[str, Any]] = {
    "config": {"model": "small", "temperature": 0.5, "passages": 3},
    "share": 0.1,
}


class Clock:
    """Time that passes as requests come, so that a picture shows hours of them."""

    def __init__(self) -> None:
        self.at = time.time() - 6000.0
        self._rng = random.Random(0)

    def __call__(self) -> float:
        self.at += self._rng.expovariate(1 / 8.0)
        return self.at


def main(arguments: Sequence[str]) -> int:
    """Take the pictures."""
    if not arguments:
        print("usage: python -m tests.page.pictures OUT [VIEW ...]", file=sys.stderr)
        return 2
    folder, wanted = Path(arguments[0]), set(arguments[1:])
    folder.mkdir(parents=True, exist_ok=True)

    def of(views: dict[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
        return {name: view for name, view in views.items() if not wanted or name in wanted}

    with running_browser() as browser:
        with RunningServer(keys={"key": ("reader", None)}) as locked:
            shoot(browser, locked.url, folder, of({"key": ("/", ".gate")}))
        with RunningServer() as empty:
            shoot(browser, empty.url, folder, of({"empty": ("/", ".welcome")}))
        with RunningServer(clock=Clock()) as server:
            with httpx.Client(base_url=server.url) as client:
                fill(client)
            views = {
                "studies": ("/", ".study-card .pill[data-tone]"),
                "study": (path_of("support-answers"), "#figure-reward .main-svg"),
                "rolled": (path_of("search-ranking"), ".banner:not([hidden])"),
                "strange": (path_of(STRANGE), "#figure-reward .main-svg"),
                "waiting": (path_of("onboarding-mails"), ".first"),
                "budget": (path_of("router"), "#figure-frontier"),
                "infeasible": (path_of("router-too-cheap"), "#figure-frontier"),
            }
            shoot(browser, server.url, folder, of(views))
            if not wanted or "dialogs" in wanted:
                dialogs(browser, server.url, folder)
    return 0


def fill(client: httpx.Client) -> None:
    """Studies in different states."""
    compared = {"control": TODAY, "guardrail": {"margin": 0.05}}
    api = assistant(client, "support-answers", 3000, **compared)
    space = {"parameters": [dict(one) for one in SPACE["parameters"]]}
    space["parameters"][0]["values"] = ["small", "medium", "large", "next"]
    client.patch(api.path, json={"space": space})
    drive(api, 2000, seed=1)
    arms = api.read("/arms")["arms"]
    client.patch(f"{api.path}/arms/{arms[3]['id']}", json={"state": "paused"})
    rolled = assistant(client, "search-ranking", 700, control=TODAY)
    client.post(f"{rolled.path}/roll-back", json={"reason": "complaints since noon"})
    drive(assistant(client, "summaries-eu", 20), 60, answered=0.0)
    assistant(client, STRANGE, 100, space=STRANGE_SPACE)
    Api(client, "onboarding-mails", space=SPACE)
    routed = router(client, "router", 1600)
    cheaper = {**ROUTER["objective"], "budgets": {"cost": 0.0002}}
    client.patch(routed.path, json={"objective": cheaper})
    route(routed, 800, seed=1)
    router(client, "router-too-cheap", 200, objective={"budgets": {"cost": 0.00001}})


def shoot(browser: Browser, url: str, folder: Path, views: dict[str, tuple[str, str]]) -> None:
    """A picture of each view in each look, the whole page of it."""
    for look, options in LOOKS.items():
        for name, (path, sign) in views.items():
            with watched_page(browser, url, **options) as (page, watch):
                watch.allow(401)
                page.goto(path)
                page.wait_for_selector(sign)
                for part in page.locator("details").all():
                    part.evaluate("element => { element.open = true; }")
                see_all(page)
                if overflow(page) > 0:
                    print(f"{name}-{look} is wider than its window")
                page.screenshot(path=folder / f"{name}-{look}.png", full_page=name != "studies")


def see_all(page: Page) -> None:
    """Scroll through, so that every figure is drawn."""
    height = page.evaluate("document.documentElement.scrollHeight")
    for _ in range(0, height, 700):
        page.mouse.wheel(0, 700)
        page.wait_for_timeout(200)
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_timeout(300)


def dialogs(browser: Browser, url: str, folder: Path) -> None:
    """The dialogs, and the top of a study as the README shows it."""
    for look, options in LOOKS.items():
        with watched_page(browser, url, **options) as (page, _):
            page.goto(path_of("support-answers"))
            page.wait_for_selector("#figure-reward .main-svg")
            page.wait_for_timeout(1000)
            page.screenshot(path=folder / f"top-{look}.png")
            page.get_by_role("button", name="Add a configuration").click()
            page.screenshot(path=folder / f"add-{look}.png")
            page.keyboard.press("Escape")
            page.get_by_role("button", name="Change the space").click()
            form = page.get_by_role("dialog")
            form.get_by_label("Values, one on a line").fill("small\nlarge\nhuge")
            form.get_by_label("To", exact=True).first.fill("0.8")
            page.screenshot(path=folder / f"form-{look}.png")
            page.get_by_role("button", name="Preview").click()
            page.wait_for_selector(".preview li")
            page.screenshot(path=folder / f"space-{look}.png")
            page.keyboard.press("Escape")
            for name, button in {"control": "Change", "roll-back": "Roll back"}.items():
                page.get_by_role("button", name=button, exact=True).click()
                page.wait_for_timeout(500)
                page.screenshot(path=folder / f"{name}-{look}.png")
                page.keyboard.press("Escape")
            page.get_by_role("button", name="Pause configuration").first.click()
            page.screenshot(path=folder / f"pause-{look}.png")
            page.goto(path_of("router"))
            page.get_by_role("button", name="Change budgets").click()
            page.get_by_role("button", name="Add a limit").click()
            page.wait_for_timeout(800)
            page.screenshot(path=folder / f"budgets-{look}.png")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
