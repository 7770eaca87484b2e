"""What a model expects of the arms: kept with the arm it came with, and never half-written."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, Literal

import pytest

from imabo import Choice, Float, Pull, Space, Study
from imabo.arms import number_of
from imabo.engine import Engine
from imabo.engine.asks import checked_request
from imabo.engine.requests import Asked, Request
from imabo.errors import InvalidSetting, StoreError
from imabo.stores import MemoryStore, SQLiteStore, Store
from imabo.testing.study.base import ManualClock, facts_of, mixed_space

from .believer import Believer, Trusting
from .traffic import SPACES, WINDOW_S, Traffic, reward_of, story

PARTS: Final[dict[str, Any]] = {"policy": Trusting(), "oracle": Believer()}


def drive(store: Store, *, reopens: bool) -> Study:
    """Traffic with changes of the space on a study whose decisions depend on its beliefs."""
    clock = ManualClock(1000.0)

    def reopen(old: Study) -> Study:
        old.close()
        return Study.open("s", store=store, clock=clock, **PARTS)

    study = Study.create(
        "s", SPACES[0], store=store, seed=5, window_s=WINDOW_S, clock=clock, **PARTS
    )
    return Traffic(study, clock, 0, reopen if reopens else None).run(500)


def engine_of(store: Store, oracle: Believer | None = None) -> Engine:
    return Engine(store, store.load("s"), Trusting(), oracle or Believer(), lambda: 2000.0)


def make(store: Store, rounds: int = 0, oracle: Believer | None = None) -> Engine:
    """A new study, played for so many rounds."""
    parts = PARTS | {"oracle": oracle or Believer()}
    Study.create("s", mixed_space(), store=store, seed=3, clock=lambda: 1000.0, **parts)
    engine = engine_of(store, oracle)
    play(engine, rounds)
    return engine


def ask(engine: Engine, count: int = 1) -> list[Pull]:
    (asked,) = engine.asks.serve([checked_request(Request(count))])
    assert isinstance(asked, Asked)
    return asked.pulls


def play(engine: Engine, rounds: int) -> list[tuple[int, int, str]]:
    pulls = []
    for _ in range(rounds):
        (pull,) = ask(engine)
        number = number_of(engine.replica.record.token, pull.id)
        assert number is not None
        engine.rewards.reward_many([(number, reward_of(pull.config))])
        pulls.append((number, pull.arm, pull.reason))
    return pulls


def beliefs_in(engine: Engine) -> tuple[Sequence[float], Sequence[float], object]:
    view = engine.replica.view
    return view.prior_means.tolist(), view.prior_counts.tolist(), view.model_state


def test_stores_and_reopening_make_no_difference_to_decisions(tmp_path: Path) -> None:
    memory = story(drive(MemoryStore(), reopens=False))
    assert memory[0]["space_version"] > 3
    assert story(drive(MemoryStore(), reopens=True)) == memory
    with closing(SQLiteStore(str(tmp_path / "imabo.db"))) as store:
        assert story(drive(store, reopens=True)) == memory


def test_a_log_replays_the_decisions_that_rest_on_beliefs(store: Store) -> None:
    study = drive(store, reopens=True)
    log = io.StringIO()
    study.export(log)
    again = MemoryStore()
    assert story(Study.replay(log.getvalue().splitlines(), store=again, **PARTS)) == story(study)
    assert beliefs_in(engine_of(again)) == beliefs_in(engine_of(store))


def test_a_view_read_again_has_the_same_beliefs(store: Store) -> None:
    live = make(store, 60)
    means, counts, state = beliefs_in(live)
    assert isinstance(state, dict)
    assert state["made"] > 3
    assert min(map(sum, (means, counts))) > 0.0
    assert beliefs_in(engine_of(store)) == (means, counts, state)


def test_an_arm_that_no_model_spoke_of_has_no_prior(store: Store) -> None:
    live = make(store, 60)
    live.changes.add_arm({"model": "small", "temperature": 0.123, "top_k": 1})
    for engine in (live, engine_of(store)):
        view = engine.replica.view
        assert (view.prior_means[-1], view.prior_counts[-1]) == (0.0, 0.0)
    assert beliefs_in(live) == beliefs_in(engine_of(store))


def test_a_batch_keeps_the_beliefs_of_its_last_admission(store: Store) -> None:
    live = make(store)
    before = live.replica.n_arms
    ask(live, 80)
    assert live.replica.n_arms - before > 3
    assert beliefs_in(live) == beliefs_in(engine_of(store))
    single = make(MemoryStore())
    for _ in range(80):
        ask(single, 1)
    assert beliefs_in(single) == beliefs_in(live)


def test_another_process_sees_the_beliefs_when_it_refreshes(store: Store) -> None:
    first = make(store)
    second = engine_of(store)
    play(first, 60)
    assert second.replica.view.model_state is None
    second.replica.refresh()
    assert beliefs_in(second) == beliefs_in(first)
    # Taking turns, each on a view that the other one makes stale.
    for _ in range(20):
        play(first, 2)
        play(second, 2)
    first.replica.refresh()
    alone = make(MemoryStore(), 140)
    assert beliefs_in(first) == beliefs_in(second) == beliefs_in(alone)


def test_a_change_of_the_space_keeps_the_beliefs_about_arms_that_stay(store: Store) -> None:
    live = make(store, 60)
    view = live.replica.view
    known = dict(zip(view.ids.tolist(), zip(*beliefs_in(live)[:2], strict=True), strict=True))
    state = view.model_state
    small = Space(
        model=Choice("small"), temperature=Float(0.0, 1.0), top_k=view.space.parameters["top_k"]
    )
    live.changes.update(small)
    assert 0 < len(live.replica.view) < len(known)
    after = zip(*beliefs_in(live)[:2], strict=True)
    assert list(after) == [known[arm] for arm in live.replica.view.ids.tolist()]
    assert live.replica.view.model_state == state


@pytest.mark.parametrize("fault", ["length", "nan", "negative", "state"])
def test_beliefs_that_make_no_sense_are_refused_and_nothing_is_half_written(
    store: Store, fault: Literal["length", "nan", "negative", "state"]
) -> None:
    oracle = Believer(fault, sound_arms=8)
    live = make(store, oracle=oracle)
    # A sound batch first; the one that fails has sound admissions, too.
    ask(live, 20)
    study = Study.open("s", store=store, policy=Trusting(), oracle=oracle)
    before, facts = beliefs_in(live), facts_of(study)
    assert live.replica.n_arms < 8
    for _ in range(2):
        with pytest.raises(InvalidSetting, match="beliefs"):
            ask(live, 500)
        assert beliefs_in(live) == before
        assert facts_of(study) == facts
        assert len(live.replica.view) == live.replica.n_arms == facts[0]["n_arms"]
    # A corrected oracle goes on as if nothing had been.
    twin = make(MemoryStore())
    ask(twin, 20)
    assert play(engine_of(store), 60) == play(twin, 60)


@pytest.mark.parametrize("after", [False, True])
def test_a_write_that_fails_leaves_view_and_store_in_step(
    store: Store, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    live = make(store, 30)
    before = beliefs_in(live)
    serve = store.serve

    def fail(*args: Any, **kwargs: Any) -> int:
        assert kwargs["beliefs"] is not None
        if after:
            serve(*args, **kwargs)
        raise StoreError("serve broke", "a test wants it", "go on")

    with monkeypatch.context() as patch:
        patch.setattr(store, "serve", fail)
        with pytest.raises(StoreError, match="broke"):
            ask(live, 60)
    assert (beliefs_in(live) == before) is not after
    assert beliefs_in(live) == beliefs_in(engine_of(store))
