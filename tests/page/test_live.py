"""Traffic arrives while the page is open; the server goes away and comes back."""

from __future__ import annotations

import re

import httpx
from playwright.sync_api import Page, expect

from imabo.stores import MemoryStore
from tests.page.conftest import OpenPage
from tests.page.studies import assistant, drive, path_of
from tests.server.calls import Api
from tests.server.running import RunningServer

LOOKS_MS = 4500  # two looks of the page, and some


def stat(page: Page, name: str) -> str:
    return page.locator(f"[data-stat={name}]").inner_text()


def test_numbers_figures_and_arms_follow_the_traffic(open_page: OpenPage, api: Api) -> None:
    page, _ = open_page(path_of(api.study))
    expect(page.locator("[data-stat=requests]")).to_have_text("60")
    figure = page.locator("#figure-reward")
    expect(figure.locator(".main-svg").first).to_be_visible()
    before = page.evaluate("document.querySelector('#figure-reward [role=img]').data[0].x.length")
    drive(api, 400, seed=2)
    expect(page.locator("[data-stat=requests]")).to_have_text("460")
    expect(page.locator("[data-stat=arms]")).to_have_text(str(api.read("/overview")["n_active"]))
    page.wait_for_function(
        "n => document.querySelector('#figure-reward [role=img]').data[0].x.length > n", arg=before
    )
    best = api.read("/best")
    expect(page.get_by_label("Best configuration", exact=True)).to_contain_text(f"#{best['arm']}")
    expect(page.locator("tr.is-best")).to_have_attribute("data-arm", str(best["arm"]))


def test_serving_at_random_is_not_known_until_enough_was_tried_at_random(
    open_page: OpenPage, api: Api
) -> None:
    page, _ = open_page(path_of(api.study))
    strip = page.locator(".stats")
    key = api.read("/overview")
    low, high = key["random_interval"]
    assert (key["random_mean"], key["n_random"] > 0) == (None, True)
    words = f"not known yet, between {low:.3f} and {high:.3f}: about {key['n_random_more']} more "
    expect(strip).to_contain_text(words + "requests that try something new at random")
    expect(strip).not_to_contain_text("against random")
    for one in key["answers"]:
        part = strip.locator(f"[data-stat={one['name']}]")
        expect(part.locator("dt")).to_have_text(one["question"])
        expect(part.locator(".value")).to_have_text(one["answer"])
    # Another one, which tries nothing but what it draws for its first 250 requests.
    policy = {"type": "IMOSS", "warmup": 250}
    known = assistant(api.http, f"{api.study} known"[-200:], 240, policy=policy)
    key = known.read("/overview")
    assert (key["random_mean"] is not None, key["n_random_more"]) == (True, 0)
    page.goto(path_of(known.study))
    expect(strip).to_contain_text(f"at random {key['random_mean']:.3f}")
    expect(strip).to_contain_text("against random")
    expect(strip).not_to_contain_text("not known yet")


def test_nothing_is_fetched_or_moved_while_nothing_happens(open_page: OpenPage, api: Api) -> None:
    page, _ = open_page(path_of(api.study))
    expect(page.locator("#figure-reward .main-svg").first).to_be_visible()
    page.get_by_role("button", name="Configurations", exact=True).click()
    page.locator("#figure-arms").scroll_into_view_if_needed()
    expect(page.locator("#figure-arms .main-svg").first).to_be_visible()
    page.get_by_role("button", name="Pause configuration 1", exact=True).click()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for _ in range(3):  # until what came into view is drawn, on a slow machine
        asked.clear()
        page.wait_for_timeout(LOOKS_MS)
        others = [url for url in asked if not url.endswith("/overview")]
        if not others:
            break
    assert others == []
    assert len(asked) >= 1
    place = page.evaluate("scrollY")
    drive(api, 20, seed=3)
    expect(page.locator("[data-stat=requests]")).to_have_text("80")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert page.evaluate("scrollY") == place > 0


def test_a_study_that_is_deleted_meanwhile_is_said_to_be_gone(
    open_page: OpenPage, api: Api
) -> None:
    page, watch = open_page(path_of(api.study))
    watch.allow(404)
    expect(page.locator("[data-stat=requests]")).to_have_text("60")
    api.http.delete(api.path)
    expect(page.get_by_role("alert").filter(has_text="it may have been deleted")).to_be_visible()


def test_a_server_that_goes_away_is_waited_for(open_page: OpenPage) -> None:
    store = MemoryStore()
    server = RunningServer(store)
    with httpx.Client(base_url=server.url) as client:
        assistant(client, "kept", 40)
    page, watch = open_page(path_of("kept"), url=server.url)
    watch.allowed.add("Failed to load resource: net::ERR_CONNECTION_REFUSED")
    watch.allowed.add("Failed to load resource: net::ERR_CONNECTION_RESET")
    watch.allowed.add("Failed to load resource: net::ERR_EMPTY_RESPONSE")
    expect(page.locator("[data-stat=requests]")).to_have_text("40")
    retire = page.get_by_role("button", name=re.compile("^Retire configuration")).first
    expect(retire).to_be_visible()
    server.stop()
    banner = page.get_by_role("alert").filter(has_text="The server does not answer")
    expect(banner).to_be_visible()
    assert stat(page, "requests") == "40"
    retire.click()
    page.get_by_role("dialog").get_by_role("button", name="Retire").click()
    expect(page.get_by_role("dialog")).to_contain_text("Nothing was changed; try again")
    page.keyboard.press("Escape")
    with RunningServer(store, port=server.port) as again:
        with httpx.Client(base_url=again.url) as client:
            assistant(client, "kept", 20)
        expect(banner).to_be_hidden(timeout=60_000)
        expect(page.locator("[data-stat=requests]")).to_have_text("60")
        page.goto("about:blank")  # no request is under way when the server stops
