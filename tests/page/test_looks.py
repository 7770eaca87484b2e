"""Strange names, narrow screens, dark colours, a keyboard, and the accessibility check."""

from __future__ import annotations

import json

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.loops import first
from tests.page.browsing import NARROW, findings, overflow
from tests.page.conftest import OpenPage
from tests.page.studies import STRANGE, path_of
from tests.server.calls import Api
from tests.server.running import RunningServer

FIGURES = 10


def see_all(page: Page) -> None:
    """Scroll through a study until every figure is drawn or says that there is nothing."""
    figures = page.locator("[data-figure]")
    expect(figures).to_have_count(FIGURES)
    page.get_by_text("How the search works inside").click()
    for i in range(FIGURES):
        figures.nth(i).scroll_into_view_if_needed()
        expect(figures.nth(i).get_by_text("Loading…")).to_be_hidden()
    expect(page.locator("[data-figure]:has(.main-svg)")).not_to_have_count(0)


def test_a_strange_name_is_only_a_name(open_page: OpenPage) -> None:
    page, _ = open_page(viewport=NARROW)
    page.on("dialog", lambda dialog: pytest.fail(f"the page opened {dialog.message!r}"))
    expect(page.locator(".study-card .name").filter(has_text=STRANGE)).to_have_text(STRANGE)
    page.get_by_role("link", name=STRANGE).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(STRANGE)
    see_all(page)
    expect(page.locator(".arms tbody").get_by_text(STRANGE).first).to_be_visible()
    expect(page.locator("#figure-effects").get_by_text("<b>passages</b>")).to_have_count(1)
    assert overflow(page) == 0
    page.get_by_role("button", name="Add a configuration").click()
    page.get_by_role("dialog").get_by_label("model").select_option(label=STRANGE)
    assert page.title() == f"{STRANGE} · imabo"
    assert page.evaluate("[...document.scripts].every(script => script.src !== '')")
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text(STRANGE)


ENDS_BEYOND = """(selector) => [...document.querySelectorAll(selector)]
    .filter((one) => one.getBoundingClientRect().right > innerWidth - 8)
    .map((one) => one.textContent)"""


def test_a_tablet_shows_what_can_be_done_with_a_configuration(
    open_page: OpenPage, api: Api
) -> None:
    page, _ = open_page(path_of(api.study), viewport={"width": 800, "height": 1000})
    expect(page.locator(".arms tbody tr").first).to_be_visible()
    assert page.evaluate(ENDS_BEYOND, ".arms td.actions button") == []


@pytest.mark.parametrize("path", ["/", path_of("support-answers")])
def test_a_narrow_screen_never_scrolls_sideways(open_page: OpenPage, path: str) -> None:
    page, _ = open_page(path, viewport=NARROW, has_touch=True)
    expect(page.locator("h1")).to_be_visible()
    if path != "/":
        see_all(page)
        assert overflow(page) == 0
        cut = page.evaluate(ENDS_BEYOND, "#figure-arms .annotation-text, .space-table td, .arms td")
        assert cut == []
        for name in ("Add a configuration", "Change the space"):
            page.get_by_role("button", name=name).click()
            box = page.get_by_role("dialog").bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= NARROW["width"]
            page.keyboard.press("Escape")
    assert overflow(page) == 0


def colours(page: Page) -> tuple[str, str]:
    """Of the page's background, and of the words in a figure."""
    found: list[str] = page.evaluate(
        """() => [getComputedStyle(document.body).backgroundColor,
            getComputedStyle(document.querySelector("#figure-reward .xtick text")).fill]"""
    )
    return found[0], found[1]


def test_colours_follow_the_system_and_the_switch_and_figures_follow_them(
    open_page: OpenPage,
) -> None:
    page, _ = open_page(path_of("support-answers"), color_scheme="dark")
    expect(page.locator("#figure-reward .xtick text").first).to_be_visible()
    dark = colours(page)
    page.emulate_media(color_scheme="light")
    page.wait_for_function("before => getComputedStyle(document.body).color !== before", arg="")
    expect(page.locator("body")).not_to_have_css("background-color", dark[0])
    page.wait_for_timeout(300)
    light = colours(page)
    assert light[0] != dark[0]
    assert light[1] != dark[1]
    switch = page.get_by_role("button", name="Colours")
    switch.click()  # light
    switch.click()  # dark
    expect(page.locator("body")).to_have_css("background-color", dark[0])
    page.wait_for_timeout(300)
    assert colours(page) == dark
    page.reload()
    expect(page.locator("body")).to_have_css("background-color", dark[0])


def test_everything_is_reached_with_a_keyboard(open_page: OpenPage, api: Api) -> None:
    page, _ = open_page(path_of(api.study))
    expect(page.locator("[data-stat=requests]")).to_have_text("60")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    download = page.get_by_role("button", name="Download")
    page.keyboard.press("Tab")
    expect(download).to_be_focused()
    outline = download.evaluate("element => getComputedStyle(element).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("menuitem", name="The log")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Download")).to_be_focused()
    add = page.get_by_role("button", name="Add a configuration")
    add.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(add).to_be_focused()
    arm = api.read("/table", limit=1)["rows"][0]["id"]
    pause = page.get_by_role("button", name=f"Pause configuration {arm}", exact=True)
    pause.focus()
    page.keyboard.press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Pause").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(f"tr[data-arm='{arm}'] .pill")).to_have_text("paused")
    resume = page.get_by_role("button", name=f"Resume configuration {arm}", exact=True)
    expect(resume).to_be_focused()


def test_time_and_requests_are_switched_and_what_is_for_research_waits_to_be_opened(
    open_page: OpenPage, api: Api
) -> None:
    asked: list[str] = []
    page, _ = open_page(path_of(api.study))
    page.on("request", lambda request: asked.append(request.url))
    axis = "document.querySelector('#figure-reward [role=img]')?.layout?.xaxis?.type"
    page.wait_for_function(f"() => {axis} === 'date'")
    page.get_by_role("button", name="Requests", exact=True).first.click()
    page.wait_for_function(f"() => {axis} === 'linear'")
    page.reload()
    page.wait_for_function(f"() => {axis} === 'linear'")
    page.get_by_label("By", exact=True).select_option("passages")
    page.wait_for_function(
        "() => document.querySelector('#figure-traffic .about').textContent.includes('passages')"
    )
    expect(page.locator("#figure-growth")).to_be_hidden()
    page.locator("summary").scroll_into_view_if_needed()
    assert not any("/figures/growth" in url for url in asked)
    page.locator("summary").click()
    expect(page.locator("#figure-growth .main-svg").first).to_be_visible()
    page.get_by_role("button", name="Show more").click()
    n_arms = api.read("/overview")["n_arms"]
    expect(page.locator("#figure-arms .annotation")).to_have_count(min(n_arms, 30))


def test_a_phone_shows_the_answers_before_anything_else(open_page: OpenPage, api: Api) -> None:
    page, _ = open_page(path_of(api.study), viewport=NARROW)
    expect(page.locator("[data-stat=requests]")).to_have_text("60")
    places = {
        name: page.locator(place).first.bounding_box() or {"y": -1.0}
        for name, place in {"title": "h1", "strip": ".stats", "buttons": ".study .row"}.items()
    }
    assert 0 < places["title"]["y"] < places["strip"]["y"] < places["buttons"]["y"]
    working = page.locator("[data-stat=working]").bounding_box()
    assert working is not None
    assert working["y"] + working["height"] < NARROW["height"]


# The check is put into the page as a script, which the page's policy would refuse.
@pytest.mark.parametrize("scheme", first(1, ["dark", "light"]))
def test_no_view_has_an_accessibility_violation(
    open_page: OpenPage, locked: RunningServer, scheme: str
) -> None:
    gate, watch = open_page(url=locked.url, bypass_csp=True, color_scheme=scheme)
    watch.allow(401)
    expect(gate.locator(".gate")).to_be_visible()
    assert findings(gate) == []
    page, _ = open_page(bypass_csp=True, color_scheme=scheme, reduced_motion="reduce")
    expect(page.locator(".study-card .spark .line").first).to_be_visible()
    assert findings(page) == []
    page.goto(path_of("support-answers"))
    see_all(page)
    assert findings(page) == []


@pytest.mark.parametrize("scheme", first(1, ["light", "dark"]))
def test_no_beginning_dialog_or_error_has_an_accessibility_violation(
    open_page: OpenPage, scheme: str
) -> None:
    with RunningServer() as server, httpx.Client(base_url=server.url) as http:
        page, watch = open_page(url=server.url, bypass_csp=True, color_scheme=scheme)
        watch.allow(404, 422)
        watch.allowed.add("Failed to load resource: net::ERR_")
        expect(page.locator(".welcome")).to_be_visible()
        assert findings(page) == []
        page.goto("/#/nowhere")
        expect(page.get_by_role("heading", level=1)).to_have_text("There is no such page")
        assert findings(page) == []
        page.goto(path_of("not-there"))
        expect(page.get_by_role("alert")).to_contain_text("No study here is named")
        assert findings(page) == []
        api = Api(http, "new")
        page.goto(path_of("new"))
        expect(page.get_by_role("region", name="The first request")).to_be_visible()
        assert findings(page) == []
        check_dialogs(page, api)
        server.stop()
        expect(page.get_by_role("alert").filter(has_text="does not answer")).to_be_visible()
        assert findings(page) == []
        page.get_by_role("button", name="Retire configuration 1").click()
        page.get_by_role("dialog").get_by_role("button", name="Retire").click()
        expect(page.get_by_role("dialog").get_by_role("alert")).to_be_visible()
        assert findings(page, "dialog") == []
        page.goto("about:blank")


def check_dialogs(page: Page, api: Api) -> None:
    """Open every dialog of a study without arms, and what can be seen in it."""
    dialog, button = page.get_by_role("dialog"), page.get_by_role("dialog").get_by_role

    def look(*, is_last: bool = False) -> None:
        assert findings(page, "dialog") == []
        if is_last:
            page.keyboard.press("Escape")
            expect(dialog).to_have_count(0)

    page.get_by_role("button", name="Change the space").first.click()
    space = api.read()["space"]
    space["parameters"][0]["values"] = ["large", "next"]
    dialog.get_by_label("The space as JSON").fill(json.dumps(space))
    button("button", name="Preview").click()
    expect(button("button", name="Change the space")).to_be_enabled()
    look(is_last=True)
    page.get_by_role("button", name="More actions").click()
    assert findings(page, "[role=menu]") == []
    page.get_by_role("menuitem", name="Delete the study…").click()
    look()
    page.keyboard.type(api.study)
    expect(button("button", name="Delete for good")).to_be_enabled()
    look(is_last=True)
    page.get_by_role("button", name="Add a configuration").click()
    dialog.get_by_label("x", exact=True).fill("many")
    button("button", name="Add").click()
    expect(button("alert")).to_be_visible()
    look()
    button("button", name="JSON").click()
    look()
    button("button", name="Form").click()
    dialog.get_by_label("x", exact=True).fill("0.5")
    button("button", name="Add").click()
    expect(dialog).to_have_count(0)
    page.get_by_role("button", name="Retire configuration 1").click()
    look(is_last=True)
    page.get_by_role("button", name="Pause configuration 1").click()
    look()
    button("button", name="Pause").click()
    page.get_by_role("button", name="Resume configuration 1").click()
    look(is_last=True)
