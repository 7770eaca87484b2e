"""Rewards at the ends of what is accepted, and what databases hold from before the limit."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from imabo import Choice, Float, Space, Study, insight, oracles, policies
from imabo.drift import find_drift, forget, remember
from imabo.errors import InvalidReward, InvalidSetting, ReplayMismatch
from imabo.magnitude import LARGEST, NARROWEST, usable_range, usable_squares, usable_sum
from imabo.settings import describe
from imabo.stores import MemoryStore, SQLiteStore, Store
from imabo.stores.base import StudyRecord
from imabo.testing.extremes import EXTREMES, REWARDS

SPACE = Space(model=Choice("a", "b", "c"), x=Float(0.0, 1.0))
QUICK: dict[str, Any] = {"oracle": oracles.Mutate(startup=3)}


# --- the limit --------------------------------------------------------------------------------


@pytest.mark.parametrize("reward", [1.000001e60, -1e61, 1e155, 1.7e308, 10**61])
def test_a_reward_beyond_the_limit_is_refused_with_the_limit(reward: float) -> None:
    study = Study.create("s", SPACE, seed=1, reward_range=None, **QUICK)
    pull = study.ask()
    with pytest.raises(InvalidReward, match=r"at most 1e\+60 from zero.*larger unit"):
        study.tell(pull.id, reward)
    (refused,) = study.tell_many([(pull.id, reward)])
    assert isinstance(refused, InvalidReward)
    assert study.n_rewards == 0
    study.tell(pull.id, LARGEST if reward > 0 else -LARGEST)
    assert study.best().mean == (LARGEST if reward > 0 else -LARGEST)
    study.ask(count=20)


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ((0.0, 1e308), r"at most 1e\+60 from zero.*larger unit"),
        ((-1e61, 0.0), r"at most 1e\+60 from zero.*larger unit"),
        ((0.0, 5e-324), r"at least 1e-60 apart.*smaller unit"),
        ((0.0, 9.9e-61), r"at least 1e-60 apart.*smaller unit"),
        ((-1e308, 1e308), "at most"),
    ],
)
def test_a_range_that_cannot_be_worked_with_is_refused_with_the_limit(
    ends: tuple[float, float], words: str
) -> None:
    with pytest.raises(InvalidSetting, match=words):
        Study.create("s", SPACE, reward_range=ends)


@pytest.mark.parametrize("ends", [(-LARGEST, LARGEST), (0.0, NARROWEST), (-3.5, 1e20)])
def test_a_range_up_to_the_limit_is_taken(ends: tuple[float, float]) -> None:
    study = Study.create("s", SPACE, seed=1, reward_range=ends, **QUICK)
    for number in range(60):
        study.tell(study.ask().id, ends[number % 2])
    low, high = study.best().interval
    assert ends[0] <= low <= high <= ends[1]


def test_a_log_with_a_reward_beyond_the_limit_is_not_replayed() -> None:
    study = Study.create("s", SPACE, seed=1, reward_range=None, **QUICK)
    pull = study.ask()
    store = study.store
    store.reward("s", 1, 1e155, at=2e9)  # as a version without the limit did
    lines: list[str] = []
    study.export(Lines(lines))  # type: ignore[arg-type]
    assert pull.id.endswith("-1")
    with pytest.raises(ReplayMismatch, match=r"line 3 .*1e\+60"):
        Study.replay("".join(lines).splitlines())


class Lines:
    """A text file to write to."""

    def __init__(self, found: list[str]) -> None:
        self.write = found.append


@pytest.mark.parametrize("values", [0.0, -2.5, 1e60, 5e-324])
def test_what_is_within_the_limit_stays_as_it_is(values: float) -> None:
    column = np.array([values, -values])
    ones = np.ones(2)
    assert usable_sum(values, 1.0) == values
    assert usable_sum(column, ones).tobytes() == column.tobytes() or values == 0.0
    assert usable_squares(values * values, 1.0) == values * values
    if values:
        ends = (min(values, 0.0), max(values, 0.0))
        assert usable_range(ends) == (ends if ends[1] - ends[0] >= NARROWEST else (0.0, NARROWEST))


# --- a study with such rewards ----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("rewards", REWARDS)
@pytest.mark.parametrize("oracle", [oracles.GP(startup=3), oracles.Mutate(startup=3)])
def test_a_study_goes_on_whatever_the_size_of_its_rewards(
    rewards: str, oracle: oracles.Oracle
) -> None:
    study = Study.create("s", SPACE, seed=1, reward_range=None, oracle=oracle)
    told = iter(range(10**6))
    with np.errstate(over="raise", invalid="raise"):
        for _ in range(8):
            for pull in study.ask(count=6):
                study.tell(pull.id, REWARDS[rewards](next(told)))
            study.tell(study.ask().id, REWARDS[rewards](next(told)))
        check_reads(study)
        again = Study.open("s", store=study.store)
        assert len(again.ask(count=5)) == 5
        again.tell(again.ask().id, REWARDS[rewards](next(told)))


def check_reads(study: Study) -> None:
    """Whatever is shown of a study is made of numbers that JSON has."""
    best = study.best()
    assert math.isfinite(best.mean)
    assert all(arm.mean is None or math.isfinite(arm.mean) for arm in study.arms())
    assert all(str(event) for event in study.events())
    json.dumps([dict(event.data) for event in study.events()], allow_nan=False)
    facts = insight.read(study)
    for name in insight.FIGURES:
        json.dumps(insight.figure(name, facts), allow_nan=False)
    assert insight.arm_table(facts).rows
    assert "<html" in insight.report(facts)


# --- from before ------------------------------------------------------------------------------

OLD: dict[str, tuple[tuple[float, float] | None, Callable[[int], float]]] = {
    "one of 1e155": (None, lambda i: 1e155 if i == 9 else 0.5 * (i % 3)),
    "many of 1e308": (None, lambda i: (-1.0) ** (i // 7) * 1e308),
    "1e120, whose squares are numbers": (None, lambda i: 1e120 * (i % 3)),
    "a range to 1e308": ((0.0, 1e308), lambda i: 1e308 * (i % 2)),
    "a range that starts at 1e150": ((1e150, 1e308), lambda i: 1e200),
    "a range without a width": ((0.0, 5e-324), lambda i: 5e-324 * (i % 2)),
}


@pytest.mark.parametrize("old", OLD)
@pytest.mark.parametrize(
    "policy", [policies.Informed(), policies.IMOSS(index="kl"), policies.QRM2(), policies.UCBAIR()]
)
def test_a_study_that_holds_what_is_refused_today_opens_and_serves(
    old: str, policy: policies.Policy, tmp_path: Path
) -> None:
    ends, reward = OLD[old]
    is_default = isinstance(policy, policies.Informed)
    oracle: Any = oracles.GP(startup=3) if is_default else oracles.TPE(startup=3)
    path = str(tmp_path / "imabo.db")
    store: Store = SQLiteStore(path) if is_default else MemoryStore()
    parts = describe(policy), describe(oracle)
    store.create(StudyRecord("s", "token", 1, SPACE.to_dict(), *parts, ends, None, 1e9))
    study = Study.open("s", store=store)
    with np.errstate(over="raise", invalid="raise"):
        for number in range(45):
            study.ask()
            store.reward("s", number + 1, reward(number), at=2e9)
        study.refresh()
        study.ask(count=20)
        check_reads(study)
        if is_default:
            store.close()
            store = SQLiteStore(path)
        again = Study.open("s", store=store)
        pull = again.ask()
        if ends is None:
            again.tell(pull.id, 0.5)
        again.ask(count=20)
        check_reads(again)
    store.close()


# --- changes of the world ---------------------------------------------------------------------


@pytest.mark.parametrize("extreme", EXTREMES)
def test_evidence_is_a_number_whatever_the_size_of_the_rewards(extreme: str) -> None:
    arms = EXTREMES[extreme]()
    for row in range(len(arms) - 1):
        for _ in range(9):
            arms.count_pull(row)
            arms.count_reward(row, arms.from_unit(float(arms.means[row])), was_pending=True)
    with np.errstate(over="raise", invalid="raise"):
        arms.put_memory(remember(arms))
        for row in range(0, len(arms) - 1, 2):
            for _ in range(9):
                arms.count_pull(row)
                arms.count_reward(row, arms.from_unit(0.25), was_pending=True)
        found = find_drift(arms)
        memory = remember(arms)
        json.dumps(memory.document(arms.ids.tolist()), allow_nan=False)
        if found is not None:
            json.dumps(found.data(), allow_nan=False)
            left = forget(arms, found, 5.0)
            json.dumps(left.document(arms.ids.tolist()), allow_nan=False)
            arms.put_memory(left)
    assert np.isfinite(arms.kept_sums).all()
