"""A world that changes: noticed once, kept with the study, and the same after any restart."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from imabo import Choice, Float, Pull, Space, Study, oracles, policies
from imabo.errors import ReplayMismatch, StoreError
from imabo.events import Event
from imabo.stores import MemoryStore, SQLiteStore, Store
from imabo.testing.audit import audit
from imabo.testing.study.base import ManualClock
from tests.loops import first

from .traffic import SPACES, WINDOW_S, Traffic, story

SPACE: Final = Space(model=Choice("a", "b", "c"), x=Float(0.0, 1.0))
PARTS: Final[dict[str, Any]] = {"policy": policies.Informed(), "oracle": oracles.Random()}
FALLS: Final = 400  # requests until model c falls
BEFORE: Final = {"a": 0.5, "b": 0.6, "c": 0.9}
AFTER: Final = BEFORE | {"c": 0.2}


def create(store: Store, seed: int = 0) -> Study:
    clock = ManualClock(1000.0)
    return Study.create("s", SPACE, store=store, seed=seed, clock=clock, **PARTS)


def reopened(study: Study, store: Store) -> Study:
    study.close()
    return Study.open("s", store=store, clock=ManualClock(1000.0))


class World:
    """Coin flips whose chances change; the same for the same requests."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.n = 0

    def reward(self, pull: Pull) -> float:
        self.n += 1
        means = BEFORE if self.n <= FALLS else AFTER
        return float(self.rng.random() < means.get(str(pull.config["model"]), 0.5))

    def play(self, study: Study, n: int) -> None:
        for _ in range(n):
            pull = study.ask()
            study.tell(pull.id, self.reward(pull))


def drifts(study: Study) -> list[Event]:
    return [event for event in study.events() if event.kind == "drift"]


def same_view(one: Study, other: Study) -> None:
    """What decisions rest on, to the last bit."""
    assert one.view.totals == other.view.totals
    assert one.view.growth_start == other.view.growth_start
    for name in ("ids", "n_rewards", "n_pending", "n_now", "sums_now", "means"):
        assert_array_equal(getattr(one.view, name), getattr(other.view, name))
    memories = [study.view.memory for study in (one, other)]
    documents = [
        None if memory is None else memory.document(study.view.ids.tolist())
        for study, memory in zip((one, other), memories, strict=True)
    ]
    assert documents[0] == documents[1]


def played(store: Store, n: int = FALLS + 200, *, every: int | None = None) -> Study:
    """A study through the fall of model c, opened anew now and then."""
    study, world = create(store), World()
    for _ in range(0, n, every or n):
        if every is not None:
            study = reopened(study, store)
        world.play(study, every or n)
    return study


def test_the_fall_is_noticed_once_and_named() -> None:
    study = played(MemoryStore())
    (event,) = drifts(study)
    assert str(event).startswith("rewards with model = 'c' fell from 0.")
    assert study.best().since == event.at
    assert study.best().config["model"] != "c"
    assert FALLS < study.view.noticed_at < FALLS + 60
    assert study.view.growth_start.n_pulls == 0  # other models are as good as before
    assert study.view.level == pytest.approx(0.55, abs=0.25)


def test_a_log_replays_what_came_of_the_change(store: Store) -> None:
    study = played(store)
    log = io.StringIO()
    study.export(log)
    again = Study.replay(log.getvalue().splitlines(), store=MemoryStore())
    assert story(again) == story(study)
    assert again.events() == study.events()
    same_view(again, study)
    # It goes on in the same way, and looks for changes again.
    for one in (study, again):
        World(9).play(one, 200)
    assert story(again)[2][-200:] == [
        replace(pull, served_at=again_pull.served_at, rewarded_at=again_pull.rewarded_at)
        for pull, again_pull in zip(story(study)[2][-200:], story(again)[2][-200:], strict=True)
    ]
    assert [event.data for event in drifts(again)] == [event.data for event in drifts(study)]


@pytest.fixture(scope="module")
def fall() -> list[str]:
    """The log of a study through the fall."""
    log = io.StringIO()
    played(MemoryStore(), FALLS + 100).export(log)
    return log.getvalue().splitlines()


@pytest.mark.parametrize("line", ["before", "since", "n_rewards"])
@pytest.mark.parametrize("value", first(2, ["NaN", '"x"', "null", "[]"]))
def test_an_edited_drift_is_refused(fall: list[str], line: str, value: str) -> None:
    lines = list(fall)
    (place,) = [n for n, text in enumerate(lines) if '"kind": "drift"' in text]
    head, _, rest = lines[place].partition(f'"{line}": ')
    lines[place] = f'{head}"{line}": {value}{rest[rest.index(",") :]}'
    with pytest.raises(ReplayMismatch, match=f"line {place + 1}"):
        Study.replay(lines, store=MemoryStore())


@pytest.mark.parametrize("every", [7, 50])
def test_reopening_makes_no_difference(tmp_path: Path, every: int) -> None:
    straight = played(MemoryStore(), 595 if every == 7 else 600)
    with closing(SQLiteStore(str(tmp_path / "imabo.db"))) as store:
        study = played(store, 595 if every == 7 else 600, every=every)
        assert story(study) == story(straight)
        assert [e.data for e in drifts(study)] == [e.data for e in drifts(straight)] != []
        same_view(study, straight)
        same_view(reopened(study, store), straight)
        assert audit(store, "s") == []


def test_traffic_of_all_kinds_makes_no_difference_either(tmp_path: Path) -> None:
    def drive(store: Store, *, reopens: bool) -> Study:
        clock = ManualClock(1000.0)

        def reopen(old: Study) -> Study:
            old.close()
            return Study.open("s", store=store, clock=clock)

        settings: dict[str, Any] = {"seed": 5, "window_s": WINDOW_S, "clock": clock, **PARTS}
        study = Study.create("s", SPACES[0], store=store, **settings)
        return Traffic(study, clock, 0, reopen if reopens else None).run(900)

    memory = MemoryStore()
    straight = drive(memory, reopens=False)
    assert straight.view.memory is not None
    assert audit(memory, "s") == []
    with closing(SQLiteStore(str(tmp_path / "imabo.db"))) as store:
        study = drive(store, reopens=True)
        assert story(study) == story(straight)
        same_view(study, straight)
    log = io.StringIO()
    straight.export(log)
    again = Study.replay(log.getvalue().splitlines(), store=MemoryStore())
    assert story(again) == story(straight)
    same_view(again, straight)


def test_two_processes_notice_a_change_once(tmp_path: Path) -> None:
    path, world = str(tmp_path / "imabo.db"), World()
    with closing(SQLiteStore(path)) as store, closing(SQLiteStore(path)) as other_store:
        one = create(store)
        two = Study.open("s", store=other_store, clock=ManualClock(1000.0))
        for n in range(FALLS + 200):
            world.play((one, two)[n % 3 == 0], 1)
        one.refresh()
        two.refresh()
        (event,) = drifts(one)
        assert drifts(two) == [event]
        assert event.data["value"] == "c"
        same_view(one, two)
        same_view(one, Study.open("s", store=store))
        assert audit(store, "s") == []


@pytest.mark.parametrize("size", [5, 40])
def test_rewards_that_come_in_batches(store: Store, size: int) -> None:
    study, world = create(store), World()
    for _ in range((FALLS + 200) // size):
        pulls = study.ask(size)
        study.tell_many([(pull.id, world.reward(pull)) for pull in pulls])
    # Where the leader shows it first, it may be noticed before the others of its model.
    *first, event = drifts(study)
    assert len(first) <= 1
    assert (event.data["parameter"], event.data["value"]) == ("model", "c")
    same_view(Study.open("s", store=store), study)
    assert audit(store, "s") == []


def breaking(store: Store, times: int, *, after: bool) -> Callable[..., int]:
    """``Store.change`` that fails so often, before or after it has done its work."""
    change, left = store.change, [times]

    def call(*args: Any, **kwargs: Any) -> int:
        if not left[0]:
            return change(*args, **kwargs)
        left[0] -= 1
        if after:
            change(*args, **kwargs)
        raise StoreError("change broke", "a test wants it", "go on")

    return call


@pytest.mark.parametrize("times", [1, 3])
def test_a_store_that_fails_loses_no_reward_and_no_change(
    store: Store, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    study, world = create(store), World()
    monkeypatch.setattr(store, "change", breaking(store, times, after=False))
    world.play(study, FALLS + 200)
    assert study.n_rewards == FALLS + 200
    (event,) = drifts(study)
    assert event.data["after"] < 0.4
    same_view(Study.open("s", store=store), study)
    assert audit(store, "s") == []


def test_a_change_that_was_written_unseen_is_noticed_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, world = create(store), World()
    monkeypatch.setattr(store, "change", breaking(store, 1, after=True))
    world.play(study, FALLS + 200)
    assert len(drifts(study)) == 1
    same_view(Study.open("s", store=store), study)
    assert audit(store, "s") == []


def test_the_space_may_change_after_the_world_did(store: Store) -> None:
    study = played(store, FALLS + 100)
    (event,) = drifts(study)
    narrow = Space(model=Choice("a", "b"), x=Float(0.0, 1.0))
    study.update_space(narrow)
    assert study.view.growth_start == study.view.restart
    assert study.view.memory is not None
    assert study.view.memory.since is not None
    World(3).play(study, 100)
    same_view(Study.open("s", store=store), study)
    study.update_space(SPACE)
    World(4).play(study, 100)
    same_view(Study.open("s", store=store), study)
    assert drifts(study)[0] == event
    assert audit(store, "s") == []
    log = io.StringIO()
    study.export(log)
    again = Study.replay(log.getvalue().splitlines(), store=MemoryStore())
    assert story(again) == story(study)
    same_view(again, study)


def test_a_space_may_leave_nothing_of_what_is_remembered(store: Store) -> None:
    study = played(store, FALLS + 100)
    study.update_space(Space(model=Choice("d", "e"), x=Float(0.0, 1.0)))
    World(3).play(study, 150)
    assert {pull.config["model"] for pull in list(study)[-150:]} == {"d", "e"}
    same_view(Study.open("s", store=store), study)
    assert audit(store, "s") == []
