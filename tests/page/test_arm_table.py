"""The table of arms: the server sorts, filters and pages; the page shows it."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.page.conftest import OpenPage
from tests.page.studies import path_of
from tests.server.calls import Api
from tests.server.running import RunningServer

ROWS = 8  # of a page of the table


def shown(page: Page) -> list[int]:
    """The arms in the table, from the top."""
    ids: list[str] = page.locator(".arms tbody tr").evaluate_all(
        "rows => rows.map(row => row.dataset.arm)"
    )
    return [int(one) for one in ids]


def wanted(api: Api, **query: object) -> list[int]:
    """The arms as the server sorts and filters them."""
    return [row["id"] for row in api.read("/table", limit=ROWS, **query)["rows"]]


def test_a_column_sorts_one_way_and_then_the_other(open_page: OpenPage, api: Api) -> None:
    page, _ = open_page(path_of(api.study))
    expect(page.locator(".arms thead th").nth(2)).to_have_attribute("aria-sort", "descending")
    both = ("descending", "ascending")
    for column, name, orders in (
        ("Requests", "n_pulls", both),
        ("Configuration", "id", both[::-1]),
    ):
        button = page.locator(".arms thead").get_by_role("button", name=column, exact=True)
        for order in orders:
            button.click()
            expect(button.locator("xpath=..")).to_have_attribute("aria-sort", order)
            expect(page.locator(".is-busy")).to_have_count(0)
            assert shown(page) == wanted(api, sort=name, descending=order == "descending")


def test_states_and_words_filter_and_survive_a_reload(open_page: OpenPage, api: Api) -> None:
    for arm in (1, 2):
        api.http.patch(f"{api.path}/arms/{arm}", json={"state": "paused"})
    page, _ = open_page(path_of(api.study))
    page.get_by_role("button", name="paused", exact=True).click()
    expect(page.locator(".count")).to_have_text("2 configurations")
    assert sorted(shown(page)) == [1, 2]
    page.reload()
    expect(page.get_by_role("button", name="paused", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    expect(page.locator(".count")).to_have_text("2 configurations")
    page.get_by_role("button", name="paused", exact=True).click()
    page.get_by_label("Find configurations").fill("model = small")
    found = api.read("/table", text="model = small")["n"]
    assert 0 < found < api.read("/table")["n"]
    expect(page.locator(".count")).to_have_text(re.compile(rf"^{found} configurations?$"))
    page.get_by_label("Find configurations").fill("no such thing")
    expect(page.get_by_text("No configuration matches.")).to_be_visible()


def test_many_arms_come_in_pages(open_page: OpenPage, server: RunningServer) -> None:
    page, _ = open_page(path_of("support-answers"))
    expect(page.locator(".arms tbody tr")).to_have_count(ROWS)
    first = shown(page)
    page.get_by_role("button", name="Next").click()
    expect(page.locator(".table-foot").first).to_contain_text(f"{ROWS + 1} to")
    assert not set(first) & set(shown(page))
    page.get_by_role("button", name="Previous").click()
    expect(page.locator(".table-foot").first).to_contain_text("1 to")
    assert shown(page) == first


def test_the_reward_is_compared_with_an_arm(open_page: OpenPage, api: Api) -> None:
    page, _ = open_page(path_of(api.study))
    expect(page.locator("#figure-reward .main-svg").first).to_be_visible()
    expect(page.get_by_label("Compare with").locator("option")).not_to_have_count(1)
    arm = api.read("/table", limit=ROWS)["rows"][0]
    page.get_by_label("Compare with").select_option(label=f"{arm['label']} (#{arm['id']})")
    page.wait_for_function(
        "() => document.querySelector('#figure-reward [role=img]').data"
        ".some(trace => (trace.name || '').startsWith('configuration '))"
    )
