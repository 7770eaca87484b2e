"""The errors that people meet in their first hour: each says what, why, and what to do.

One entry a mistake, as a person makes it. A message has three parts, and each must help.
"""

from __future__ import annotations

import re
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from imabo import Choice, Client, Float, Space, Study, cli, tuned
from imabo.errors import ImaboError
from tests.client.tcp import listening, saying
from tests.server.running import RunningServer

pytestmark = pytest.mark.service

SPACE = Space(model=Choice("small", "large"), temperature=Float(0.0, 1.0))


class Said(NamedTuple):
    """What a message must say."""

    what: str
    why: str
    fix: str


@contextmanager
def served() -> Iterator[tuple[RunningServer, Client]]:
    server = RunningServer(keys={"admin": ("admin", None)})
    with server, Client(server.url, key=server.keys["admin"], retries=0) as client:
        yield server, client


def wrong_id() -> None:
    Study.create("s", SPACE).tell("order-17", 1.0)


def wrong_id_by_client() -> None:
    with served() as (_, client):
        client.create("s", SPACE).tell("order-17", 1.0)


def wrong_access_key() -> None:
    with served() as (server, _), Client(server.url, key="imabo_mistyped", retries=0) as client:
        client.create("s", SPACE)


def expired_access_key() -> None:
    with served() as (server, client):
        server.store.revoke_key(server.store.keys()[0].id, at=1.0)
        for _ in range(200):  # servers refuse it within a second
            client.studies()
            time.sleep(0.02)


def wrong_own_key() -> None:
    study = Study.create("s", SPACE)
    study.ask(key="order-17")
    study.tell(key="order-71", reward=1.0)


def wrong_own_key_by_client() -> None:
    with served() as (_, client):
        client.create("s", SPACE).tell(key="order-71", reward=1.0)


def changed_space() -> None:
    store = Study.create("s", SPACE, window_s=60.0).store
    Study.create("s", Space(model=Choice("small", "huge")), window_s=3600.0, store=store)


def changed_space_by_client() -> None:
    with served() as (_, client):
        client.create("s", SPACE)
        client.create("s", Space(model=Choice("small", "huge")))


def bad_default() -> None:
    with served() as (_, client):
        client.create("s", SPACE).ask(default={"model": "smal", "temperature": 0.2})


def bad_default_of_a_function() -> None:
    tuned(Study.create("s", SPACE), default={"model": "small", "temperatur": 0.2})


def url_of_another_service() -> None:
    page = saying("200 OK", b"<html>a proxy</html>", "Content-Type: text/html")
    with listening(page) as url, Client(url, retries=0) as client:
        client.create("s", SPACE)


def url_without_a_scheme() -> None:
    Client("localhost:8766")


def url_of_another_database() -> None:
    Study.create("s", SPACE, store="mysql://root@localhost/imabo")


def missing_extra() -> None:
    before = sys.modules["httpx"]
    sys.modules["httpx"] = None  # type: ignore[assignment]
    try:
        Client("http://127.0.0.1:8766")
    finally:
        sys.modules["httpx"] = before


def stopped_service() -> None:
    with RunningServer() as server:
        client = Client(server.url, retries=0, timeout_s=2.0)
        study = client.create("s", SPACE)
    with client:
        study.ask()


def wrong_type_of_reward() -> None:
    study = Study.create("s", SPACE)
    study.tell(study.ask().id, "good")  # type: ignore[call-overload]


def wrong_type_of_reward_by_client() -> None:
    with served() as (_, client):
        study = client.create("s", SPACE)
        study.tell(study.ask().id, None)


FIRST_ERRORS: Final[dict[Callable[[], None], Said]] = {
    wrong_id: Said("no pull has the id 'order-17'", "never handed it out", "id of a pull that ask"),
    wrong_id_by_client: Said("'order-17'", "ever handed it out", "id of a pull that an ask"),
    wrong_access_key: Said("key does not count", "unknown", "Client.*imabo keys create"),
    expired_access_key: Said("key does not count", "revoked", "Client.*imabo keys create"),
    wrong_own_key: Said("no pull of study 's' has the key 'order-71'", "no ask was made", "ask"),
    wrong_own_key_by_client: Said("has the key 'order-71'", "no ask was made", "check the key"),
    changed_space: Said(
        "already a study named 's'",
        "'huge' is added.*'large' is removed.*'temperature' is removed.*60.0 becomes 3600.0",
        "update.*retires 0 of 0 arms.*keep.*Study.open",
    ),
    changed_space_by_client: Said(
        "already a study named 's'",
        "\n.*'huge' is added\n.*'large' is removed\n.*'temperature' is removed",
        r'if_changed="update".*if_changed="keep".*client\.open',
    ),
    bad_default: Said("default.*'model' was given 'smal'", "did you mean 'small'", "small.*large"),
    bad_default_of_a_function: Said("default.*'temperatur'", "no such parameter", "'temperature'"),
    url_of_another_service: Said("200.*a proxy", "not an answer of imabo", "check.*address"),
    url_without_a_scheme: Said("localhost:8766", "http or https", "http://127.0.0.1:8766"),
    url_of_another_database: Said("mysql://", "no store for MySQL.*sqlite:///", "one of these"),
    missing_extra: Said("httpx", "not installed", r"pip install \"imabo\[client\]\""),
    stopped_service: Said("did not get through|no answer", "refused|connect", "check.*service"),
    wrong_type_of_reward: Said("reward is 'good'", "finite number from 0.0 to 1.0", "range"),
    wrong_type_of_reward_by_client: Said("reward is None", "finite number", "range"),
}


@pytest.mark.parametrize("mistake", FIRST_ERRORS, ids=lambda mistake: mistake.__name__)
def test_a_first_error_says_what_why_and_what_to_do(mistake: Callable[[], None]) -> None:
    with pytest.raises(ImaboError) as caught:
        mistake()
    for part, words in FIRST_ERRORS[mistake]._asdict().items():
        said = getattr(caught.value, part)
        assert said.strip(), part
        assert re.search(words, said, re.DOTALL), (part, said)


def test_a_port_that_is_in_use_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        store = f"sqlite:///{tmp_path}/imabo.db"
        assert cli.main(["serve", f"--port={port}", f"--store={store}"]) == 1
    said = capsys.readouterr().err
    assert str(port) in said
    assert "in use" in said
    assert "--port" in said
    assert "Traceback" not in said
