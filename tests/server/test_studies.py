"""Creating, reading, changing and deleting studies, and what was learned."""

from __future__ import annotations

import csv
import io
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from urllib.parse import quote

import httpx
import pytest

from imabo import Study
from imabo.stores import MemoryStore
from imabo.stores.base import Change, StudyRecord
from tests.server.calls import OTHER_SPACE, SPACE, Api, code_of, study_body
from tests.server.running import RunningServer

MISSING = "/v1/studies/missing"


def test_a_study_is_created_once_and_creating_it_again_is_harmless(http: httpx.Client) -> None:
    first = http.post("/v1/studies", json=study_body("twice"))
    again = http.post("/v1/studies", json=study_body("twice"))
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() | {"outcome": "same"} == again.json()
    assert (first.json()["outcome"], first.json()["difference"]) == ("created", [])
    assert first.json()["seed"] == "0"
    assert first.json()["policy"]["type"] == "IMOSS"
    assert datetime.fromisoformat(first.json()["created_at"]).tzinfo is not None


def test_of_several_who_create_a_study_at_once_one_made_it() -> None:
    n = 3
    gate = threading.Barrier(n)

    class Crowded(MemoryStore):
        def create(self, study: StudyRecord, first: Change | None = None) -> None:
            gate.wait(60.0)  # all of them found that there is no such study yet
            super().create(study, first)

    with RunningServer(Crowded()) as server, ThreadPoolExecutor(n) as pool:
        body = study_body("crowded")
        calls = [
            pool.submit(httpx.post, f"{server.url}/v1/studies", json=body, timeout=30)
            for _ in range(n)
        ]
        answers = [call.result() for call in calls]
    assert sorted(answer.status_code for answer in answers) == [200, 200, 201]
    assert len({answer.json()["created_at"] for answer in answers}) == 1


def test_another_study_under_the_same_name_is_a_conflict(http: httpx.Client) -> None:
    http.post("/v1/studies", json=study_body("taken"))
    other = http.post("/v1/studies", json=study_body("taken", seed=1))
    assert code_of(other, 409) == "study_exists"


def test_every_field_of_a_new_study_reaches_it(http: httpx.Client) -> None:
    seed = 2**100 + 1
    changes = {"seed": str(seed), "reward_range": [-1, 3], "window_s": 60.5}
    made = http.post("/v1/studies", json=study_body("fields", **changes)).json()
    assert made["seed"] == str(seed)
    assert (made["reward_range"], made["window_s"]) == ([-1, 3], 60.5)
    unlimited = http.post("/v1/studies", json=study_body("unlimited", reward_range=None)).json()
    assert unlimited["reward_range"] is None
    plain = http.post("/v1/studies", json={"name": "plain", "space": SPACE}).json()
    assert plain["reward_range"] == [0, 1]
    assert plain["policy"]["type"] == "Informed"


@pytest.mark.parametrize("name", ["a/b", "<script>", "100%", "%2F", "ü ü", "a?b#c", "pulls", "/"])
def test_any_name_works_in_a_path(http: httpx.Client, name: str) -> None:
    api = Api(http, name)
    (pull,) = api.ask()
    assert pull["study"] == name
    assert api.tell(pull["id"], 0.5).status_code == 204
    assert api.read()["n_rewards"] == 1
    assert http.delete(api.path).status_code == 204
    assert code_of(http.get(api.path), 404) == "unknown_study"


def test_the_list_has_every_study_by_name(http: httpx.Client) -> None:
    for name in ("list-b", "list-a"):
        http.post("/v1/studies", json=study_body(name))
    names = [study["name"] for study in http.get("/v1/studies").json()["studies"]]
    assert names == sorted(names)
    assert {"list-a", "list-b"} <= set(names)


def test_the_space_moves_on(api: Api) -> None:
    api.ask(count=3)
    changed = api.http.patch(api.path, json={"space": OTHER_SPACE})
    assert changed.json()["space_version"] == 2
    assert changed.json()["space"]["parameters"][0]["high"] == 2
    assert set(api.ask()[0]["config"]) == {"x"}


def test_a_deleted_study_is_gone_with_its_pulls_and_its_name_is_free(api: Api) -> None:
    (pull,) = api.ask()
    assert api.http.delete(api.path).status_code == 204
    assert code_of(api.http.delete(api.path), 404) == "unknown_study"
    assert code_of(api.tell(pull["id"], 0.5), 404) == "unknown_pull"
    assert code_of(api.http.get(f"/v1/pulls/{pull['id']}"), 404) == "unknown_pull"
    again = Api(api.http, api.study)
    assert again.read()["n_pulls"] == 0
    assert again.ask()[0]["id"] != pull["id"]


def test_best_is_what_the_study_says(api: Api, server: RunningServer) -> None:
    assert code_of(api.http.get(f"{api.path}/best"), 409) == "no_rewards"
    for pull in api.ask(count=20):
        api.tell(pull["id"], 0.25)
    with Study.open(api.study, store=server.store) as study:
        best = study.best(0.5)
    answer = api.read("/best", level=0.5)
    assert answer == {
        "arm": best.arm,
        "config": best.config,
        "mean": best.mean,
        "observed": 0.25,
        "chance": best.chance,
        "interval": list(best.interval),
        "n_rewards": best.n_rewards,
        "level": 0.5,
        "since": None,
        "shares": None,
        "is_within": True,
        "mix_mean": None,
    }


def test_an_interval_without_ends_is_null(http: httpx.Client) -> None:
    api = Api(http, "no-ends", reward_range=None)
    api.tell(api.ask()[0]["id"], 1e60)
    assert json.loads(http.get(f"{api.path}/best").text, parse_constant=pytest.fail)


def test_the_export_is_the_log_and_can_be_replayed(api: Api) -> None:
    for pull in api.ask(count=30):
        api.tell(pull["id"], 0.5)
    answer = api.http.get(f"{api.path}/export")
    assert answer.headers["content-type"] == "application/x-ndjson"
    with Study.replay(answer.text.splitlines()) as study:
        assert (study.name, study.n_pulls, study.n_rewards) == (api.study, 30, 30)


def test_the_export_as_csv_has_a_row_a_pull(api: Api) -> None:
    api.ask(count=1000)
    answer = api.http.get(f"{api.path}/export", params={"format": "csv"})
    assert answer.headers["content-type"].startswith("text/csv")
    assert len(list(csv.DictReader(io.StringIO(answer.text)))) == 1000


def test_an_export_that_nobody_reads_on_ends_by_itself(api: Api, server: RunningServer) -> None:
    for _ in range(8):
        api.ask(count=1000)
    until = time.monotonic() + 60.0
    with httpx.Client(base_url=server.url) as http:
        for _ in range(2 * server.settings.max_exports + 1):
            status = 503
            while status == 503:  # until one that was left has noticed it
                assert time.monotonic() < until
                with http.stream("GET", f"{api.path}/export") as answer:
                    status = answer.status_code
                    if status == 200:
                        next(answer.iter_bytes(100))
            assert status == 200
    assert api.read("/arms")["arms"]


def test_pending_pulls_expire_and_finished_ones_are_pruned() -> None:
    now = [1000.0]
    with (
        RunningServer(clock=lambda: now[0]) as server,
        httpx.Client(base_url=server.url) as http,
    ):
        api = Api(http, "s", window_s=10.0)
        api.ask(count=3)
        assert http.post(f"{api.path}/expire").json() == {"expired": 0}
        now[0] = 2000.0
        assert http.post(f"{api.path}/expire").json()["expired"] in (0, 3)  # or by the registry
        assert api.read()["n_expired"] == 3
        before = {"before": "1970-01-01T00:30:00+00:00"}
        assert http.post(f"{api.path}/prune", json=before).json() == {"pruned": 3}
        assert api.read("/pulls")["pulls"] == []
        assert api.read()["n_expired"] == 3


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", MISSING),
        ("PATCH", MISSING),
        ("DELETE", MISSING),
        ("POST", f"{MISSING}/pulls"),
        ("GET", f"{MISSING}/pulls"),
        ("GET", f"{MISSING}/arms"),
        ("POST", f"{MISSING}/arms"),
        ("PATCH", f"{MISSING}/arms/1"),
        ("GET", f"{MISSING}/best"),
        ("GET", f"{MISSING}/export"),
        ("POST", f"{MISSING}/expire"),
        ("POST", f"{MISSING}/prune"),
        ("GET", f"/v1/studies/{quote('x' * 201)}"),
        ("GET", "/v1/studies/%00"),
    ],
)
def test_a_study_that_is_not_there_is_unknown_on_every_route(
    http: httpx.Client, method: str, path: str
) -> None:
    Api(http, "something-else")
    bodies: dict[str, object] = {
        "PATCH": {"state": "paused"} if "/arms/" in path else {"space": SPACE},
        "POST": {"config": {}} if path.endswith("arms") else {"before": "2020-01-01T00:00:00Z"},
    }
    body = bodies.get(method) if not path.endswith(("pulls", "expire")) else None
    answer = http.request(method, path, json=body)
    assert code_of(answer, 404) == "unknown_study"
    assert "something-else" not in answer.text


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"policy": {"type": "Nonsense"}}, "invalid_setting"),
        ({"policy": {"type": "IMOSS", "beta": 7}}, "invalid_setting"),
        ({"policy": {"type": "IMOSS", "nonsense": 7}}, "invalid_setting"),
        ({"oracle": {"type": "Mixed", "oracle": {"type": "x"}}}, "invalid_setting"),
        ({"oracle": {"type": "IMOSS"}}, "invalid_setting"),
        ({"reward_range": [1, 0]}, "invalid_setting"),
        ({"reward_range": [0, 1e308]}, "invalid_setting"),
        ({"reward_range": [0, 5e-324]}, "invalid_setting"),
        ({"reward_range": [1]}, "invalid_request"),
        ({"window_s": 0}, "invalid_request"),
        ({"seed": -1}, "invalid_request"),
        ({"seed": True}, "invalid_request"),
        ({"seed": "12x"}, "invalid_request"),
        ({"name": ""}, "invalid_request"),
        ({"name": "x" * 201}, "invalid_request"),
        ({"name": "a\0b"}, "invalid_request"),
        ({"space": {"parameters": []}}, "invalid_request"),
        ({"space": {"parameters": [{"name": "x", "type": "float", "low": 0}]}}, "invalid_request"),
        (
            {"space": {"parameters": [{"name": "x", "type": "float", "low": 2, "high": 1}]}},
            "invalid_space",
        ),
        ({"nonsense": 1}, "invalid_request"),
    ],
)
def test_a_study_that_makes_no_sense_is_refused_and_not_made(
    http: httpx.Client, changes: dict[str, object], code: str
) -> None:
    before = http.get("/v1/studies").json()
    refused = http.post("/v1/studies", json=study_body("refused") | changes)
    assert code_of(refused, 422) == code
    assert http.get("/v1/studies").json() == before


@pytest.mark.parametrize(
    ("part", "query"),
    [
        ("/best", {"level": "1"}),
        ("/best", {"level": "nan"}),
        ("/best", {"levle": "0.5"}),
        ("/export", {"format": "xml"}),
        ("/pulls", {"limit": "0"}),
        ("/pulls", {"limit": "1001"}),
        ("/pulls", {"after": "-1"}),
        ("/pulls", {"after": "x"}),
        ("/pulls", "after=1&after=2"),
    ],
)
def test_a_query_that_makes_no_sense_is_refused(
    api: Api, part: str, query: dict[str, str] | str
) -> None:
    answer = api.http.get(api.path + part, params=httpx.QueryParams(query))
    assert code_of(answer, 422) == "invalid_request"


@pytest.mark.parametrize(
    "before", ["yesterday", "2020-01-01", "2020-01-01T00:00:00", "0001-01-01T00:00:00Z"]
)
def test_a_time_that_is_none_is_refused(api: Api, before: str) -> None:
    answer = api.http.post(f"{api.path}/prune", json={"before": before})
    assert code_of(answer, 422) == "invalid_request"


def test_a_name_that_is_nearly_one_is_told_to_those_who_may_see_it() -> None:
    keys = {"all": ("reader", None), "one": ("reader", ("other",))}
    running = RunningServer(keys={"admin": ("admin", None), **keys})
    with running as server, httpx.Client(base_url=server.url) as http:

        def asked(key: str, name: str) -> httpx.Response:
            headers = {"Authorization": f"Bearer {server.keys[key]}"}
            return http.get(f"/v1/studies/{name}", headers=headers)

        admin = {"Authorization": f"Bearer {server.keys['admin']}"}
        http.post("/v1/studies", json=study_body("support-answers"), headers=admin)
        assert "write 'support-answers'" in asked("all", "suport-answers").json()["fix"]
        # One key may not see it: near or not, there or not, the words are the same.
        fixes = {
            asked("one", name).json()["fix"]
            for name in ("suport-answers", "support-answers", "zzz")
        }
        assert fixes == {"check the name, or create the study first"}


def test_a_study_that_is_declared_otherwise(http: httpx.Client) -> None:
    body = study_body("deployed", revision=1)
    assert http.post("/v1/studies", json=body).status_code == 201
    other = body | {"space": OTHER_SPACE, "window_s": 60, "revision": 2}
    refused = http.post("/v1/studies", json=other)
    assert code_of(refused, 409) == "study_exists"
    assert "parameter 'model' is removed" in refused.json()["why"]
    assert 'if_changed="update" applies this' in refused.json()["fix"]
    kept = http.post("/v1/studies", json=other | {"if_changed": "keep"}).json()
    assert (kept["outcome"], kept["window_s"]) == ("kept", None)
    updated = http.post("/v1/studies", json=other | {"if_changed": "update"}).json()
    assert (updated["outcome"], updated["window_s"], updated["revision"]) == ("updated", 60.0, 2)
    assert "window_s: None becomes 60.0" in updated["difference"]
    late = http.post("/v1/studies", json=body | {"if_changed": "update"}).json()
    assert (late["outcome"], late["revision"]) == ("kept", 2)
    assert "revision 2 was declared already" in late["why"]
    wrong = http.post("/v1/studies", json=body | {"if_changed": "replace"})
    assert code_of(wrong, 422) == "invalid_request"


def test_settings_change_with_a_patch(http: httpx.Client) -> None:
    api = Api(http, "patched", window_s=60)
    changed = http.patch(api.path, json={"window_s": None})
    assert (changed.status_code, changed.json()["window_s"]) == (200, None)
    both = http.patch(api.path, json={"space": OTHER_SPACE, "window_s": 5, "reward_range": [0, 2]})
    assert (both.json()["space_version"], both.json()["reward_range"]) == (2, [0.0, 2.0])
    assert code_of(http.patch(api.path, json={}), 422) == "invalid_setting"
    assert code_of(http.patch(api.path, json={"policy": {}}), 422) == "invalid_request"
    api.tell(api.ask()[0]["id"], 2.0)
    assert code_of(http.patch(api.path, json={"reward_range": [0, 3]}), 422) == "invalid_setting"
    assert [one["kind"] for one in api.read("/events")["events"]] == [
        "created",
        "settings",
        "space",
    ]
