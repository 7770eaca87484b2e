"""What an operator does, through the page, and what it does to the study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.conftest import OpenPage
from tests.page.studies import path_of
from tests.server.calls import Api

CLIPBOARD = ["clipboard-read", "clipboard-write"]


@pytest.fixture
def page(open_page: OpenPage, api: Api) -> Page:
    """The page of the test's own study."""
    found, watch = open_page(path_of(api.study), permissions=CLIPBOARD)
    watch.allow(404, 422)  # what the server refuses, a test sent on purpose
    expect(found.locator("[data-stat=requests]")).to_have_text("60")
    return found


def dialog(page: Page) -> Locator:
    return page.get_by_role("dialog")


def said(page: Page, words: str) -> None:
    expect(page.locator("#toasts")).to_contain_text(words)


def state_of(page: Page, arm: int) -> Locator:
    return page.locator(f"tr[data-arm='{arm}'] .pill")


def served(api: Api, n: int = 60) -> set[int]:
    """The arms that the next requests are served with."""
    return {pull["arm"] for pull in api.ask(count=n)}


def test_a_paused_arm_is_not_served_until_it_is_resumed(page: Page, api: Api) -> None:
    arm = max(api.read("/arms")["arms"], key=lambda one: one["mean"] or 0.0)["id"]
    page.get_by_role("button", name=f"Pause configuration {arm}", exact=True).click()
    expect(dialog(page)).to_contain_text("not served until you resume it")
    dialog(page).get_by_role("button", name="Cancel").click()
    assert api.read("/table", states="paused")["n"] == 0
    page.get_by_role("button", name=f"Pause configuration {arm}", exact=True).click()
    dialog(page).get_by_role("button", name="Pause").click()
    expect(state_of(page, arm)).to_have_text("paused")
    expect(dialog(page)).to_have_count(0)
    assert arm not in served(api)
    page.get_by_role("button", name=f"Resume configuration {arm}", exact=True).click()
    dialog(page).get_by_role("button", name="Resume").click()
    expect(state_of(page, arm)).to_have_text("active")


def test_a_retired_arm_is_gone_for_good(page: Page, api: Api) -> None:
    page.get_by_role("button", name="Retire configuration 1", exact=True).click()
    dialog(page).get_by_role("button", name="Retire").click()
    expect(state_of(page, 1)).to_have_text("retired")
    expect(page.get_by_role("button", name="Pause configuration 1", exact=True)).to_have_count(0)
    assert 1 not in served(api)


def test_a_configuration_is_added_with_a_form_that_knows_the_space(page: Page, api: Api) -> None:
    page.get_by_role("button", name="Add a configuration").click()
    form = dialog(page)
    form.get_by_label("model").select_option(label="small")
    expect(form.get_by_label("thinking_tokens")).to_be_hidden()
    form.get_by_label("model").select_option(label="large")
    form.get_by_label("thinking_tokens").fill("4096")
    form.get_by_label("temperature").fill("0.5")
    form.get_by_label("passages").fill("many")
    form.get_by_role("button", name="Add").click()
    expect(form.get_by_role("alert")).to_contain_text("Passages needs a number: 1 to 10")
    form.get_by_label("passages").fill("99")
    form.get_by_role("button", name="Add").click()
    expect(form.get_by_role("alert")).to_contain_text("99")
    form.get_by_label("passages").fill("4")
    form.get_by_role("button", name="Add").click()
    said(page, "is active")
    newest = api.read("/arms")["arms"][-1]
    assert newest["origin"] == "manual"
    assert newest["config"] == {
        "model": "large",
        "temperature": 0.5,
        "passages": 4,
        "thinking_tokens": 4096,
    }


def test_a_configuration_is_added_as_json(page: Page, api: Api) -> None:
    config = {"model": "small", "temperature": 0.125, "passages": 2}
    page.get_by_role("button", name="Add a configuration").click()
    dialog(page).get_by_role("button", name="JSON").click()
    area = dialog(page).get_by_label("The configuration as JSON")
    assert set(json.loads(area.input_value())) >= {"model", "temperature", "passages"}
    area.fill("{")
    dialog(page).get_by_role("button", name="Add").click()
    expect(dialog(page).get_by_role("alert")).to_contain_text("This is not JSON")
    area.fill(json.dumps(config))
    dialog(page).get_by_role("button", name="Form").click()
    expect(dialog(page).get_by_label("temperature")).to_have_value("0.125")
    dialog(page).get_by_role("button", name="Add").click()
    said(page, "is active")
    assert api.read("/arms")["arms"][-1]["config"] == config


def test_the_space_is_changed_after_a_preview_of_what_that_retires(page: Page, api: Api) -> None:
    small = {one["id"] for one in api.read("/arms")["arms"] if one["config"]["model"] == "small"}
    assert small
    page.get_by_role("button", name="Change the space").click()
    area = dialog(page).get_by_label("The space as JSON")
    values = dialog(page).get_by_label("Values, one on a line")
    change = dialog(page).get_by_role("button", name="Change the space")
    preview = dialog(page).get_by_role("button", name="Preview")
    expect(change).to_be_disabled()
    area.fill("[]")
    expect(dialog(page)).to_contain_text("it must be a JSON object")
    expect(preview).to_be_disabled()
    space: dict[str, Any] = api.read()["space"]
    space["parameters"][0]["values"] = []
    area.fill(json.dumps(space))
    preview.click()
    expect(dialog(page).get_by_role("alert")).to_be_visible()
    area.fill(json.dumps(api.read()["space"]))
    expect(values).to_have_value("small\nmedium\nlarge")
    values.fill("medium\nlarge\nnext")
    dialog(page).get_by_label("To", exact=True).nth(1).fill("12")
    differs = dialog(page).get_by_label("What differs").get_by_role("listitem")
    expect(differs).to_have_count(2)
    expect(differs.first.locator("ins")).to_have_text("next")
    expect(differs.first.locator("del")).to_have_text("small")
    expect(differs.last).to_contain_text("1 to 10 1 to 12")
    space = json.loads(area.input_value())
    assert space["parameters"][0]["values"] == ["medium", "large", "next"]
    assert space["parameters"][2]["high"] == 12
    preview.click()
    expect(dialog(page)).to_contain_text(f"{len(small)} configurations will be retired")
    listed = dialog(page).locator(".preview li b").all_inner_texts()
    assert {int(one.removeprefix("#")) for one in listed} == small
    assert api.read()["space_version"] == 1
    change.click()
    said(page, "The space is now version 2")
    assert {one["id"] for one in api.read("/table", states="retired")["rows"]} == small
    expect(page.get_by_text("space version 2")).to_be_visible()
    expect(page.get_by_role("region", name="The parameters of the space")).to_contain_text("next")


def test_parameters_are_added_and_removed_in_the_form(page: Page, api: Api) -> None:
    page.get_by_role("button", name="Change the space").click()
    dialog(page).get_by_role("button", name="Remove temperature").click()
    dialog(page).get_by_role("button", name="Add a parameter").click()
    dialog(page).get_by_label("Name of the new parameter").fill("style")
    dialog(page).get_by_label("Values, one on a line").last.fill('short\n3\n"3"\nnull')
    differs = dialog(page).get_by_label("What differs").get_by_role("listitem")
    assert [one.split() for one in differs.all_inner_texts()] == [
        ["New", "style", "short,", "3,", "3,", "none"], ["Gone", "temperature", "0", "to", "1"],
    ]  # fmt: skip
    dialog(page).get_by_role("button", name="Preview").click()
    dialog(page).get_by_role("button", name="Change the space").click()
    said(page, "The space is now version 2")
    made = {one["name"]: one for one in api.read()["space"]["parameters"]}
    assert made["style"]["values"] == ["short", 3, "3", None]
    assert "temperature" not in made


def test_a_request_is_found_by_its_id(page: Page, api: Api, http: httpx.Client) -> None:
    pull = api.read("/pulls", limit=1)["pulls"][0]
    box = page.get_by_label("Find a request").get_by_role("textbox")
    box.fill(pull["id"])
    box.press("Enter")
    found = page.get_by_role("region", name="Find a request")
    expect(found).to_contain_text(f"with configuration {pull['arm']}: ")
    expect(found).to_contain_text(pull["config"]["model"])
    box.fill("nothing-17")
    box.press("Enter")
    expect(found).to_contain_text("No request of this study has the key or the id “nothing-17”")
    other = http.get("/v1/studies/support-answers/pulls", params={"limit": 1}).json()["pulls"][0]
    box.fill(other["id"])
    box.press("Enter")
    expect(found).to_contain_text("a request of another study, “support-answers”")


def test_the_best_configuration_is_copied_as_json(page: Page, api: Api) -> None:
    page.get_by_role("button", name="Copy as JSON").click()
    said(page, "Best configuration copied")
    copied = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert copied == api.read("/best")["config"]


def test_files_are_downloaded(page: Page, api: Api, tmp_path: Path) -> None:
    for item, ending, start in (
        ("Requests as CSV", ".csv", "id,"),
        ("The log as JSON lines", ".jsonl", "{"),
        ("Report (HTML)", ".html", "<!doctype html>"),
    ):
        page.get_by_role("button", name="Download").click()
        with page.expect_download() as found:
            page.get_by_role("menuitem", name=item).click()
        assert found.value.suggested_filename == api.study + ending
        path = tmp_path / f"file{ending}"
        found.value.save_as(path)
        assert path.read_text(encoding="utf-8").lower().startswith(start), item


def test_a_study_is_deleted_only_with_its_name_typed(page: Page, api: Api) -> None:
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Delete the study…").click()
    button = dialog(page).get_by_role("button", name="Delete for good")
    expect(button).to_be_disabled()
    page.keyboard.type(api.study[:-1])
    expect(button).to_be_disabled()
    page.keyboard.type(api.study[-1])
    button.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Studies")
    said(page, "The study is deleted")
    assert api.http.get(api.path).status_code == 404
