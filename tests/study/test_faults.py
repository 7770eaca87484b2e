"""A store that fails in the middle: the study and the store stay consistent and usable."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, Literal

import pytest

from imabo import Study, oracles
from imabo.errors import StoreError
from imabo.stores import MemoryStore, Store
from imabo.testing.study.base import ManualClock, facts_of, letters, mixed_space, play

from .invariants import check_counters
from .traffic import WINDOW_S, story

When = Literal["before", "after"]


class Broken(StoreError):
    """What the store store raises."""


class Faults:
    """Makes the next call of a store's verb fail, before or after it has done its work."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.verbs: set[str] = set()

    def fail(
        self,
        verb: str,
        when: When,
        error: BaseException | None = None,
        then: str | None = None,
    ) -> None:
        """``then`` is a verb that fails next."""
        work = getattr(self.store, verb)

        def call(*args: Any, **kwargs: Any) -> Any:
            self.heal(verb)
            if when == "after":
                work(*args, **kwargs)
            if then is not None:
                self.fail(then, "before")
            raise error or Broken(f"{verb} broke", "a test wants it", "go on")

        self.verbs.add(verb)
        setattr(self.store, verb, call)

    def heal(self, verb: str) -> None:
        if verb in self.verbs:
            self.verbs.remove(verb)
            delattr(self.store, verb)


@pytest.fixture
def faults(store: Store) -> Faults:
    return Faults(store)


def busy_study(name: str, store: Store, clock: ManualClock) -> Study:
    """A study in the middle of its work, with a pending pull that is due to expire."""
    clock.now = 1000.0
    # In memory without a model, whose beliefs the other store writes: most of the time is its.
    oracle = oracles.Random() if isinstance(store, MemoryStore) else None
    how: dict[str, Any] = {"seed": 3, "window_s": WINDOW_S, "clock": clock, "oracle": oracle}
    study = Study.create(name, mixed_space(), store=store, **how)
    play(study, 12, lambda pull: 0.5)
    study.ask()
    clock.now += 2 * WINDOW_S
    return study


CALLS: dict[str, tuple[str, Callable[[Study], object]]] = {
    "ask": ("serve", lambda study: study.ask()),
    "ask many": ("serve", lambda study: study.ask(count=9)),
    "ask, expiring": ("expire", lambda study: study.ask()),
    "expire": ("expire", lambda study: study.expire()),
    "tell": ("reward_many", lambda study: study.tell(list(study)[-1].id, 1.0)),
    "pause": ("change", lambda study: study.pause(1)),
    "retire": ("change", lambda study: study.retire(2)),
    "add_arm": (
        "change",
        lambda study: study.add_arm({"model": "small", "temperature": 0.5, "top_k": 1}),
    ),
    "update_space": ("change", lambda study: study.update_space(letters("a", "b"))),
}


@pytest.mark.parametrize("down_for_longer", [False, True])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("call", CALLS)
def test_a_failed_write_leaves_study_and_store_in_step(
    store: Store, faults: Faults, call: str, when: When, down_for_longer: bool
) -> None:
    clock = ManualClock()
    study = busy_study("s", store, clock)
    verb, action = CALLS[call]
    before = facts_of(study)
    # Down for longer: reading the view again fails, too.
    faults.fail(verb, when, then="load" if down_for_longer else None)
    with pytest.raises(Broken):
        action(study)
    assert not faults.verbs
    if down_for_longer:
        study.tell(before[2][0].id, 0.5)  # a repetition: any call catches up with the store
    if when == "before" and "expiring" not in call:
        expired = before[0] | {"n_pending": 0, "n_expired": 1}
        assert facts_of(study)[0] in (before[0], expired)  # an ask may have expired the late pull
    check_counters(study)
    # The view is that of a study that has only ever seen the store.
    assert facts_of(study) == facts_of(Study.open("s", store=store, clock=clock))
    play(study, 8, lambda pull: 0.5)
    check_counters(study)
    log = io.StringIO()
    study.export(log)
    assert story(Study.replay(log.getvalue().splitlines())) == story(study)


@pytest.mark.parametrize("call", CALLS)
def test_a_write_that_never_happened_can_be_tried_again(
    store: Store, faults: Faults, call: str
) -> None:
    clock, twin_clock = ManualClock(), ManualClock()
    study, twin = busy_study("s", store, clock), busy_study("twin", store, twin_clock)
    verb, action = CALLS[call]
    faults.fail(verb, "before")
    with pytest.raises(Broken):
        action(study)
    for each in (study, twin):
        action(each)
        play(each, 8, lambda pull: 0.5)
    assert story(study) == story(twin)


@pytest.mark.parametrize("call", ["tell", "pause", "retire", "add_arm", "update_space"])
def test_a_write_that_happened_unseen_can_be_tried_again(
    store: Store, faults: Faults, call: str
) -> None:
    clock, twin_clock = ManualClock(), ManualClock()
    study, twin = busy_study("s", store, clock), busy_study("twin", store, twin_clock)
    verb, action = CALLS[call]
    action(twin)
    faults.fail(verb, "after")
    with pytest.raises(Broken):
        action(study)
    action(study)
    for each in (study, twin):
        play(each, 8, lambda pull: 0.5)
    assert story(study) == story(twin)


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interrupt_in_the_middle_of_an_ask_is_harmless(
    store: Store, faults: Faults, when: When
) -> None:
    study = busy_study("s", store, ManualClock())
    faults.fail("serve", when, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        study.ask(count=3)
    check_counters(study)
    assert study.n_pulls == 13 + (3 if when == "after" else 0)


@pytest.mark.parametrize("verb", ["pulls", "pull", "load"])
def test_a_failed_read_passes(store: Store, faults: Faults, verb: str) -> None:
    study = busy_study("s", store, ManualClock())
    before = facts_of(study)
    reads: dict[str, Callable[[], object]] = {
        "pulls": lambda: list(study),
        "pull": lambda: study.pull(before[2][0].id),
        "load": study.arms,
    }
    faults.fail(verb, "before")
    with pytest.raises(Broken):
        reads[verb]()
    assert facts_of(study) == before
    reads[verb]()


def test_a_failed_create_can_be_tried_again(store: Store, faults: Faults) -> None:
    moments: list[When] = ["before", "after"]
    for when in moments:
        faults.fail("create", when)
        with pytest.raises(Broken):
            Study.create("s", mixed_space(), store=store, seed=1)
    assert len(Study.create("s", mixed_space(), store=store, seed=1)) == 0
