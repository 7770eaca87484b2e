"""Key figures, figures, the table and previews over HTTP: the read models, as they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import httpx
import pytest

from imabo import Study, insight
from imabo.insight import StudySnapshot
from imabo.server.insight_cache import LONGEST_S, MAX_AGE_S, MOST_KEPT, InsightCache
from imabo.space import Space
from tests.server.calls import OTHER_SPACE, SPACE, Api, code_of
from tests.server.running import RunningServer

KEYS: dict[str, tuple[str, tuple[str, ...] | None]] = {
    "admin": ("admin", None),
    "reader": ("reader", None),
    "limited": ("reader", ("mine",)),
}
READS = ["overview", "figures", "figures/reward", "table", "report"]


@pytest.fixture
def filled(api: Api) -> Api:
    """The test's own study with some rewards."""
    for pull in api.ask(count=40):
        api.tell(pull["id"], 1.0 if pull["config"]["model"] == "large" else 0.25)
    return api


@pytest.fixture
def facts(filled: Api, server: RunningServer) -> StudySnapshot:
    """The study's facts, read beside the server."""
    return insight.read(Study.open(filled.study, store=server.store))


def test_key_figures_are_those_of_the_read_model(filled: Api, facts: StudySnapshot) -> None:
    found = filled.read("/overview")
    wanted = json.loads(json.dumps(asdict(insight.overview(facts))))
    assert found == wanted
    assert found["n_rewards"] == 40


def test_a_trend_is_sent_along_when_it_is_asked_for(filled: Api, facts: StudySnapshot) -> None:
    rolling = insight.reward(facts).rolling
    assert filled.read("/overview", trend=200)["trend"] == rolling
    assert filled.read("/overview", trend=1)["trend"] == rolling[-1:]
    refused = filled.http.get(f"{filled.path}/overview", params={"trend": 201})
    assert code_of(refused, 422) == "invalid_request"


def test_every_figure_is_listed_and_drawn(filled: Api, facts: StudySnapshot) -> None:
    listed = filled.read("/figures")["figures"]
    assert [one["name"] for one in listed] == list(insight.figures_of(facts))
    for one in listed:
        drawn = filled.read(f"/figures/{one['name']}")
        assert drawn["title"] == one["title"]
        assert drawn["about"].startswith(one["about"])
        assert len(drawn["data"]) == len(insight.figure(one["name"], facts)["data"])


def test_the_reward_is_compared_with_an_arm_that_there_is(filled: Api) -> None:
    plain = filled.read("/figures/reward")["data"]
    compared = filled.read("/figures/reward", baseline=1)["data"]
    assert len(compared) > len(plain)
    assert filled.read("/figures/growth", baseline=1) == filled.read("/figures/growth")
    path = f"{filled.path}/figures/reward"
    assert code_of(filled.http.get(path, params={"baseline": 999}), 404) == "unknown_arm"
    assert code_of(filled.http.get(path, params={"baseline": "x"}), 422) == "invalid_request"


def test_a_figure_that_there_is_not_is_not_found(filled: Api) -> None:
    assert code_of(filled.http.get(f"{filled.path}/figures/luck"), 404) == "not_found"


def test_the_table_sorts_filters_and_pages(filled: Api) -> None:
    by_pulls = filled.read("/table", sort="n_pulls", descending=False)
    pulls = [row["n_pulls"] for row in by_pulls["rows"]]
    assert pulls == sorted(pulls)
    assert by_pulls["n"] == by_pulls["n_arms"] == len(pulls)
    two = filled.read("/table", sort="id", descending="false", offset=1, limit=2)
    assert [row["id"] for row in two["rows"]] == [2, 3]
    large = filled.read("/table", text="model = large")
    assert 0 < large["n"] < by_pulls["n"]
    assert {row["config"]["model"] for row in large["rows"]} == {"large"}
    filled.http.patch(f"{filled.path}/arms/1", json={"state": "paused"})
    assert [row["id"] for row in filled.read("/table", states="paused,retired")["rows"]] == [1]


@pytest.mark.parametrize(
    "query", [{"sort": "luck"}, {"states": "asleep"}, {"limit": 0}, {"offset": -1}, {"more": 1}]
)
def test_a_question_about_the_table_that_makes_no_sense_is_refused(
    filled: Api, query: dict[str, Any]
) -> None:
    answer = filled.http.get(f"{filled.path}/table", params=query)
    assert code_of(answer, 422) == "invalid_request"


@pytest.mark.parametrize("sort", ["luck", "signal:", "signal:a b", "signal: cost"])
def test_who_sorts_by_what_there_is_not_is_told_what_there_is(filled: Api, sort: str) -> None:
    answer = filled.http.get(f"{filled.path}/table", params={"sort": sort})
    assert code_of(answer, 422) == "invalid_request"
    assert answer.json()["what"] == f"the query's sort is {sort!r}"
    assert "one of id, sure, " in answer.json()["why"]
    assert "admitted_at or signal:NAME, the mean of a signal" in answer.json()["why"]


def test_a_price_list_is_a_map_by_value_or_pairs(api: Api) -> None:
    prices = {"small": 1.0, "large": 3.0}
    signals = {"cost": {"low": 0.0, "known": {"model": prices}}}
    assert api.http.patch(api.path, json={"signals": signals}).status_code == 200
    pairs = [["small", 1.0], ["large", 3.0]]
    assert api.read("")["signals"]["cost"]["known"] == {"model": pairs}
    again = {"cost": {"low": 0.0, "known": {"model": pairs}}}
    assert api.http.patch(api.path, json={"signals": again}).status_code == 200


def test_signals_are_in_the_table_and_budgets_in_the_key_figures(api: Api) -> None:
    signals = {"cost": {"low": 0.0, "unit": "$"}}
    api.http.patch(api.path, json={"signals": signals, "objective": {"budgets": {"cost": 2.0}}})
    for pull in api.ask(count=40):
        large = pull["config"]["model"] == "large"
        body = {"reward": 0.75 if large else 0.25, "signals": {"cost": 3.0 if large else 1.0}}
        api.http.put(f"/v1/pulls/{pull['id']}/reward", json=body)
    rows = api.read("/table", sort="signal:cost")["rows"]
    assert rows[0]["signals"] == {"cost": 3.0}
    refused = api.http.get(f"{api.path}/table", params={"sort": "signal:price"})
    assert code_of(refused, 422) == "invalid_setting"
    (goal,) = api.read("/overview")["goals"]
    assert (goal["name"], goal["allowed"], goal["n"]) == ("cost", 2.0, 40)
    names = [one["name"] for one in api.read("/figures")["figures"]]
    assert names[-3:] == ["frontier", "budgets", "spend"]
    unknown = api.http.get(f"{api.path}/figures/spend", params={"signal": "price"})
    assert code_of(unknown, 422) == "invalid_signal"
    at = api.read("/frontier", budget=2.5)["at"]
    assert (at["is_within"], at["use"]) == (True, pytest.approx(2.5))
    assert api.read("/frontier", budget=2.0)["at"]["mean"] == api.read("/best")["mix_mean"]
    assert api.read("/frontier", budget=0)["at"]["is_within"] is False
    assert code_of(api.http.get(f"{api.path}/frontier", params={"budget": -1}), 422)
    assert api.read("/frontier")["at"] is None
    api.http.patch(api.path, json={"objective": {"budgets": {"cost": 0.5}}})
    answer = api.read("/overview")["answers"][-1]  # at once, although facts are kept
    assert (answer["name"], answer["answer"]) == ("budget", "No: nothing is within it")


def test_a_preview_says_what_a_change_would_retire_and_changes_nothing(filled: Api) -> None:
    space = {"parameters": [{"name": "model", "type": "choice", "values": ["large", "next"]},
                            SPACE["parameters"][1]]}  # fmt: skip
    answer = filled.http.post(f"{filled.path}/space/preview", json={"space": space})
    small = {row["id"] for row in filled.read("/table", text="model = small")["rows"]}
    found = answer.json()
    assert {row["id"] for row in found["retired"]} == small
    assert (found["n_retired"], found["changed"]) == (len(small), ["model"])
    assert filled.read()["space_version"] == 1
    filled.http.patch(filled.path, json={"space": space})
    gone = filled.read("/table", states="retired")["rows"]  # at once, although facts are kept
    assert {row["id"] for row in gone} == small


def test_a_preview_of_what_the_control_does_not_allow_is_refused(http: httpx.Client) -> None:
    """As the change itself would be, which nobody should find out after the preview."""
    control = {"config": {"model": "small", "x": 0.5}, "share": 0.1}
    api = Api(http, "compared", control=control)
    space = api.read()["space"]
    space["parameters"][0]["values"] = ["large"]
    answer = http.post(f"{api.path}/space/preview", json={"space": space})
    assert answer.status_code == 422
    assert "does not allow the control" in answer.json()["what"]
    assert http.patch(api.path, json={"space": space}).json()["what"] == answer.json()["what"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"space": {"parameters": [SPACE["parameters"][0] | {"values": []}]}}, "invalid_space"),
        ({"space": {}}, "invalid_request"),
        ({}, "invalid_request"),
    ],
)
def test_a_preview_of_no_space_is_refused(filled: Api, body: dict[str, Any], code: str) -> None:
    answer = filled.http.post(f"{filled.path}/space/preview", json=body)
    assert code_of(answer, 422) == code


def test_the_report_is_one_page_that_cannot_act_as_the_server(filled: Api) -> None:
    answer = filled.http.get(f"{filled.path}/report")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.text.lower().startswith("<!doctype html>")
    assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none';")
    assert answer.headers["content-disposition"].startswith("attachment")


def test_an_empty_study_has_all_of_them(api: Api) -> None:
    assert api.read("/overview")["state"] == "empty"
    assert api.read("/table")["rows"] == []
    for name in insight.FIGURES:
        api.read(f"/figures/{name}")
    assert api.http.get(f"{api.path}/report").status_code == 200


def test_an_open_server_lets_everyone_do_everything(http: httpx.Client) -> None:
    assert http.get("/v1/me").json() == {"role": "admin", "studies": None, "open": True}


@pytest.fixture(scope="module")
def locked() -> Iterator[RunningServer]:
    with RunningServer(keys=KEYS) as running:
        with caller(running, "admin") as admin:
            Api(admin, "mine")
            Api(admin, "other")
        yield running


def caller(server: RunningServer, key: str) -> httpx.Client:
    headers = {"Authorization": f"Bearer {server.keys[key]}"}
    return httpx.Client(base_url=server.url, headers=headers)


def test_a_key_is_told_what_it_may_do(locked: RunningServer) -> None:
    wanted = {
        "admin": {"role": "admin", "studies": None, "open": False},
        "limited": {"role": "reader", "studies": ["mine"], "open": False},
    }
    for key, me in wanted.items():
        with caller(locked, key) as http:
            assert http.get("/v1/me").json() == me
    assert code_of(httpx.get(f"{locked.url}/v1/me"), 401) == "unauthorized"


@pytest.mark.parametrize("part", READS)
def test_a_reader_may_look_but_only_at_its_studies(locked: RunningServer, part: str) -> None:
    with caller(locked, "limited") as http:
        assert http.get(f"/v1/studies/mine/{part}").status_code == 200
        hidden, missing = (http.get(f"/v1/studies/{name}/{part}") for name in ("other", "zzz"))
        assert code_of(hidden, 404) == code_of(missing, 404) == "unknown_study"
    assert code_of(httpx.get(f"{locked.url}/v1/studies/mine/{part}"), 401) == "unauthorized"


def test_a_reader_may_preview_a_change_that_it_may_not_make(locked: RunningServer) -> None:
    body = {"space": OTHER_SPACE}
    with caller(locked, "limited") as http:
        assert http.post("/v1/studies/mine/space/preview", json=body).status_code == 200
        assert code_of(http.patch("/v1/studies/mine", json=body), 403) == "forbidden"
        hidden = http.post("/v1/studies/other/space/preview", json=body)
        assert code_of(hidden, 404) == "unknown_study"


class Watched:
    """InsightCache of one study by a clock that the test moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.n_made = 0
        self.takes_s = 0.0
        self.insight = InsightCache(now=lambda: self.now)
        self.study = Study.create("s", Space.from_dict(SPACE), seed=0)

    def facts(self) -> StudySnapshot:
        return self.insight.facts(self.study)

    def answer(self, key: str = "a") -> bytes:
        return self.insight.answer(self.study, key, self._make)

    def _make(self, facts: StudySnapshot) -> bytes:
        self.n_made += 1
        self.now += self.takes_s
        return b"%d" % facts.totals.n_pulls


def test_facts_are_read_once_a_second_and_again_when_told() -> None:
    watched = Watched()
    first = watched.facts()
    watched.study.ask()
    assert watched.facts() is first
    watched.insight.forget(watched.study)
    second = watched.facts()
    assert second.totals.n_pulls == 1
    watched.study.ask()
    watched.now += MAX_AGE_S + 0.01
    assert watched.facts().totals.n_pulls == 2


def test_facts_of_a_study_that_did_not_change_are_not_read_again() -> None:
    watched = Watched()
    first = watched.facts()
    for _ in range(3):
        watched.now += 100.0
        assert watched.facts() is first
    Study.open("s", store=watched.study.store).ask()  # as another process does
    watched.now += 100.0
    assert watched.facts().totals.n_pulls == 1


def test_an_answer_is_made_once_for_all_who_ask_until_the_facts_are_others() -> None:
    watched = Watched()
    assert [watched.answer(key) for key in "aabba"] == [b"0"] * 5
    assert watched.n_made == 2
    watched.study.ask()
    watched.now += MAX_AGE_S + 0.01
    assert [watched.answer(key) for key in "aab"] == [b"1"] * 3
    assert watched.n_made == 4


def test_what_took_long_is_kept_for_ten_times_as_long_but_not_for_ever() -> None:
    watched = Watched()
    watched.takes_s = 0.5
    assert watched.answer() == b"0"
    watched.study.ask()
    watched.now = 4.9
    assert watched.answer() == b"0"
    watched.now = 5.1
    watched.takes_s = 100.0
    assert watched.answer() == b"1"
    watched.study.ask()
    assert watched.now - 5.1 > LONGEST_S
    assert watched.answer() == b"2"


def test_a_bounded_number_of_answers_is_kept() -> None:
    watched = Watched()
    keys = [str(i) for i in range(MOST_KEPT + 1)]
    for key in [*keys, keys[-1]]:
        watched.answer(key)
    assert watched.n_made == len(keys)
    watched.answer(keys[0])  # the oldest one made room
    assert watched.n_made == len(keys) + 1
