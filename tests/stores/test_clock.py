"""A study whose clock jumps a day ahead and back: times, windows, figures and the log are sound."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from imabo import Float, Space, Study, oracles, policies
from imabo.insight import read
from imabo.stores import MemoryStore, SQLiteStore, Store
from imabo.testing.audit import audit

DAY_S = 86_400.0
WINDOW_S = 50.0


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, path: str) -> Iterator[Store]:
    with closing(MemoryStore() if request.param == "memory" else SQLiteStore(path)) as store:
        yield store


def make(store: Store, clock: Clock) -> Study:
    return Study.create(
        "study",
        Space(x=Float(0.0, 1.0)),
        policy=policies.IMOSS(),
        oracle=oracles.Random(),
        store=store,
        seed=1,
        window_s=WINDOW_S,
        clock=clock,
    )


def play(study: Study, clock: Clock, rounds: int) -> None:
    """A request a second; every third is never heard of again."""
    for n in range(rounds):
        clock.now += 1.0
        pull = study.ask()
        assert pull.served_at.timestamp() == clock.now
        if n % 3:
            study.tell(pull.id, n % 2)


@pytest.mark.parametrize("is_reopened", [False, True])
def test_a_clock_that_was_a_day_ahead_is_got_over_at_once(
    store: Store, is_reopened: bool, tmp_path: Path
) -> None:
    clock = Clock()
    study = make(store, clock)
    other = Study.open("study", store=store, clock=clock)
    play(study, clock, 60)
    clock.now += DAY_S
    play(study, clock, 20)
    clock.now -= DAY_S
    if is_reopened:
        study = Study.open("study", store=store, clock=clock)
    play(study, clock, 200)
    # What was lost of the last minutes has expired, whoever looks; the day ahead still waits.
    for one in (study, other):
        one.ask()
        waiting = [pull.served_at.timestamp() for pull in one if pull.state == "pending"]
        assert all(at >= clock.now - 1.1 * WINDOW_S for at in waiting)
        assert sum(at > clock.now for at in waiting) == 7
    assert audit(store, "study") == []
    at = read(study).history.at
    assert (np.diff(at) >= 0).all()
    assert at[-1] == clock.now
    study.export(tmp_path / "log.jsonl")
    with (tmp_path / "log.jsonl").open() as lines:
        again = Study.replay(lines)
    assert [pull.arm for pull in again] == [pull.arm for pull in study]


def test_who_only_hears_of_it_lets_pulls_expire_in_time_too(store: Store) -> None:
    clock = Clock()
    study = make(store, clock)
    other = Study.open("study", store=store, clock=clock)
    clock.now += DAY_S
    other.ask()
    clock.now -= DAY_S
    lost = study.ask()
    other.refresh()
    clock.now += 2 * WINDOW_S
    other.ask()
    assert store.pulls("study")[1].state == "expired", lost


def test_a_clock_that_is_a_little_behind_waits(store: Store) -> None:
    clock = Clock()
    study = make(store, clock)
    play(study, clock, 5)
    clock.now -= 300.0
    assert study.ask().served_at.timestamp() == 1_005.0
