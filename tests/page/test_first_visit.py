"""An empty server, and the first study."""

from __future__ import annotations

import httpx
from playwright.sync_api import expect

from tests.page.conftest import OpenPage
from tests.page.studies import drive
from tests.server.calls import Api
from tests.server.running import RunningServer


def test_an_empty_server_explains_itself_and_shows_the_first_study_as_it_comes(
    open_page: OpenPage,
) -> None:
    with RunningServer() as empty, httpx.Client(base_url=empty.url) as client:
        page, _ = open_page(url=empty.url, permissions=["clipboard-read", "clipboard-write"])
        expect(page.get_by_role("heading", level=1)).to_contain_text("no study here yet")
        page.get_by_role("button", name="Copy the code: curl").click()
        expect(page.get_by_role("status").filter(has_text="Code copied")).to_be_visible()
        code = page.evaluate("navigator.clipboard.readText()")
        assert f"curl -X POST {empty.url}/v1/studies " in code
        assert f'Client("{empty.url}")' in page.get_by_label("Python", exact=True).inner_text()

        api = Api(client, "the first")
        card = page.get_by_role("link", name="the first")
        expect(card).to_contain_text("waiting for requests")
        page.evaluate("window.marked = true")  # the page is not loaded again
        card.click()
        asking = page.get_by_role("region", name="The first request")
        expect(asking).to_contain_text(f"{empty.url}/v1/studies/the%20first/pulls")
        expect(page.locator("[data-figure]:visible")).to_have_count(0)
        drive(api, 100)
        expect(asking).to_be_hidden()
        expect(page.locator("#figure-reward .main-svg").first).to_be_visible()
        page.go_back()
        expect(card).to_contain_text("100 requests")
        expect(card.locator(".spark .line")).to_be_visible()
        assert page.evaluate("window.marked") is True
        client.delete(api.path)
        expect(page.get_by_role("heading", level=1)).to_contain_text("no study here yet")


def test_an_address_of_nothing_says_so_and_leads_back(open_page: OpenPage) -> None:
    page, watch = open_page("/#/nowhere")
    expect(page.get_by_role("heading", level=1)).to_have_text("There is no such page")
    watch.allow(404)
    page.goto("/#/studies/not-there")
    expect(page.get_by_role("alert")).to_contain_text("No study here is named “not-there”")
    page.get_by_role("link", name="All studies").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Studies")
    page.go_back()
    expect(page.get_by_role("alert")).to_contain_text("not-there")
