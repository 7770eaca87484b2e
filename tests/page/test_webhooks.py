"""Webhooks on the page: an admin adds one, sees what became of deliveries, and sends them again."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import expect

from imabo.server.settings import Settings
from imabo.webhooks import verify
from tests.page.browsing import NARROW, findings, overflow
from tests.page.conftest import OpenPage
from tests.page.studies import assistant
from tests.page.test_keys import enter
from tests.server.receiving import Receiver, eventually
from tests.server.running import RunningServer

TODAY = {"config": {"model": "small", "temperature": 0.5, "passages": 3}, "share": 0.5}


@pytest.fixture(scope="module")
def sending() -> Iterator[RunningServer]:
    """A server that may send to this machine."""
    settings = Settings(poll_s=0.05, proposals=False, allow_private_webhooks=True)
    with RunningServer(settings=settings) as running:
        yield running


def test_one_is_added_told_looked_at_and_removed(
    open_page: OpenPage, sending: RunningServer
) -> None:
    with Receiver(500) as receiver, httpx.Client(base_url=sending.url) as http:
        api = assistant(http, "told", 5, control=TODAY)
        page, watch = open_page("/", url=sending.url, bypass_csp=True)
        watch.allow(404, 422)
        dialog = page.get_by_role("dialog")
        page.get_by_role("link", name="Webhooks").click()
        expect(page.get_by_role("heading", name="Nobody is told yet")).to_be_visible()
        page.get_by_role("button", name="Add a webhook").click()
        dialog.get_by_label("Address").fill("ftp://nowhere")
        dialog.get_by_role("button", name="Add").click()
        expect(dialog.get_by_role("alert")).to_contain_text("cannot be used")
        dialog.get_by_label("Address").fill(receiver.url)
        dialog.get_by_label("a study is rolled back").check()
        dialog.get_by_label("Of these studies").fill("told\n")
        assert findings(page, "dialog") == []
        dialog.get_by_role("button", name="Add").click()
        expect(dialog).to_have_count(0)
        kept = page.get_by_role("region", name="The secret")
        secret = kept.locator("code").inner_text()
        kept.get_by_role("button", name="I have it").click()
        expect(kept).to_have_count(0)
        assert secret not in page.content()

        card = page.get_by_role("region", name=f"Webhook to {receiver.url}")
        expect(card).to_contain_text("When: rolled back, of told.")
        expect(card).to_contain_text("Nothing was sent yet.")
        api.http.post(f"{api.path}/roll-back", json={"reason": "complaints"})
        row = card.get_by_role("row").filter(has_text="complaints")
        expect(row).to_contain_text("waiting")
        expect(row).to_contain_text("500")
        row.get_by_role("button", name="Send again").click()
        expect(row).to_have_count(2)
        expect(row.first).to_contain_text("delivered")  # the old one may wait for its next try
        eventually(lambda: len(receiver.got) >= 2)
        for got in receiver.got[:2]:
            event = verify(secret, got.body, got.headers["imabo-signature"])
            assert (event["kind"], event["study"]) == ("rolled back", "told")
        card.get_by_role("button", name="Send a test").click()
        expect(card.get_by_role("row").filter(has_text="tested")).to_contain_text("delivered")
        assert findings(page, ".webhooks") == []

        card.get_by_role("button", name="Change").click()
        expect(dialog.get_by_label("a study is rolled back")).to_be_checked()
        expect(dialog.get_by_label("Of these studies")).to_have_value("told")
        dialog.get_by_label("a change is noticed").check()
        dialog.get_by_role("button", name="Save").click()
        expect(card).to_contain_text("When: rolled back, drift, of told.")
        assert [one.secret for one in sending.store.webhooks()] == [secret]
        card.get_by_role("button", name="Remove").click()
        dialog.get_by_role("button", name="Remove").click()
        expect(card).to_have_count(0)
        assert sending.store.webhooks() == []


def test_many_deliveries_are_shown_a_few_at_a_time_on_a_phone(
    open_page: OpenPage, sending: RunningServer
) -> None:
    with httpx.Client(base_url=sending.url) as http:
        made = http.post("/v1/webhooks", json={"url": "http://127.0.0.1:9/x", "kinds": ["drift"]})
        path = f"/v1/webhooks/{made.json()['id']}"
        for _ in range(13):
            http.post(f"{path}/test")
        page, _ = open_page("/#/webhooks", url=sending.url, viewport=NARROW, color_scheme="dark")
        rows = page.locator("tbody tr")
        expect(rows).to_have_count(10)
        page.get_by_role("button", name="Show older ones").click()
        expect(rows).to_have_count(13)
        assert overflow(page) == 0
        http.delete(path)


def test_only_admins_of_all_studies_are_offered_them(
    open_page: OpenPage, locked: RunningServer
) -> None:
    for name, is_offered in (("reader", False), ("limited", False), ("admin", True)):
        page, watch = open_page("/#/webhooks", url=locked.url)
        watch.allow(401)
        enter(page, locked.keys[name])
        heading = "Webhooks" if is_offered else "There is no such page"
        expect(page.get_by_role("heading", level=1)).to_have_text(heading)
        expect(page.get_by_role("link", name="Webhooks")).to_have_count(int(is_offered))
