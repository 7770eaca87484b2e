"""What a client adds to the contract: studies by name, keys, errors, and what travels."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from imabo import Float, Space, oracles, policies
from imabo.errors import (
    Forbidden,
    InvalidReward,
    InvalidSetting,
    KeyConflict,
    RewardConflict,
    StoreClosed,
    StudyExists,
    Unauthorized,
    Unavailable,
    UnknownPull,
    UnknownStudy,
)
from imabo.testing.study.base import letters, mixed_space
from tests.client.conftest import MakeClient
from tests.client.tcp import dripping, listening
from tests.server.running import RunningServer


@pytest.fixture
def client(make_client: MakeClient, server: RunningServer) -> Iterator[Any]:
    made = make_client(server.url)
    yield made
    for name in made.studies():
        made.delete(name)


# --- studies ------------------------------------------------------------------------------------


def test_a_study_is_created_found_and_deleted(client: Any) -> None:
    made = client.create(
        "s",
        mixed_space(),
        policy=policies.UCBAIR(beta=0.4),
        oracle=oracles.Mixed(oracles.TPE(), 0.25),
        seed=2**100 + 1,
        reward_range=(-1.0, 3.0),
        window_s=60.0,
    )
    for study in (made, client.open("s"), client.study("s")):
        assert study.name == "s"
        assert study.space == mixed_space()
        assert study.policy == policies.UCBAIR(beta=0.4)
        assert study.oracle == oracles.Mixed(oracles.TPE(), 0.25)
        assert (study.seed, study.reward_range) == (2**100 + 1, (-1.0, 3.0))
        assert (study.window_s, study.space_version) == (60.0, 1)
        assert (study.n_arms, study.n_expired, len(study)) == (0, 0, 0)
        assert abs(datetime.now(UTC) - study.created_at) < timedelta(minutes=5)
        assert "'s'" in repr(study)
    assert client.studies() == ["s"]
    client.delete("s")
    assert client.studies() == []
    for call in (lambda: client.open("s"), lambda: client.delete("s"), made.ask, made.arms):
        with pytest.raises(UnknownStudy):
            call()


def test_the_same_study_again_is_harmless_and_another_is_refused(client: Any) -> None:
    first = client.create("s", letters("a", "b"), seed=3)
    pull = first.ask()
    for again in ({"seed": 3}, {}):
        assert client.create("s", letters("a", "b"), **again).pull(pull.id) == pull
    for other in ({"seed": 4}, {"window_s": 1.0}, {"policy": policies.QRM2()}):
        with pytest.raises(StudyExists):
            client.create("s", letters("a", "b"), **other)


@pytest.mark.parametrize(
    "name",
    ["a/b", "<script>", "..", ".", "%2F", "é ü", "a?b#c", "pulls", "a/pulls", "x" * 200],
    ids=lambda name: name[:10],
)
def test_any_name_can_be_asked_told_and_read(client: Any, name: str) -> None:
    study = client.create(name, letters("a"), seed=1)
    pull = study.ask()
    study.tell(pull.id, 1.0)
    study.pause(pull.arm)
    assert client.studies() == [name]
    assert client.open(name).n_rewards == 1
    assert [arm.state for arm in study.arms()] == ["paused"]


@pytest.mark.parametrize(
    "wrong",
    [{"name": ""}, {"name": None}, {"name": "x" * 201}, {"space": None}, {"seed": -1},
     {"policy": "IMOSS"}, {"reward_range": (1.0, 0.0)}, {"window_s": 0}],
    ids=lambda wrong: str(wrong)[:40],
)  # fmt: skip
def test_wrong_settings_are_refused(client: Any, wrong: dict[str, Any]) -> None:
    settings: dict[str, Any] = {"name": "s", "space": letters("a")} | wrong
    with pytest.raises(InvalidSetting):
        client.create(**settings)
    assert client.studies() == []


@pytest.mark.parametrize(
    "wrong",
    [{"url": "127.0.0.1:8000"}, {"url": "ftp://x"}, {"url": "http://"}, {"url": "http://u:p@x"},
     {"url": None}, {"url": "http://x:port"}, {"url": "http://x/?a=b"}, {"url": "http://x\n"},
     {"key": ""}, {"key": "é"}, {"key": "a\nb"}, {"key": 7}, {"timeout_s": 0},
     {"timeout_s": "5"}, {"retries": -1}, {"retries": 1.5}, {"outbox_size": 0},
     {"flush_s": -1}, {"timeout_s": 1e9}],
    ids=lambda wrong: str(wrong)[:40],
)  # fmt: skip
def test_a_client_with_wrong_settings_is_refused(
    make_client: MakeClient, wrong: dict[str, Any]
) -> None:
    with pytest.raises(InvalidSetting) as caught:
        make_client(**{"url": "http://127.0.0.1:1"} | wrong)
    assert "a\nb" not in str(caught.value)


def test_a_closed_client_refuses_everything(make_client: MakeClient, server: RunningServer) -> None:
    client = make_client(server.url)
    study = client.study("s")
    client.close()
    client.close()
    calls = [client.studies, lambda: client.open("s"), study.ask, lambda: study.tell("abc-1", 1.0)]
    for call in calls:
        with pytest.raises(StoreClosed):
            call()


# --- keys ---------------------------------------------------------------------------------------


def test_what_a_key_does_not_allow_is_refused(make_client: MakeClient) -> None:
    keys: dict[str, Any] = {
        "admin": ("admin", None), "reader": ("reader", None), "mine": ("writer", ("mine",)),
    }  # fmt: skip
    with RunningServer(keys=keys) as guarded:
        admin, reader, mine = (make_client(guarded.url, key=guarded.keys[name]) for name in keys)
        others, own = (admin.create(name, letters("a"), seed=1) for name in ("others", "mine"))
        pull = others.ask()
        with pytest.raises(Unauthorized):
            make_client(guarded.url).studies()
        with pytest.raises(Forbidden):
            reader.open("mine").ask()
        with pytest.raises(Forbidden):
            mine.open("mine").pause(1)
        with pytest.raises(UnknownStudy):
            mine.open("others")
        assert (reader.studies(), mine.studies()) == (["mine", "others"], ["mine"])
        mine.study("mine").tell(mine.study("mine").ask().id, 1.0)
        with pytest.raises(UnknownPull):
            mine.study("mine").tell(pull.id, 1.0)
        assert (others.n_rewards, own.n_rewards) == (0, 1)


# --- what travels -------------------------------------------------------------------------------


def test_a_key_makes_an_ask_repeatable_and_a_context_is_kept(client: Any) -> None:
    study = client.create("s", Space(x=Float(0, 1)), seed=1)
    context = {"user": "ü", "n": [1, 2.5, None, True]}
    pull = study.ask(key="request-1", context=context)
    assert pull.context == context
    assert study.ask(key="request-1", context=context) == pull
    assert study.pull(pull.id).context == context
    with pytest.raises(KeyConflict):
        study.ask(count=2, key="request-1")
    several = study.ask(count=3, key="request-2")
    assert study.ask(count=3, key="request-2") == several
    assert study.n_pulls == 4


@pytest.mark.parametrize(
    "wrong",
    [{"key": ""}, {"key": "k" * 201}, {"key": 7}, {"context": {1, 2}}, {"context": "x" * 20_000},
     {"context": float("inf")}, {"deadline_s": "soon"}, {"count": 1001, "key": "k"}],
    ids=lambda wrong: str(wrong)[:30],
)  # fmt: skip
def test_a_wrong_ask_is_refused(client: Any, wrong: dict[str, Any]) -> None:
    study = client.create("s", letters("a"), seed=1)
    with pytest.raises(InvalidSetting):
        study.ask(**wrong)
    assert study.n_pulls == 0


def test_many_rewards_have_a_result_each(client: Any) -> None:
    study, other = (client.create(name, letters("a"), seed=1) for name in ("s", "t"))
    pulls, foreign = study.ask(count=1200), other.ask()
    rewards: list[Any] = [(pull.id, 0.5) for pull in pulls]
    rewards[3:6] = [(pulls[3].id, 2.0), (foreign.id, 0.5), ("x", 0.5)]
    rewards += [(pulls[0].id, 0.5), (pulls[1].id, 0.75)]
    results = study.tell_many(rewards)
    assert [type(result) for result in results[3:6]] == [InvalidReward, UnknownPull, UnknownPull]
    assert isinstance(results[-1], RewardConflict)
    assert results[:3] + results[6:-1] == [None] * 1198
    assert (study.n_rewards, other.n_rewards) == (1197, 0)
    assert study.tell_many([]) == []


def test_a_study_that_was_only_named_can_be_told(client: Any) -> None:
    pulls = client.create("s", letters("a"), seed=1, reward_range=(0.0, 2.0)).ask(count=3)
    study = client.study("s")
    study.tell(pulls[0].id, 2.0)
    assert study.tell_many([(pulls[1].id, 1.5), (pulls[2].id, 7.0)])[0] is None
    for wrong in (7.0, float("nan")):
        with pytest.raises(InvalidReward):
            study.tell(pulls[2].id, wrong)
    assert study.n_rewards == 2


def test_history_is_read_page_by_page(client: Any) -> None:
    study = client.create("s", letters("a"), seed=1)
    asked = [pull.id for pull in study.ask(count=1205)]
    assert [pull.id for pull in study.pulls()] == asked[:1000]
    assert [pull.id for pull in study.pulls(after=3, limit=1100)] == asked[3:1103]
    assert study.pulls(after=1205) == []
    for wrong in ({"after": -1}, {"limit": 0}, {"limit": 10_001}, {"after": "1"}):
        with pytest.raises(InvalidSetting):
            study.pulls(**wrong)


def test_finished_pulls_can_be_pruned(client: Any) -> None:
    study = client.create("s", letters("a"), seed=1)
    told, pending = study.ask(count=2)
    study.tell(told.id, 1.0)
    assert study.prune(datetime.now(UTC) - timedelta(days=1)) == 0
    assert study.prune(datetime.now(UTC) + timedelta(days=1)) == 1
    assert [pull.id for pull in study] == [pending.id]
    assert study.n_rewards == 1
    for wrong in (datetime(2026, 1, 1), "now", 0):
        with pytest.raises(InvalidSetting):
            study.prune(wrong)


def test_an_arm_may_have_numpy_values(client: Any) -> None:
    study = client.create("s", Space(x=Float(0, 1)), seed=1)
    assert study.add_arm({"x": np.float32(0.5)}).config == {"x": 0.5}


def test_threads_share_a_client(server: RunningServer, make_client: MakeClient) -> None:
    client = make_client(server.url)
    study = client.create("threads", letters("a", "b"), seed=1)
    errors: list[BaseException] = []

    def serve() -> None:
        try:
            for _ in range(20):
                pull = study.ask(default={"letter": "a"}, deadline_s=60.0)
                study.tell(pull.id, 1.0)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=serve) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert client.flush(60.0)
    assert (study.n_pulls, study.n_rewards) == (160, 160)
    client.delete("threads")


@pytest.mark.parametrize("url", ["http://nowhere.invalid", f"http://{'a' * 70}"])
def test_an_address_that_leads_nowhere_is_unavailable(make_client: MakeClient, url: str) -> None:
    client = make_client(url, retries=1, flush_s=0.0)
    with pytest.raises(Unavailable, match="2 times"):
        client.studies()
    client.study("s").tell("abc-1", 1.0)
    assert client.n_waiting == 1


@dataclass(frozen=True)
class MyOracle(oracles.Oracle):
    """An oracle that no service has."""

    def propose(self, arms: Any, scores: Any, rng: Any) -> oracles.Proposal:
        return oracles.Proposal(arms.space.sample(rng))


def test_an_oracle_of_one_s_own_stays_at_home(client: Any) -> None:
    with pytest.raises(InvalidSetting, match="MyOracle"):
        client.create("s", letters("a"), oracle=MyOracle())


def test_a_deadline_holds_without_a_default_too(make_client: MakeClient) -> None:
    with listening(dripping) as url:
        study = make_client(url, timeout_s=30.0).study("s")
        with pytest.raises(Unavailable, match=r"within 0\.2 s"):
            study.ask(deadline_s=0.2)


# --- without httpx ------------------------------------------------------------------------------


def test_without_httpx_the_error_names_the_extra() -> None:
    code = (
        "import sys; sys.modules['httpx'] = None\n"
        "from imabo.client import Client\n"
        "from imabo.errors import MissingExtra\n"
        "try:\n    Client('http://127.0.0.1:1')\n"
        "except MissingExtra as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "imabo[client]" in done.stdout
