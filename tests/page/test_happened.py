"""What happened to a study: a list that follows, with changes of the world told apart by words."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import expect

from tests.loops import first
from tests.page.browsing import NARROW, findings, overflow
from tests.page.conftest import OpenPage
from tests.page.studies import path_of
from tests.server.calls import Api, change_world, watching


def test_changes_by_hand_are_listed_with_the_newest_first(open_page: OpenPage, api: Api) -> None:
    page, _ = open_page(path_of(api.study))
    rows = page.get_by_label("What happened").get_by_role("listitem")
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text("the study was created")
    api.http.patch(f"{api.path}/arms/1", json={"state": "paused"})
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("configuration 1 was paused")
    at = api.read("/events", limit=1)["events"][0]["at"]
    expect(rows.first.locator("time")).to_have_attribute("datetime", at)
    for state in ["active", "paused"] * 5:
        api.http.patch(f"{api.path}/arms/1", json={"state": state})
    api.http.patch(f"{api.path}/arms/1", json={"state": "retired"})
    expect(rows.first).to_contain_text("configuration 1 was retired")
    expect(rows).to_have_count(8)
    older = page.get_by_role("button", name="Show older ones")
    older.click()
    expect(rows).to_have_count(13)
    expect(rows.last).to_contain_text("the study was created")
    expect(older).to_be_hidden()
    rows.first.get_by_role("button", name="configuration 1").click()
    expect(page.get_by_label("Find configurations")).to_have_value("#1")
    shown = page.locator(".arms tbody tr")
    expect(shown).to_have_count(1)
    expect(shown).to_have_attribute("data-arm", "1")


@pytest.mark.parametrize("scheme", first(1, ["light", "dark"]))
def test_a_change_of_the_world_appears_while_one_looks(
    open_page: OpenPage, http: httpx.Client, scheme: str
) -> None:
    api = watching(http, f"world-{scheme}")
    (pull,) = api.ask()
    api.tell(pull["id"], 0.5)
    options = {"viewport": NARROW, "color_scheme": scheme}
    page, _ = open_page(path_of(api.study), **options)
    happened = page.get_by_label("What happened")
    best = page.get_by_label("Best configuration", exact=True)
    expect(best).to_contain_text("reward")
    expect(happened.get_by_text("Change noticed")).to_have_count(0)
    change_world(api)
    text = api.read("/events", limit=1)["events"][0]["text"]
    text = text.replace("of arm ", "of configuration ")  # as the page says
    first = happened.get_by_role("listitem").first
    expect(first).to_contain_text(f"Change noticed: {text}")
    expect(first.locator("svg")).to_have_count(1)
    expect(best).to_contain_text("since a change that was noticed")
    figure = page.locator("#figure-reward")
    figure.scroll_into_view_if_needed()
    expect(figure.locator(".annotation").get_by_text("change noticed")).to_be_visible()
    assert overflow(page) == 0
    # The accessibility check is put into the page as a script, which its policy would refuse.
    checked, _ = open_page(path_of(api.study), bypass_csp=True, **options)
    expect(checked.get_by_label("What happened").get_by_text("Change noticed")).to_be_visible()
    assert findings(checked) == []
