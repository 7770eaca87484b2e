"""Many threads on one study: nothing is lost, nothing counts twice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest

from imabo import Study
from imabo.stores import Store
from imabo.testing.study.base import QUICK, mixed_space

from .invariants import check_counters
from .traffic import reward_of

THREADS, ROUNDS = 8, 80


@pytest.mark.slow
def test_threads_that_ask_and_tell_lose_nothing(store: Store) -> None:
    study = Study.create("s", mixed_space(), store=store, seed=1, **QUICK)
    start = Barrier(THREADS)

    def work() -> list[str]:
        start.wait()
        ids = []
        for _ in range(ROUNDS):
            pull = study.ask()
            study.tell(pull.id, reward_of(pull.config))
            ids.append(pull.id)
        return ids

    with ThreadPoolExecutor(THREADS) as pool:
        handed_out = [id_ for done in [pool.submit(work) for _ in range(THREADS)]
                      for id_ in done.result()]  # fmt: skip
    pulls = check_counters(study)
    assert len(handed_out) == THREADS * ROUNDS
    assert set(handed_out) == {pull.id for pull in pulls}
    assert all(pull.reward == reward_of(pull.config) for pull in pulls)


def test_threads_that_read_and_change_do_not_disturb_those_that_serve(store: Store) -> None:
    study = Study.create("s", mixed_space(), store=store, seed=1, **QUICK)
    # Rewards for more arms than the two readers can have paused at a time: best() has an answer.
    for pull in study.ask(count=20):
        study.tell(pull.id, 0.5)
    done = Event()

    def read() -> int:
        n = 0
        while not done.is_set():
            pulls = list(study)
            assert [int(pull.id.rpartition("-")[2]) for pull in pulls] == [
                *range(1, len(pulls) + 1)
            ]
            study.best()
            study.resume(study.pause(1 + n % len(study.arms())))
            n += 1
        return n

    def serve() -> None:
        for _ in range(60):
            with study.serve() as pull:
                pull.reward = reward_of(pull.config)

    with ThreadPoolExecutor(6) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        servers = [pool.submit(serve) for _ in range(4)]
        for server in servers:
            server.result()
        done.set()
        assert min(reader.result() for reader in readers) > 0
    assert study.n_rewards == 260
    check_counters(study)


def test_one_reward_told_by_many_threads_counts_once(store: Store) -> None:
    study = Study.create("s", mixed_space(), store=store, seed=1, **QUICK)
    pulls = study.ask(count=20)
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(THREADS):
            pool.map(lambda pull: study.tell(pull.id, 0.5), pulls)
    assert study.n_rewards == 20
    check_counters(study)


def test_two_studies_on_one_store_decide_as_if_they_took_turns(store: Store) -> None:
    Study.create("s", mixed_space(), store=store, seed=1, **QUICK)

    def work() -> None:
        study = Study.open("s", store=store)
        for _ in range(40):
            pull = study.ask()
            study.tell(pull.id, reward_of(pull.config))

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work) for _ in range(4)]:
            done.result()
    together = Study.open("s", store=store)
    assert len(check_counters(together)) == 160
