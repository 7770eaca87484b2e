"""Keys in the clients: in an outage, in the outbox, and where a default was served."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path

import pytest

from imabo import Reward, Study
from imabo.client.addresses import address_of
from imabo.client.outbox_file import DurableOutbox
from imabo.client.reports import Reports
from imabo.errors import RewardConflict, UnknownKey
from imabo.stores import MemoryStore
from imabo.testing.study.base import letters
from tests.client.conftest import MakeClient
from tests.server.running import RunningServer

URL = "http://127.0.0.1:1"


@pytest.mark.parametrize("is_durable", [False, True])
def test_rewards_by_key_wait_while_the_service_is_away(
    make_client: MakeClient, tmp_path: Path, is_durable: bool
) -> None:
    store = MemoryStore()
    settings = {"outbox": tmp_path / "rewards.outbox"} if is_durable else {}
    with RunningServer(store) as first:
        client = make_client(first.url, retries=0, timeout_s=30.0, **settings)
        study = client.create("s", letters("a"), seed=1)
        study.ask(key="a/b!")
        study.ask(key="job", count=2)
        plain = study.ask()
    study.tell(key="a/b!", reward=0.5)
    study.tell(key="a/b!", reward=0.5)
    study.tell(plain.id, 0.25)
    more = [Reward(0.75, key="job", part=1), Reward(1.0, key="job", part=0)]
    assert study.tell_many(more) == [None, None]
    study.tell(key="nobody asked", reward=0.5)
    assert client.n_waiting == 5
    with pytest.raises(RewardConflict, match="key 'a/b!' of study 's'"):
        study.tell(key="a/b!", reward=0.75)
    with RunningServer(store, port=first.port):
        assert client.flush(60.0)
        assert [pull.reward for pull in study] == [0.5, 1.0, 0.75, 0.25]
        assert (client.n_refused, study.n_pulls) == (1, 4)


def test_the_reward_of_a_default_is_dropped_by_its_key(
    make_client: MakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    store = MemoryStore()
    with RunningServer(store) as server:
        client = make_client(server.url)
        study = client.create("s", letters("a", "b"), seed=1)
        away = make_client(URL, retries=0).study("s")
        pull = away.ask(key="r-1", default={"letter": "b"}, deadline_s=0.0)
        assert (pull.reason, pull.key, pull.part) == ("default", "r-1", 0)
        with caplog.at_level(logging.WARNING, "imabo"):
            away.tell(key="r-1", reward=1.0)
        assert "key 'r-1' of study 's'" in caplog.text
        assert "answered with the default" in caplog.text
        assert away.tell_many([Reward(1.0, key="r-1")]) == [None]
        # Another process knows nothing of the default; the service says what may have happened.
        with pytest.raises(UnknownKey, match="a client that served its default made none"):
            study.tell(key="r-1", reward=1.0)


def test_an_answer_that_came_too_late_credits_no_arm(make_client: MakeClient) -> None:
    store = MemoryStore()
    with RunningServer(store) as server:
        client = make_client(server.url)
        study = client.create("s", letters("a", "b"), seed=1)
        pull = study.ask(key="r-1", default={"letter": "b"}, deadline_s=0.0)
        # As if the ask had reached the service after all.
        Study.open("s", store=store).ask(key="r-1")
        study.tell(key="r-1", reward=1.0)
        assert (pull.reason, study.n_rewards) == ("default", 0)
        # Asked again, the key is the study's.
        again = study.ask(key="r-1", default={"letter": "b"}, deadline_s=60.0)
        assert again.reason != "default"
        study.tell(key="r-1", reward=1.0)
        assert study.n_rewards == 1


def test_a_file_holds_keys_from_its_second_version_on(tmp_path: Path) -> None:
    path = tmp_path / "rewards.outbox"

    def version() -> int:
        with sqlite3.connect(path) as db:
            return int(db.execute("PRAGMA user_version").fetchone()[0])

    outbox = DurableOutbox(path, URL, 100, Reports(URL))
    outbox.put([("abc-1", 0.5)])
    assert version() == 1  # as an older imabo wrote it, and may read it
    keys = [address_of("a-1", "k", None), address_of("a", "1-1", 2), address_of("b/ü", "k", 0)]
    outbox.put([(key, 0.25) for key in keys])
    outbox.close()
    assert version() == 2
    again = DurableOutbox(path, URL, 100, Reports(URL))
    assert list(again.take(10, ())) == ["abc-1", *keys]
    assert list(again.take(10, ["a!", "abc-"])) == [keys[0], keys[2]]
    assert again.settle(keys[:2]) == 2
