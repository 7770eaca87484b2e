"""Keys: asked for, kept, forgotten; and what each role is offered."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import OpenPage
from tests.page.studies import path_of
from tests.server.running import RunningServer


@pytest.fixture
def gate(open_page: OpenPage, locked: RunningServer) -> Page:
    """A page that asks for a key."""
    page, watch = open_page(url=locked.url)
    watch.allow(401)
    expect(page.get_by_role("heading", level=1)).to_have_text("This server asks for a key")
    return page


def enter(page: Page, key: str) -> None:
    page.get_by_label("Key", exact=True).fill(key)
    page.get_by_role("button", name="Open").click()


def test_a_wrong_key_is_refused_and_not_kept(gate: Page) -> None:
    said = gate.get_by_role("alert").filter(has_text="key")
    for key in ("wrong", "imabo_000000000000_abc", "not a key", "schlüssel"):
        gate.reload()
        expect(said).to_have_count(0)
        enter(gate, key)
        expect(said).to_be_visible()
        assert gate.evaluate("sessionStorage.length") == 0, key
        expect(gate.get_by_label("Key", exact=True)).to_be_focused()


def test_a_key_is_kept_in_the_window_until_it_is_forgotten(
    gate: Page, locked: RunningServer
) -> None:
    enter(gate, "wrong")
    enter(gate, locked.keys["admin"])
    expect(gate.get_by_role("link", name="locked-study")).to_be_visible()
    gate.reload()
    expect(gate.get_by_role("link", name="locked-study")).to_be_visible()
    assert gate.evaluate("localStorage.length") == 0
    assert locked.keys["admin"] not in gate.url
    gate.get_by_role("button", name="Forget it").click()
    expect(gate.get_by_role("heading", level=1)).to_have_text("This server asks for a key")
    assert gate.evaluate("sessionStorage.length") == 0


def test_a_reader_sees_everything_and_is_offered_no_change(
    gate: Page, locked: RunningServer, tmp_path: Path
) -> None:
    enter(gate, locked.keys["reader"])
    gate.get_by_role("link", name="locked-study").click()
    expect(gate.locator("[data-stat=requests]")).to_have_text("60")
    expect(gate.locator("#figure-reward .main-svg").first).to_be_visible()
    for words in (
        "Add a configuration",
        "Change the space",
        "More actions",
        "Pause arm",
        "Retire arm",
    ):
        expect(gate.get_by_role("button", name=words)).to_have_count(0)
    gate.get_by_role("button", name="Download").click()
    with gate.expect_download() as found:
        gate.get_by_role("menuitem", name="Requests as CSV").click()
    found.value.save_as(tmp_path / "file")
    assert len((tmp_path / "file").read_text().splitlines()) == 61


def test_a_key_that_is_limited_to_a_study_sees_no_other(
    open_page: OpenPage, locked: RunningServer
) -> None:
    page, watch = open_page(url=locked.url)
    watch.allow(401, 404)
    enter(page, locked.keys["limited"])
    expect(page.get_by_role("link", name="locked-study")).to_be_visible()
    expect(page.get_by_role("link", name="other-study")).to_have_count(0)
    page.goto(path_of("other-study"))
    expect(page.get_by_role("alert").filter(has_text="other-study")).to_be_visible()


def test_a_key_that_is_revoked_meanwhile_closes_the_page(gate: Page, locked: RunningServer) -> None:
    enter(gate, locked.keys["revoked"])
    expect(gate.get_by_role("link", name="locked-study")).to_be_visible()
    locked.store.revoke_key(locked.keys["revoked"].split("_")[1], at=1.0)
    expect(gate.get_by_role("alert").filter(has_text="does not count any more")).to_be_visible()
    expect(gate.get_by_role("link", name="locked-study")).to_have_count(0)
    assert gate.evaluate("sessionStorage.length") == 0
