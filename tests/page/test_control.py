"""The control on the page: setting it, the lift, the kill switch and the way back."""

from __future__ import annotations

import httpx
from playwright.sync_api import Page, expect

from tests.page.browsing import NARROW, findings, overflow
from tests.page.conftest import OpenPage
from tests.page.studies import assistant, drive, path_of
from tests.server.calls import Api

TODAY = {"config": {"model": "small", "temperature": 0.5, "passages": 3}, "share": 0.5}


def opened(open_page: OpenPage, api: Api, **options: object) -> Page:
    page, watch = open_page(path_of(api.study), bypass_csp=True, **options)
    watch.allow(404, 422)
    expect(page.locator("[data-stat=requests]")).not_to_have_text("–")
    return page


def wider(page: Page) -> int:
    """How many pixels a dialog holds beyond its width."""
    body = page.locator(".dialog-body")
    pixels: int = body.evaluate("element => element.scrollWidth - element.clientWidth")
    return pixels


def test_a_control_is_set_changed_and_ended(open_page: OpenPage, api: Api) -> None:
    page = opened(open_page, api)
    panel, dialog = page.get_by_role("region", name="Control and"), page.get_by_role("dialog")
    expect(panel).to_contain_text("There is no control")
    panel.get_by_role("button", name="Set a control").click()
    expect(dialog.get_by_role("status")).to_contain_text("5.0 % of the requests get the control")
    dialog.get_by_label("model").select_option(label="small")
    dialog.get_by_label("share").fill("many")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("alert")).to_contain_text("write a number")
    dialog.get_by_label("share").fill("10")
    dialog.get_by_label("Exposure").fill("50")
    expect(dialog.get_by_role("status")).to_contain_text(
        "55 % of the requests get the control, 45 % are tuned. The lift is then known to about"
    )
    dialog.get_by_label("Guardrail").fill("0.05")
    assert findings(page, "dialog") == []
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    expect(panel).to_contain_text("surely worse by more than 0.050")
    told = api.read("/control")
    assert told["control"]["config"]["model"] == "small"
    assert (told["control"]["share"], told["exposure"]) == (0.1, 0.5)
    assert told["guardrail"]["margin"] == 0.05
    expect(page.get_by_role("region", name="What happened")).to_contain_text(
        f"the control is configuration {told['arm']} with a share of 0.1"
    )
    panel.get_by_role("button", name="Change").click()
    dialog.get_by_role("button", name="Random serving").click()
    expect(dialog.get_by_label("model")).to_be_hidden()
    dialog.get_by_role("button", name="Save").click()
    expect(panel).to_contain_text("Random serving: a new draw")
    assert api.read("/control")["control"]["config"] is None
    panel.get_by_role("button", name="End the control").click()
    dialog.get_by_role("button", name="End it").click()
    expect(panel).to_contain_text("There is no control")
    assert api.read("/control")["control"] is None


def test_the_kill_switch_serves_the_control_until_someone_resumes(
    open_page: OpenPage, http: httpx.Client
) -> None:
    api = assistant(http, "killed", 60, control=TODAY)
    page = opened(open_page, api)
    dialog, banner = page.get_by_role("dialog"), page.get_by_role("status", name="Rolled back")
    expect(banner).to_be_hidden()
    button = page.get_by_role("button", name="Roll back")
    expect(button).to_be_enabled()  # once the page knows the study
    button.focus()
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("everyone gets the control, on all servers")
    page.keyboard.type("complaints about <b>arms</b>")
    assert findings(page, "dialog") == []
    page.keyboard.press("Enter")
    expect(banner).to_contain_text("By hand, on ")
    expect(banner).to_contain_text(": complaints about <b>arms</b>.")
    expect(page.locator("h1 + .pill")).to_have_text("rolled back")
    expect(page.locator("[data-answer=working]")).to_have_text("Rolled back")
    expect(page.get_by_role("button", name="Roll back")).to_be_hidden()
    happened = page.get_by_role("region", name="What happened")
    expect(happened).to_contain_text("the study was rolled back by hand to arm 1 {")
    expect(happened).to_contain_text("}: complaints about <b>arms</b>")
    assert {pull["group"] for pull in api.ask(count=40)} == {"control"}
    assert findings(page, ".banner") == []
    page.reload()
    banner.get_by_role("button", name="Resume tuning").click()
    dialog.get_by_role("button", name="Resume").click()
    expect(banner).to_be_hidden()
    assert api.read("/control")["state"] == "tuning"
    assert {pull["group"] for pull in api.ask(count=40)} == {"control", "tuned"}


def test_a_dialog_does_not_stay_when_its_study_is_left(open_page: OpenPage, api: Api) -> None:
    page = opened(open_page, api)
    page.get_by_role("button", name="Roll back").click()
    expect(page.get_by_role("dialog")).to_have_count(1)
    page.evaluate("location.hash = '#/'")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_study_without_a_control_is_rolled_back_to_what_is_chosen(
    open_page: OpenPage, api: Api
) -> None:
    page = opened(open_page, api, viewport=NARROW, color_scheme="dark")
    page.get_by_role("button", name="Roll back").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("model").select_option(label="medium")
    dialog.get_by_label("temperature").fill("0.7")
    assert wider(page) == 0
    dialog.get_by_role("button", name="Roll back").click()
    banner = page.get_by_role("status", name="Rolled back")
    expect(banner).to_contain_text("without a reason given")
    assert {pull["config"]["temperature"] for pull in api.ask(count=20)} == {0.7}
    assert overflow(page) == 0
    assert findings(page, ".banner") == []
    assert findings(page, ".control") == []
    banner.get_by_role("button", name="Resume tuning").click()
    dialog.get_by_role("button", name="Resume").click()
    expect(banner).to_be_hidden()
    assert api.read("/control")["control"] is None  # as before
    page.get_by_role("button", name="Set a control").click()
    assert wider(page) == 0


def test_the_lift_is_the_first_answer_and_has_its_days(
    open_page: OpenPage, http: httpx.Client
) -> None:
    api = assistant(http, "compared", 20, control=TODAY)
    drive(api, 1200, at_once=200, answered=1.0)
    page = opened(open_page, api, viewport=NARROW)
    expect(page.locator("[data-answer=working]")).to_contain_text("over control")
    table = page.get_by_role("region", name="Lift over the control")
    lift = api.read("/lift")
    day = table.get_by_role("row", name=lift["by_day"][-1]["day"])
    expect(day).to_contain_text(f"{lift['by_day'][-1]['tuned_mean']:.3f}")
    assert findings(page, ".lift") == []
    assert overflow(page) == 0


def test_without_a_range_the_intervals_are_called_approximate(
    open_page: OpenPage, http: httpx.Client
) -> None:
    api = assistant(http, "without-ends", 20, control=TODAY, reward_range=None)
    drive(api, 1000, at_once=200, answered=1.0)
    page = opened(open_page, api)
    expect(page.get_by_text("The interval is approximate (asymptotic)")).to_be_visible()
    table = page.get_by_role("region", name="Lift over the control")
    expect(table).to_contain_text("approximate (asymptotic) intervals")


def test_a_request_is_found_by_its_own_key_then_by_its_id(open_page: OpenPage, api: Api) -> None:
    (pull,) = api.ask(key="order 17/b")
    page = opened(open_page, api)
    field = page.locator("#find-request")
    for asked in ("order 17/b", pull["id"]):
        field.fill(asked)
        field.press("Enter")
        expect(page.locator(".find [role=status]")).to_contain_text(
            f"with configuration {pull['arm']}: waiting for feedback"
        )
    field.fill("nothing-like-it")
    field.press("Enter")
    expect(page.locator(".find [role=status]")).to_contain_text("has the key or the id")
