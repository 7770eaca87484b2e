"""Budgets on the page: the fifth answer, the mix, figures, the table, and setting other ones."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.loops import first
from tests.page.browsing import NARROW, findings, overflow
from tests.page.conftest import OpenPage
from tests.page.studies import MODELS, ROUTER, path_of, router

FIGURES = ("frontier", "budgets", "spend", "limits")


def see_figures(page: Page) -> None:
    """Scroll to every figure of the budget until it is drawn."""
    for name in FIGURES:
        page.locator(f"#figure-{name}").scroll_into_view_if_needed()
        expect(page.locator(f"#figure-{name} .main-svg").first).to_be_visible()


def test_a_budget_is_seen_changed_and_the_change_is_kept(
    open_page: OpenPage, http: httpx.Client
) -> None:
    api = router(http, "budget-seen", 400)
    page, _ = open_page(path_of(api.study))
    strip = page.get_by_label("Five answers")
    expect(strip.locator("[data-answer=budget]")).to_contain_text("$0.0006 a request")
    expect(strip.locator("[data-stat=budget]")).to_contain_text("of reward costs $")
    best = page.get_by_label("Best configuration", exact=True)
    expect(best.locator(".mix li")).to_have_count(2)
    mix = api.read("/overview")["best"]["mix"]
    shown = [f"{100 * part['share']:.0f} %" for part in mix["parts"]]
    expect(best.locator(".mix .share")).to_have_text(shown)
    goals = page.get_by_label("Budgets and limits", exact=True)
    expect(goals.locator("[data-goal=cost]")).to_contain_text("$0.0006 allowed")
    expect(goals.locator("[data-goal='latency_s > 2']")).to_contain_text("20 % allowed")
    see_figures(page)
    names = page.locator("#figure-frontier .textpoint")
    expect(names).to_have_count(len(MODELS))
    rows = page.locator(".arms tbody tr")
    page.get_by_role("columnheader", name="cost").get_by_role("button").click()
    expect(rows.first.locator("[data-signal=cost]")).to_contain_text("$0.00")
    expect(rows.first).to_contain_text("large")
    # Another budget, seen before it is saved, and among what happened afterwards.
    page.get_by_role("button", name="Change budgets").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("cost: at most").fill("0.0001")
    expect(dialog.get_by_role("status")).to_contain_text("$0.0001 a request would buy a reward")
    dialog.get_by_label("in at most").fill("")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    assert api.read()["objective"] == {
        "maximise": "reward", "budgets": {"cost": 0.0001}, "limits": [],
    }  # fmt: skip
    expect(goals.locator("[data-goal=cost]")).to_contain_text("$0.0001 allowed")
    expect(goals.locator(".goal")).to_have_count(1)
    happened = page.get_by_label("What happened").get_by_role("listitem").first
    expect(happened).to_contain_text("the budget of cost changed from 0.0006 to 0.0001")
    expect(happened).to_contain_text("the limit latency_s > 2 ended")
    expect(strip.locator("[data-answer=budget]")).to_have_text("Not known yet")


@pytest.mark.parametrize("scheme", first(1, ["dark", "light"]))
def test_views_of_budgets_fit_a_phone_and_are_accessible(
    open_page: OpenPage, http: httpx.Client, scheme: str
) -> None:
    api = router(http, f"budget-looks-{scheme}", 200)
    options = {"viewport": NARROW, "color_scheme": scheme, "bypass_csp": True}
    page, _ = open_page(path_of(api.study), **options)
    expect(page.locator("[data-goal=cost]")).to_be_visible()
    see_figures(page)
    assert overflow(page) == 0
    assert findings(page) == []
    page.get_by_role("button", name="Change budgets").click()
    page.get_by_role("button", name="Add a limit").click()
    assert findings(page, "dialog") == []
    assert overflow(page) == 0
    page.get_by_role("dialog").get_by_label("above").last.fill("fast")
    page.get_by_role("dialog").get_by_label("in at most").last.fill("5")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("write a number")
    assert findings(page, "dialog") == []


def test_signals_without_a_budget_are_shown_and_one_is_set(
    open_page: OpenPage, http: httpx.Client
) -> None:
    api = router(http, "budget-none", 100, objective=None)
    page, _ = open_page(path_of(api.study), viewport={"width": 800, "height": 900})
    expect(page.get_by_label("Four answers")).to_be_visible()
    goals = page.get_by_label("Budgets and limits", exact=True)
    expect(goals).to_contain_text("There is no budget")
    expect(page.locator("#figure-limits")).to_have_count(0)
    expect(page.locator(".arms [data-signal=latency_s]").first).to_contain_text(" s")
    assert overflow(page) == 0
    page.get_by_label("Signal").select_option("latency_s")
    page.locator("#figure-spend").scroll_into_view_if_needed()
    expect(page.locator("#figure-spend .about")).to_contain_text("Of latency_s.")
    page.get_by_role("button", name="Change budgets").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("cost: at most").fill("0.00001")
    expect(dialog.get_by_role("status")).to_contain_text("Nothing is within $0.00001 a request")
    dialog.get_by_role("button", name="Save").click()
    expect(page.locator("[data-answer=budget]")).to_have_text("No: nothing is within it")
    http.patch(api.path, json={"objective": ROUTER["objective"]})
    expect(goals.locator(".goal")).to_have_count(2)
