"""Importing over HTTP: all of a log or nothing, while others are served."""

from __future__ import annotations

import base64
import hashlib
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from imabo.server.settings import Settings
from tests.server.calls import Api, code_of, study_body
from tests.server.running import RunningServer

TYPE = {"Content-Type": "application/x-ndjson"}
N_PULLS = 60


@pytest.fixture(scope="module")
def log(http: httpx.Client) -> bytes:
    """The log of a study with rewards, and with a change of each kind."""
    api = Api(http, "logged", window_s=3600.0)
    for _ in range(N_PULLS):
        (pull,) = api.ask(context={"user": "å"})
        api.tell(pull["id"], 0.5)
    http.patch(f"{api.path}/arms/1", json={"state": "paused"})
    http.post(f"{api.path}/arms", json={"config": {"model": "small", "x": 0.25}})
    return exported(http, api.study)


def exported(http: httpx.Client, name: str) -> bytes:
    answer = http.get(f"/v1/studies/{name}/export")
    assert answer.status_code == 200
    return answer.content


def put(http: httpx.Client, log: bytes, name: str, **headers: str) -> httpx.Response:
    return http.post("/v1/imports", params={"name": name}, content=log, headers=TYPE | headers)


def eventually(is_so: Callable[[], bool]) -> None:
    ends_at = time.monotonic() + 30.0
    while not is_so():
        assert time.monotonic() < ends_at
        time.sleep(0.01)


@contextmanager
def half_sent(server: RunningServer, log: bytes, name: str) -> Iterator[socket.socket]:
    """A connection whose import is surely under way: half of the body is there."""
    with socket.create_connection(("127.0.0.1", server.port)) as sender:
        sender.sendall(
            f"POST /v1/imports?name={name} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
            f"Content-Type: {TYPE['Content-Type']}\r\nContent-Length: {len(log)}\r\n\r\n".encode()
        )
        sender.sendall(log[: len(log) // 2])
        eventually(lambda: name in server.store.names())
        yield sender


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_a_study_that_is_exported_and_imported_is_equal(
    log: bytes, tmp_path: Path, store: str
) -> None:
    url = None if store == "memory" else f"sqlite:///{tmp_path}/imabo.db"
    with RunningServer(url) as other, httpx.Client(base_url=other.url) as http:
        answer = http.post("/v1/imports", content=log, headers=TYPE)
        assert answer.status_code == 201, answer.text
        assert exported(http, "logged") == log
        study = http.get("/v1/studies/logged").json()
        checked = {"decided": N_PULLS, "followed": 0, "rewards": N_PULLS, "expirations": 0}
        assert answer.json() == {"study": study, "checked": checked | {"changes": 2}}
        assert http.post("/v1/studies/logged/pulls").status_code == 201


def test_a_name_is_given_and_only_the_first_line_differs(http: httpx.Client, log: bytes) -> None:
    assert put(http, log, "named").json()["study"]["name"] == "named"
    assert exported(http, "named").splitlines()[1:] == log.splitlines()[1:]


def test_a_name_that_is_taken_is_refused_and_left_alone(http: httpx.Client, log: bytes) -> None:
    answer = http.post("/v1/imports", content=log, headers=TYPE)
    assert code_of(answer, 409) == "study_exists"
    assert exported(http, "logged") == log


@pytest.mark.parametrize(
    ("edit", "line"),
    [
        (lambda lines: [*lines[:9], b"no JSON", *lines[9:]], "line 10 of the log is 'no JSON'"),
        (lambda lines: [*lines[:9], b"\xff{}", *lines[9:]], "line 10 of the log is '\ufffd{}'"),
        (lambda lines: [*lines[:9], b"", *lines[9:]], "line 10 "),
        (lambda lines: [*lines[:-1], lines[-1][:-9]], f"line {2 * N_PULLS + 3} "),
        (lambda lines: [lines[0], *lines[2:]], "line 2 "),
        (lambda lines: [lines[0], lines[2].replace(b"0.5", b"0.25"), *lines[1:]], "line 2 "),
        (lambda lines: [*lines[:3], lines[2].replace(b"0.5", b"0.2"), *lines[3:]], "line 4 "),
        (lambda lines: [b"{" * 20_000_000], "line 1 of the log is longer than "),
        (lambda lines: [], "the log does not start with a study"),
    ],
)
def test_a_broken_log_is_refused_by_its_line_and_leaves_nothing(
    http: httpx.Client, log: bytes, edit: Callable[[list[bytes]], list[bytes]], line: str
) -> None:
    answer = put(http, b"\n".join(edit(log.splitlines())), "broken")
    assert code_of(answer, 422) == "replay_mismatch"
    assert answer.json()["what"].startswith(line)
    assert http.get("/v1/studies/broken").status_code == 404


def test_a_body_that_breaks_off_leaves_nothing(server: RunningServer, log: bytes) -> None:
    with half_sent(server, log, "half"):
        pass
    eventually(lambda: "half" not in server.store.names())


def test_others_are_served_meanwhile_and_nobody_sees_a_part(
    server: RunningServer, api: Api, log: bytes
) -> None:
    http = api.http
    with half_sent(server, log, "slow") as sender:
        (pull,) = api.ask()
        assert api.tell(pull["id"], 1.0).status_code == 204
        assert put(http, log, "quick").status_code == 201
        for answer in (
            http.get("/v1/studies/slow"),
            http.post("/v1/studies/slow/pulls"),
            http.get("/v1/studies/slow/overview"),
            http.delete("/v1/studies/slow"),
        ):
            assert code_of(answer, 404) == "unknown_study"
        assert "slow" not in [one["name"] for one in http.get("/v1/studies").json()["studies"]]
        same = http.post("/v1/studies", json=study_body("slow", window_s=3600.0))
        assert code_of(same, 409) == "study_exists"
        assert code_of(put(http, log, "slow"), 409) == "study_exists"
        sender.sendall(log[len(log) // 2 :])
        assert sender.recv(100).startswith(b"HTTP/1.1 201 ")
    assert exported(http, "slow").splitlines()[1:] == log.splitlines()[1:]


def test_a_service_that_stops_leaves_nothing_of_an_import(
    server: RunningServer, log: bytes
) -> None:
    with RunningServer(server.store) as other, half_sent(other, log, "stopped") as sender:
        other.app.parts.stopping.set()
        assert sender.recv(100).startswith(b"HTTP/1.1 503 ")
        assert "stopped" not in server.store.names()


def test_a_body_is_compared_with_its_digest(http: httpx.Client, log: bytes) -> None:
    right, wrong = (
        f"md5=:AA==:, sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"
        for body in (log, log + b"x")
    )
    answer = put(http, log, "summed", **{"Content-Digest": wrong})
    assert code_of(answer, 422) == "invalid_request"
    assert http.get("/v1/studies/summed").status_code == 404
    assert put(http, log, "summed", **{"Content-Digest": right}).status_code == 201


def test_what_is_too_large_is_refused_and_leaves_nothing(log: bytes) -> None:
    settings = Settings(poll_s=0.05, proposals=False, max_import_bytes=len(log) - 1)
    with RunningServer(settings=settings) as small, httpx.Client(base_url=small.url) as http:
        pieces = iter([log[:-100], log[-100:]])
        for body in (log, pieces):
            answer = http.post("/v1/imports", content=body, headers=TYPE)
            assert code_of(answer, 413) == "too_large"
        far_too_large = http.post("/v1/imports", content=log + b"\n" * 10_000_000, headers=TYPE)
        assert code_of(far_too_large, 413) == "too_large"
        assert small.store.names() == []


def test_an_import_may_be_larger_than_other_bodies(log: bytes) -> None:
    settings = Settings(poll_s=0.05, proposals=False, max_body_bytes=1024)
    with RunningServer(settings=settings) as small, httpx.Client(base_url=small.url) as http:
        assert put(http, log, "copy").status_code == 201


@pytest.mark.parametrize(
    ("key", "status"), [("reader", 403), ("writer", 403), ("elsewhere", 403), ("admin", 201)]
)
def test_only_those_who_may_create_a_study_may_import_it(log: bytes, key: str, status: int) -> None:
    keys: dict[str, tuple[str, tuple[str, ...] | None]] = {
        "reader": ("reader", None),
        "writer": ("writer", None),
        "elsewhere": ("admin", ("other",)),
        "admin": ("admin", ("copy",)),
    }
    with RunningServer(keys=keys) as locked, httpx.Client(base_url=locked.url) as http:
        answer = put(http, log, "copy", Authorization=f"Bearer {locked.keys[key]}")
        assert answer.status_code == status
        assert locked.store.names() == (["copy"] if status == 201 else [])


def test_what_is_not_said_to_be_json_lines_is_not_read(http: httpx.Client, log: bytes) -> None:
    answer = http.post("/v1/imports", content=log, headers={"Content-Type": "application/json"})
    assert code_of(answer, 415) == "unsupported_media_type"
    assert code_of(put(http, log, "x" * 201), 422) == "invalid_request"
