"""A service that comes and goes: nothing told is lost, nothing counts twice."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from imabo import Float, Space, Study, oracles
from imabo.errors import InvalidReward, RewardConflict, Unavailable
from imabo.stores import MemoryStore
from imabo.testing.study.base import letters
from tests.client.conftest import MakeClient
from tests.client.processes import KilledServer
from tests.client.tcp import FAULTS, Fault, Proxy, at_random, listening
from tests.loops import first
from tests.server.running import RunningServer

DEFAULT = {"x": 0.5}


@pytest.fixture
def killed(tmp_path: Path) -> Iterator[KilledServer]:
    server = KilledServer(f"sqlite:///{tmp_path / 'imabo.db'}")
    yield server
    server.kill()


def reward_of(pull: Any) -> float:
    return float(pull.config["x"])


def check_counted_once(study: Any, told: dict[str, float]) -> None:
    """Every reward that was told is there, with its value, and no other."""
    recorded = {pull.id: pull.reward for pull in study if pull.reward is not None}
    assert recorded == told
    assert study.n_rewards == len(told) == sum(arm.n_rewards for arm in study.arms())
    assert study.n_pulls == len(list(study)) == sum(arm.n_pulls for arm in study.arms())


def wait_for_more(told: dict[str, float], count: int) -> None:
    """Until so many more rewards were told."""
    wanted, ends = len(told) + count, time.monotonic() + 120.0
    while len(told) < wanted:
        assert time.monotonic() < ends
        time.sleep(0.01)


@pytest.mark.parametrize("n_kills", first(1, [1, 3]))
def test_a_service_that_is_killed_loses_no_reward(
    make_client: MakeClient, killed: KilledServer, tmp_path: Path, n_kills: int
) -> None:
    client = make_client(killed.url, timeout_s=10.0)
    study = client.create("s", Space(x=Float(0, 1)), oracle=oracles.Random(), seed=1)
    told: dict[str, float] = {}
    stop = threading.Event()

    def serve() -> None:
        while not stop.is_set():
            pull = study.ask(default=DEFAULT, deadline_s=1.0)
            study.tell(pull.id, reward_of(pull))
            if pull.reason != "default":
                told[pull.id] = reward_of(pull)
            time.sleep(0.005)

    threads = [threading.Thread(target=serve) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(n_kills):
            wait_for_more(told, 15)
            killed.kill()
            time.sleep(0.3)
            killed.start()
        wait_for_more(told, 15)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert client.flush(60.0)
    assert (client.n_waiting, client.n_dropped, client.n_refused) == (0, 0, 0)
    check_counted_once(study, told)
    killed.kill()
    with Study.open("s", store=f"sqlite:///{tmp_path}/imabo.db") as stored:
        check_counted_once(stored, told)


def test_rewards_wait_while_the_service_is_away(make_client: MakeClient) -> None:
    store = MemoryStore()
    with RunningServer(store) as first:
        client = make_client(first.url, retries=0, timeout_s=30.0)
        study = client.create("s", letters("a"), seed=1)
        pulls = study.ask(count=1200)
    study.tell(pulls[0].id, 0.5)
    study.tell(pulls[0].id, 0.5)
    study.tell(pulls[1].id, 0.5, wait=False)
    assert study.tell_many([(pull.id, 0.5) for pull in pulls[1:]]) == [None] * 1199
    assert client.n_waiting == 1200
    with pytest.raises(RewardConflict):
        study.tell(pulls[0].id, 0.75)
    with pytest.raises(InvalidReward):
        study.tell(pulls[0].id, 2.0)
    assert not client.flush(0.3)
    with pytest.raises(Unavailable):
        study.arms()
    with RunningServer(store, port=first.port):
        assert client.flush(60.0)
        assert client.n_waiting == client.n_dropped == client.n_refused == 0
        check_counted_once(study, {pull.id: 0.5 for pull in pulls})
        study.tell(pulls[0].id, 0.5)
        assert study.n_rewards == 1200


def test_rewards_that_wait_are_sent_without_being_asked_to(make_client: MakeClient) -> None:
    store = MemoryStore()
    with RunningServer(store) as first:
        client = make_client(first.url, retries=0)
        study = client.create("s", letters("a"), seed=1)
        pulls = study.ask(count=3)
    for pull in pulls:
        study.tell(pull.id, 1.0)
    with RunningServer(store, port=first.port):
        ends = time.monotonic() + 60.0
        while client.n_waiting and time.monotonic() < ends:
            time.sleep(0.05)
        assert study.n_rewards == 3


def test_what_the_service_refuses_later_is_counted(make_client: MakeClient) -> None:
    store = MemoryStore()
    with RunningServer(store) as first:
        client = make_client(first.url, retries=0)
        study = client.create("s", letters("a"), seed=1)
        other = client.study("s")  # without the study's range, only the service can judge
        pulls = study.ask(count=2)
        study.tell(pulls[0].id, 0.5)
    other.tell(pulls[0].id, 0.75)
    other.tell(pulls[1].id, 7.0)
    with RunningServer(store, port=first.port):
        assert client.flush(60.0)
        assert (client.n_waiting, client.n_refused) == (0, 2)
        check_counted_once(study, {pulls[0].id: 0.5})


def test_the_outbox_is_bounded(make_client: MakeClient) -> None:
    with RunningServer() as first:
        client = make_client(first.url, retries=0, outbox_size=10, flush_s=0.1)
        study = client.create("s", letters("a"), seed=1)
        pulls = study.ask(count=50)
    for pull in pulls:
        study.tell(pull.id, 1.0, wait=False)
    assert client.n_waiting + client.n_dropped == 50
    assert client.n_waiting <= 20  # ten, and as many as are under way
    dropped = client.n_dropped
    assert dropped >= 30
    waiting = client.n_waiting
    client.close()
    assert (client.n_waiting, client.n_dropped) == (0, dropped + waiting)


def test_closing_sends_what_waits(make_client: MakeClient) -> None:
    with RunningServer() as server:
        client = make_client(server.url)
        study = client.create("s", letters("a"), seed=1)
        for pull in study.ask(count=20):
            study.tell(pull.id, 1.0, wait=False)
        client.close()
        assert (client.n_waiting, client.n_dropped) == (0, 0)
        assert make_client(server.url).open("s").n_rewards == 20


def test_closing_gives_up_what_cannot_be_sent(make_client: MakeClient) -> None:
    for _ in range(20):
        client = make_client("http://127.0.0.1:1", flush_s=0.0)
        client.study("s").tell("abc-1", 1.0, wait=False)
        time.sleep(0.02)  # its first attempt has failed, and it rests
        client.close()
        assert (client.n_waiting, client.n_dropped) == (0, 1)


# --- a proxy that loses, cuts, delays and repeats -----------------------------------------------


# The two clients share what is not I/O: each has every other fault, and all in make test-long.
EACH_FAULT = [
    pytest.param(side, fault, marks=pytest.mark.long if (i + j) % 2 else ())
    for i, side in enumerate(("blocking", "asyncio"))
    for j, fault in enumerate(FAULTS[1:])
]


@pytest.mark.parametrize(("make_client", "fault"), EACH_FAULT, indirect=["make_client"])
def test_one_fault_costs_no_pull_and_no_reward(make_client: MakeClient, fault: Fault) -> None:
    with RunningServer() as server:
        direct = make_client(server.url).create("s", Space(x=Float(0, 1)), seed=1)
        # Every other request, so that a retry of it gets through.
        proxy = Proxy(server.url, lambda number: fault if number % 2 else "none")
        with listening(proxy) as url:
            client = make_client(url, timeout_s=20.0)
            study = client.study("s")
            asked = [study.ask() for _ in range(10)]
            assert len({pull.id for pull in asked}) == direct.n_pulls == 10
            told = {}
            for pull in asked:
                study.tell(pull.id, reward_of(pull))
                told[pull.id] = reward_of(pull)
                assert direct.pull(pull.id).reward == told[pull.id]
            assert [pull.id for pull in study.ask(count=5, key="k")] == [
                pull.id for pull in study.ask(count=5, key="k")
            ]
            assert client.n_waiting == 0
            assert [pull.config for pull in study] == [pull.config for pull in direct]
            assert study.best() == direct.best()
        check_counted_once(direct, told)
        assert direct.n_pulls == 15


def test_under_random_faults_everything_counts_once(make_client: MakeClient) -> None:
    with RunningServer() as server:
        direct = make_client(server.url).create("s", Space(x=Float(0, 1)), seed=1)
        proxy = Proxy(server.url, at_random(seed=7, share=0.3))
        with listening(proxy) as url:
            client = make_client(url, timeout_s=20.0, retries=8)
            study = client.study("s")
            told: dict[str, float] = {}
            n_asked = 0

            def serve() -> None:
                nonlocal n_asked
                for _ in range(25):
                    pull = study.ask()
                    n_asked += 1
                    study.tell(pull.id, reward_of(pull))
                    told[pull.id] = reward_of(pull)

            threads = [threading.Thread(target=serve) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert client.flush(60.0)
            assert proxy.n_requests > 220
        assert n_asked == len(told) == direct.n_pulls == 100
        assert client.n_dropped == client.n_refused == 0
        check_counted_once(direct, told)
