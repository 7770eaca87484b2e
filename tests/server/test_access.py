"""Keys: who may do what, and that nothing is learned beyond that."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from imabo.server.access import RANKS, hash_of, make_key
from imabo.server.operations import OPERATIONS, Operation
from imabo.server.settings import Settings
from imabo.stores import MemoryStore
from tests.server.calls import OTHER_SPACE, Api, code_of, study_body
from tests.server.running import RunningServer

KEYS: dict[str, tuple[str, tuple[str, ...] | None]] = {
    "reader": ("reader", None),
    "writer": ("writer", None),
    "admin": ("admin", None),
    "writer-a": ("writer", ("a",)),
    "admin-a": ("admin", ("a",)),
}
CLIENTS: dict[tuple[str, str | None], httpx.Client] = {}
NEED_A_KEY = [operation for operation in OPERATIONS if operation.role is not None]
BODIES: dict[str, Any] = {
    "create_study": study_body("new"),
    "change_study": {"space": OTHER_SPACE},
    "reward": {"reward": 0.5},
    "reward_by_key": {"reward": 0.5},
    "signal": {"value": 0.5},
    "signal_by_key": {"value": 0.5},
    "reward_many": {"rewards": [{"pull": "x-1", "reward": 0.5}]},
    "add_arm": {"config": {"model": "large", "x": 0.5}},
    "change_arm": {"state": "paused"},
    "add_webhook": {"url": "http://127.0.0.1/"},
    "change_webhook": {"kinds": None},
    "prune": {"before": "2020-01-01T00:00:00Z"},
}


@pytest.fixture(scope="module")
def locked() -> Iterator[RunningServer]:
    """A server with keys and the studies a and b."""
    with RunningServer(keys=KEYS) as running:
        for name in ("a", "b"):
            Api(caller(running, "admin"), name)
        yield running


@pytest.fixture(scope="module", autouse=True)
def closed_in_the_end() -> Iterator[None]:
    yield
    while CLIENTS:
        CLIENTS.popitem()[1].close()


def caller(server: RunningServer, key: str | None) -> httpx.Client:
    if (server.url, key) not in CLIENTS:
        headers = {} if key is None else {"Authorization": f"Bearer {server.keys.get(key, key)}"}
        CLIENTS[server.url, key] = httpx.Client(base_url=server.url, headers=headers)
    return CLIENTS[server.url, key]


def call(
    http: httpx.Client, operation: Operation, study: str = "a", pull: str = "x-1"
) -> httpx.Response:
    path = operation.path.format(
        study=study,
        pull=pull,
        key="k",
        arm=1,
        figure="reward",
        webhook="w",
        delivery=1,
        signal="cost",
    )
    body = BODIES.get(operation.handler.__name__)
    return http.request(operation.method, path, json=body)


def titles(operation: Operation) -> str:
    return operation.handler.__name__


@pytest.mark.parametrize("operation", NEED_A_KEY, ids=titles)
def test_every_operation_needs_a_key_and_says_nothing_without(
    locked: RunningServer, operation: Operation
) -> None:
    id_and_secret = locked.keys["admin"].split("_", 2)
    wrong = [
        None,
        "nonsense",
        "imabo_x_y",
        f"imabo_{id_and_secret[1]}_wrong",
        f"imabo_{id_and_secret[1]}_",
        f"imabo__{id_and_secret[2]}",
        locked.keys["admin"] + "x",
    ]
    for key in wrong:
        there, elsewhere = (call(caller(locked, key), operation, study=s) for s in ("a", "zzz"))
        assert code_of(there, 401) == "unauthorized"
        assert there.headers["www-authenticate"] == "Bearer"
        assert there.json() == elsewhere.json()


@pytest.mark.parametrize("role", RANKS)
@pytest.mark.parametrize("operation", NEED_A_KEY, ids=titles)
def test_a_role_may_do_what_it_may_and_no_more(
    locked: RunningServer, operation: Operation, role: str
) -> None:
    answer = call(caller(locked, role), operation, study="nowhere")
    if RANKS[role] < RANKS[operation.role or ""]:
        assert code_of(answer, 403) == "forbidden"
    else:
        assert answer.status_code not in (401, 403)


@pytest.mark.parametrize("operation", NEED_A_KEY, ids=titles)
def test_a_limited_key_finds_of_other_studies_what_it_finds_of_none(
    locked: RunningServer, operation: Operation
) -> None:
    (pull,) = Api(caller(locked, "admin"), "b").ask()
    http = caller(locked, "admin-a")
    real = call(http, operation, study="b", pull=pull["id"])
    none = call(http, operation, study="q", pull="q-1")
    if "{webhook}" in operation.path:  # they are of no study
        assert code_of(real, 403) == code_of(none, 403) == "forbidden"
    elif "{" in operation.path:
        assert real.status_code == none.status_code == 404
        texts = (real.text.replace(pull["id"], "q-1"), none.text.replace("'q'", "'b'"))
        assert texts[0] == texts[1]
    else:
        assert "'b'" not in real.text
        assert '"b"' not in real.text


def test_a_writer_of_one_study_can_neither_read_nor_reward_pulls_of_another(
    locked: RunningServer,
) -> None:
    admin = Api(caller(locked, "admin"), "b")
    (pull,) = admin.ask()
    mine = caller(locked, "writer-a")
    refused = mine.put(f"/v1/pulls/{pull['id']}/reward", json={"reward": 1})
    assert code_of(refused, 404) == "unknown_pull"
    assert code_of(mine.get(f"/v1/pulls/{pull['id']}"), 404) == "unknown_pull"
    batch = mine.post("/v1/rewards", json={"rewards": [{"pull": pull["id"], "reward": 1}]})
    assert batch.json()["results"][0]["problem"]["code"] == "unknown_pull"
    assert admin.http.get(f"/v1/pulls/{pull['id']}").json()["reward"] is None


def test_a_limited_key_works_in_its_own_study(locked: RunningServer) -> None:
    http = caller(locked, "writer-a")
    (pull,) = http.post("/v1/studies/a/pulls").json()["pulls"]
    assert http.put(f"/v1/pulls/{pull['id']}/reward", json={"reward": 1}).status_code == 204
    assert [study["name"] for study in http.get("/v1/studies").json()["studies"]] == ["a"]


def test_a_limited_admin_can_create_its_own_study_only(locked: RunningServer) -> None:
    http = caller(locked, "admin-a")
    for name in ("b", "c"):
        refused = http.post("/v1/studies", json=study_body(name, seed=3))
        assert code_of(refused, 403) == "forbidden"
    assert http.post("/v1/studies", json=study_body("a")).status_code == 200


def test_metrics_show_a_limited_key_its_own_studies(locked: RunningServer) -> None:
    for name in ("a", "b"):
        Api(caller(locked, "admin"), name).ask()
    assert 'study="b"' in caller(locked, "admin").get("/metrics").text
    shown = caller(locked, "writer-a").get("/metrics").text
    assert 'study="a"' in shown
    assert 'study="b"' not in shown


def test_health_says_nothing_of_studies(locked: RunningServer) -> None:
    http = caller(locked, None)
    assert http.get("/healthz").json() == {"status": "ok"}
    assert http.get("/readyz").json() == {"status": "ready"}


def test_a_path_that_is_not_there_needs_a_key_too(locked: RunningServer) -> None:
    assert code_of(caller(locked, None).get("/nope"), 401) == "unauthorized"
    assert code_of(caller(locked, "reader").get("/nope"), 404) == "not_found"


def test_a_body_is_not_looked_at_without_a_key(locked: RunningServer) -> None:
    answer = caller(locked, None).post("/v1/studies", content=b"{" * 2_000_000)
    assert code_of(answer, 401) == "unauthorized"


def test_a_revoked_key_is_refused_within_a_second_and_the_last_one_opens_nothing() -> None:
    with RunningServer(keys={"only": ("admin", None)}) as server:
        http = caller(server, "only")
        assert http.get("/v1/studies").status_code == 200
        (record,) = server.store.keys()
        server.store.revoke_key(record.id, at=1.0)
        time.sleep(1.1)
        assert code_of(http.get("/v1/studies"), 401) == "unauthorized"
        assert code_of(caller(server, None).get("/v1/studies"), 401) == "unauthorized"


def test_the_first_key_closes_an_open_server() -> None:
    with RunningServer() as server:
        http = caller(server, None)
        assert http.get("/v1/studies").status_code == 200
        text, record = make_key("first", "reader", None, at=0.0)
        server.store.put_key(record)
        time.sleep(1.1)
        assert code_of(http.get("/v1/studies"), 401) == "unauthorized"
        assert caller(server, text).get("/v1/studies").status_code == 200


def test_an_app_for_other_machines_is_never_open_by_itself() -> None:
    settings = Settings(poll_s=0.05, proposals=False, host="0.0.0.0")
    for allowed, status in ((False, 401), (True, 200)):
        with RunningServer(settings=replace(settings, allow_open=allowed)) as server:
            assert caller(server, None).get("/v1/studies").status_code == status


def test_a_key_is_kept_as_a_hash_only() -> None:
    store = MemoryStore()
    text, record = make_key("someone", "writer", ("a",), at=7.0)
    store.put_key(record)
    secret = text.split("_", 2)[2]
    assert secret not in repr(store.keys())
    assert record.secret_hash == hash_of(secret)
    assert len(secret) >= 43  # 256 bits
    assert make_key("someone", "writer", ("a",), at=7.0)[0] != text


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "evil.example:8766"},
        {"host": "10.0.0.7"},
        {"host": "[broken"},
        {"origin": "https://evil.example"},
        {"origin": "null"},
    ],
    ids=str,
)
def test_an_open_server_refuses_what_a_page_elsewhere_makes_a_browser_send(
    http: httpx.Client, headers: dict[str, str]
) -> None:
    for method, path in (("GET", "/v1/studies"), ("POST", "/v1/studies/s/pulls")):
        refused = http.request(method, path, headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")


def test_an_open_server_answers_under_every_name_of_this_machine(
    server: RunningServer, http: httpx.Client
) -> None:
    for name in ("localhost", "127.0.0.1", "[::1]"):
        host = f"{name}:{server.port}"
        answer = http.get("/v1/studies", headers={"host": host, "origin": f"http://{host}"})
        assert answer.status_code == 200


def test_with_keys_the_name_of_the_machine_does_not_matter() -> None:
    with RunningServer(keys={"app": ("reader", None)}) as server:
        headers = {"host": "imabo.example", "authorization": f"Bearer {server.keys['app']}"}
        assert httpx.get(f"{server.url}/v1/studies", headers=headers).status_code == 200


def test_a_batch_by_keys_says_nothing_of_studies_that_are_not_the_caller_s(
    locked: RunningServer,
) -> None:
    Api(caller(locked, "admin"), "b").ask(key="k")
    rewards = [{"study": study, "key": "k", "reward": 0.5} for study in ("b", "q")]
    answer = caller(locked, "admin-a").post("/v1/rewards", json={"rewards": rewards})
    found, none = (result["problem"] for result in answer.json()["results"])
    assert (found["code"], found["why"]) == (none["code"], none["why"])
    assert found["code"] == "unknown_study"
