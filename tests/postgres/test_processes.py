"""Several processes on one database: nothing lost, nothing twice, and they hear of each other."""

from __future__ import annotations

import math
import time
from contextlib import closing
from itertools import pairwise

import pytest

from imabo import Int, Space, Study, policies
from imabo.stores.postgres import PostgresStore
from imabo.testing.stores.facts import Writer, check_sums, everything
from tests.postgres.children.fork import ROUNDS
from tests.stores.processes import Child, run, run_together

LONG_S = 30.0  # a wait that is cut short; no test takes that long when all is well


@pytest.fixture
def study_url(postgres_url: str) -> str:
    """A database with a new study on 64 configurations, few enough that proposals meet."""
    space = Space(x=Int(0, 7), y=Int(0, 7))
    Study.create("study", space, store=postgres_url, seed=5).close()
    return postgres_url


def test_processes_on_one_study_decide_as_if_they_took_turns(study_url: str) -> None:
    found = run_together("tests.postgres.children.write", [(study_url, n, 60) for n in (1, 2)])
    told = found[0] | found[1]
    assert len(told) == len(found[0]) + len(found[1])
    with Study.open("study", store=study_url) as study:
        assert {pull.id: pull.reward for pull in study} == told
        owners = [pull.id in found[0] for pull in study]
    # They really ran at the same time: the pulls of the two are mixed.
    assert sum(a != b for a, b in pairwise(owners)) >= 2
    with closing(PostgresStore(study_url)) as store:
        check_sums(store)
        facts = everything(store)
    configs = [tuple(arm.config.values()) for arm in facts.snapshot.arms]
    assert len(configs) == len(set(configs))
    # At pull t there were fewer than max(warmup, scale t^beta) arms when another was admitted.
    admitted: dict[int, int] = {}
    for pull in facts.pulls:
        admitted.setdefault(pull.arm, pull.number)
    policy = policies.Informed()
    for n_before, arm in enumerate(sorted(admitted)):
        bound = max(policy.warmup, policy.scale * math.pow(admitted[arm], policy.beta))
        assert n_before < bound


def test_wait_hears_of_another_process(postgres_url: str) -> None:
    with closing(PostgresStore(postgres_url)) as store:
        Writer(store).serve(1)
        store.wait(0.01)  # it listens from now on
        with Child("tests.postgres.children.serve_once", postgres_url) as child:
            child.ready()
            child.start()
            began = time.monotonic()
            store.wait(LONG_S)
            assert time.monotonic() - began < LONG_S / 2
            assert child.answer() == [2]
        assert store.load("study").seq == 2


def test_both_sides_of_a_fork_go_on_with_connections_of_their_own(study_url: str) -> None:
    found = run("tests.postgres.children.fork", study_url)
    assert found["status"] == 0
    # The log, half read before the fork, goes on in the parent without gap or repetition.
    assert found["sorted"]
    assert found["entries"] >= 2 * ROUNDS
    with closing(PostgresStore(study_url)) as store:
        rewards = [pull.reward for pull in everything(store).pulls]
        assert [rewards.count(reward) for reward in (0.25, 0.5, 0.75, 1.0)] == [ROUNDS] * 4
        check_sums(store)


def test_wait_does_not_hear_of_one_s_own_changes(postgres_store: PostgresStore) -> None:
    postgres_store.wait(0.01)
    writer = Writer(postgres_store)
    writer.serve(1)
    Writer(postgres_store, "another")
    postgres_store.delete("another")
    began = time.monotonic()
    postgres_store.wait(0.3)
    assert time.monotonic() - began >= 0.3
