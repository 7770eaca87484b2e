"""What is refused before a route looks at it: each a clear 4xx, and nothing changes."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from imabo import Float, Space, Study
from imabo.errors import InvalidSetting
from tests.server.calls import Api, code_of, study_body
from tests.server.running import RunningServer

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """On SQLite, whose facts can be compared."""
    path = tmp_path_factory.mktemp("limits") / "imabo.db"
    with RunningServer(f"sqlite:///{path}") as running:
        yield running


BROKEN = {
    "half": (b'{"reward": ', 400),
    "none": (b"", 400),
    "not JSON": (b"reward=1", 400),
    "NaN": (b'{"reward": NaN}', 400),
    "Infinity": (b'{"reward": -Infinity}', 400),
    "beyond floats": (b'{"reward": 1e999}', 400),
    "beyond ints": (b'{"reward": ' + b"9" * 5000 + b"}", 400),
    "invalid UTF-8": (b'{"reward": "\xff\xfe"}', 400),
    "UTF-16": ('{"reward": 1}'.encode("utf-16"), 400),
    "half a surrogate pair": (b'{"reward": "\\ud800"}', 400),
    "twice": (b'{"reward": 1, "reward": 0}', 400),
    "deep": (b"[" * 33 + b"]" * 33, 400),
    "very deep": (b'{"reward": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", 400),
    "deep and wide": (b'{"a": ' * 500 + b"1" + b"}" * 500, 400),
    "trailing": (b'{"reward": 1} x', 400),
    "a list": (b"[1]", 422),
    "a number": (b"1", 422),
    "null": (b"null", 422),
    "unknown field": (b'{"reward": 1, "x": 2}', 422),
    "no field": (b"{}", 422),
    "a text": (b'{"reward": "1"}', 422),
    "null reward": (b'{"reward": null}', 422),
    "huge": (b'{"reward": 1' + b" " * 1_048_576 + b"}", 413),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_body_is_a_4xx_and_the_database_unchanged(
    api: Api, server: RunningServer, name: str
) -> None:
    body, status = BROKEN[name]
    (pull,) = api.ask()
    before = facts(server)
    paths = [("PUT", f"/v1/pulls/{pull['id']}/reward"), ("POST", "/v1/studies")]
    for method, path in [*paths, ("PATCH", api.path), ("POST", f"{api.path}/arms")]:
        answer = api.http.request(method, path, content=body, headers=JSON)
        # A change of nothing is well-formed.
        wanted = "invalid_setting" if (method, name) == ("PATCH", "no field") else "invalid_request"
        assert code_of(answer, status) == ("too_large" if status == 413 else wanted)
    assert facts(server) == before


def facts(server: RunningServer) -> list[object]:
    store = server.store
    return [(store.load(name), store.pulls(name)) for name in store.names()]


def test_a_long_body_without_a_length_is_refused_too(http: httpx.Client) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(40):
            yield b" " * 65_536

    answer = http.post("/v1/studies", content=chunks(), headers=JSON)
    assert code_of(answer, 413) == "too_large"


def test_a_body_that_comes_in_pieces_is_put_together(http: httpx.Client) -> None:
    text = json.dumps(study_body("pieces")).encode()
    answer = http.post("/v1/studies", content=iter([text[:9], text[9:]]), headers=JSON)
    assert answer.status_code == 201


@pytest.mark.parametrize("media", ["text/plain", "application/x-www-form-urlencoded", "", "json"])
def test_a_body_that_does_not_say_it_is_json_is_refused(http: httpx.Client, media: str) -> None:
    answer = http.post("/v1/studies", content=b"{}", headers={"Content-Type": media})
    assert code_of(answer, 415) == "unsupported_media_type"


def test_json_may_say_its_charset(http: httpx.Client) -> None:
    body = json.dumps(study_body("charset")).encode()
    media = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert http.post("/v1/studies", content=body, headers=media).status_code == 201


@pytest.mark.parametrize(
    ("method", "path", "body", "what", "why", "fix"),
    [
        ("PUT", "/v1/pulls/{pull}/reward", {"rewrd": 1}, "the body's rewrd is 1",
         "there is no such field, only reward, signals", "write 'reward'"),
        ("PUT", "/v1/pulls/{pull}/reward", {"reward": 1, "colour": "red"},
         "the body's colour is 'red'", "only reward, signals", "leave 'colour' out"),
        ("PUT", "/v1/pulls/{pull}/reward", {}, "the body has no reward", "it is needed",
         "add 'reward' to it"),
        ("POST", "{study}/pulls", {"count": 0}, "the body's count is 0",
         "greater than or equal to 1", "send another count"),
        ("POST", "/v1/studies", {"name": "n", "space": {"parameters": [
            {"name": "x", "type": "float", "low": 0, "hihg": 1}]}},
         "the body's space.parameters.0.float.hihg is 1",
         "only type, name, low, high, log, step, when", "write 'high'"),
        ("POST", "/v1/rewards", {"rewards": [{"pull": "x", "rewad": 1.0}]},
         "rewad is 1.0", "reward, signals, pull", "write 'reward'"),
        ("POST", "/v1/rewards", [], "the body is []", "valid dictionary",
         "send the body in the form of this route"),
        ("PATCH", "{study}", {"window": 5}, "the body's window is 5",
         "space, window_s, reward_range, signals, objective", "write 'window_s'"),
        ("GET", "{study}/pulls?limt=5", None, "the query's limt is '5'",
         "only after, limit", "write 'limit'"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said_with_what_would(
    api: Api, method: str, path: str, body: object, what: str, why: str, fix: str
) -> None:
    (pull,) = api.ask()
    url = path.format(pull=pull["id"], study=api.path)
    content = b"" if body is None else json.dumps(body).encode()
    answer = api.http.request(method, url, content=content, headers=JSON)
    assert code_of(answer, 422) == "invalid_request"
    problem = answer.json()
    assert what in problem["what"]
    assert why in problem["why"]
    assert problem["fix"] == fix


@pytest.mark.parametrize("name", ["seed", "policy", "oracle", "name", "revision"])
def test_what_a_study_keeps_is_refused_with_the_words_of_python(api: Api, name: str) -> None:
    given: dict[str, Any] = {name: 5}
    with pytest.raises(InvalidSetting) as refused:
        Study.create("s", Space(x=Float(0, 1))).update(**given)
    answer = api.http.patch(api.path, json=given)
    assert code_of(answer, 422) == "invalid_request"
    assert answer.json()["detail"] == str(refused.value)
    to_control = api.http.patch(api.path, json={"exposure": 0.5})
    assert to_control.json()["fix"] == "send it with PUT to the study's /control"


def test_a_context_may_be_as_deep_as_the_bound(api: Api) -> None:
    context: object = "ü"
    for _ in range(30):
        context = [context]
    assert api.ask(context=context)[0]["context"] == context


def test_a_path_that_is_not_utf8_is_refused(http: httpx.Client) -> None:
    assert code_of(http.get("/v1/studies/%ff"), 400) == "invalid_request"


def test_a_method_that_a_path_does_not_take_is_refused(http: httpx.Client) -> None:
    answer = http.put("/v1/studies")
    assert code_of(answer, 405) == "method_not_allowed"
    assert answer.headers["allow"] == "GET, POST"


@pytest.mark.parametrize(
    "path", ["/v1", "/v1/studies/", "/v1/studies/a/b", "/docs", "/static", "/v1//"]
)
def test_a_path_that_is_not_there_is_not_found(http: httpx.Client, path: str) -> None:
    assert code_of(http.get(path), 404) == "not_found"


def test_what_is_not_http_is_refused_without_harm(
    server: RunningServer, http: httpx.Client
) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(b"\x16\x03\x01 nonsense\r\n\r\n")
        assert b" 400 " in raw.recv(1000)
    assert http.get("/healthz").status_code == 200


def test_a_caller_that_leaves_in_the_middle_of_a_body_does_no_harm(
    server: RunningServer, http: httpx.Client
) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(
            b"POST /v1/studies HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: 100\r\n\r\n{"
        )
    assert http.get("/healthz").status_code == 200


def test_a_request_id_comes_back_if_it_is_a_plain_one(http: httpx.Client) -> None:
    given = http.get("/healthz", headers={"X-Request-ID": "abc-1"})
    assert given.headers["x-request-id"] == "abc-1"
    for bad in ("a b", "x" * 129, ""):
        made = http.get("/healthz", headers={"X-Request-ID": bad}).headers["x-request-id"]
        assert made not in ("", bad)
