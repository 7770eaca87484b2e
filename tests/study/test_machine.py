"""A memory study and a SQLite study, side by side through everything that can happen to a study."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from imabo import Arm, Pull, Study, oracles, policies
from imabo.errors import ImaboError, RewardConflict, UnknownPull
from imabo.stores import MemoryStore
from imabo.testing.study.base import ManualClock, letters

from .invariants import check_counters
from .traffic import SPACES, story

ALL_SPACES = [*SPACES, letters("a", "b", "c"), letters("b", "d")]
POLICIES = [
    policies.IMOSS(warmup=2),
    policies.IMOSS(index="kl", warmup=3, beta=0.7),
    policies.UCBAIR(),
    policies.QRM2(),
]
ORACLES = [oracles.Mutate(startup=2), oracles.TPE(), oracles.Mixed(oracles.Mutate(startup=2), 0.5)]
WINDOW_S = 16.0

PLACES = st.floats(0.0, 1.0, exclude_max=True)  # of a pull, an arm or a configuration


class SideBySide(RuleBasedStateMachine):
    """Every step is done to both studies; both must answer and look the same."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.url = f"sqlite:///{self.folder.name}/imabo.db"
        self.store = MemoryStore()
        self.clock = ManualClock(1000.0)
        self.ids: list[tuple[str, str]] = []
        self.restart = 0  # arms in service when the space last changed
        self.studies: tuple[Study, Study] | None = None

    def teardown(self) -> None:
        if self.studies:
            self.studies[1].close()
        self.folder.cleanup()

    @initialize(
        space=st.sampled_from(ALL_SPACES),
        policy=st.sampled_from(POLICIES),
        oracle=st.sampled_from(ORACLES),
        window_s=st.sampled_from([None, WINDOW_S]),
    )
    def create(self, **chosen: Any) -> None:
        made = [
            Study.create("s", store=store, seed=5, clock=self.clock, **chosen)
            for store in (self.store, self.url)
        ]
        self.studies = made[0], made[1]

    # --- doing the same to both -----------------------------------------------------------------

    def both(self, action: Callable[[Study, int], Any]) -> list[Any]:
        """Do it to both; they give the same answer, or the same kind of error."""
        assert self.studies is not None
        answers = []
        for side, study in enumerate(self.studies):
            try:
                answers.append(action(study, side))
            except ImaboError as error:
                answers.append(type(error))
        assert _plain(answers[0]) == _plain(answers[1])
        return answers

    @property
    def arms(self) -> list[Arm]:
        assert self.studies is not None
        return self.studies[0].arms()

    def arm_at(self, place: float) -> int:
        """An arm, or now and then one that does not exist."""
        return int(place * (len(self.arms) + 1)) + 1

    # --- the loop -------------------------------------------------------------------------------

    @rule()
    def ask(self) -> None:
        self._served(lambda study: [study.ask()])

    @rule(count=st.integers(1, 6))
    def ask_many(self, count: int) -> None:
        self._served(lambda study: study.ask(count=count))

    def _served(self, ask: Callable[[Study], list[Pull]]) -> None:
        arms, n_pulls = self.arms, len(self.ids)
        answers = self.both(lambda study, side: ask(study))
        if isinstance(answers[0], type):
            assert not any(arm.state == "active" for arm in arms)
            return
        self.ids += [(one.id, other.id) for one, other in zip(*answers, strict=True)]
        self._check_service(answers[0], {arm.id: arm.state for arm in arms}, n_pulls)

    def _check_service(self, pulls: list[Pull], states: dict[int, str], n_pulls: int) -> None:
        """Only active arms are served, and new ones are admitted only when they are due."""
        assert self.studies is not None
        policy: Any = self.studies[0].policy
        for n_before, pull in enumerate(pulls, start=n_pulls):
            growing = sum(state != "retired" for state in states.values())
            if pull.reason == "index":
                assert states[pull.arm] == "active"
            elif pull.reason == "warmup":
                assert growing < policy.warmup
            elif "active" in states.values() and hasattr(policy, "beta"):
                assert growing - self.restart < (n_before + 1) ** policy.beta
            states[pull.arm] = "active"

    @precondition(lambda self: self.ids)
    @rule(place=PLACES, reward=st.floats(0.0, 1.0))
    def tell(self, place: float, reward: float) -> None:
        pair = self.ids[int(place * len(self.ids))]
        self.both(lambda study, side: study.tell(pair[side], reward))

    @precondition(lambda self: self.ids)
    @rule(place=PLACES)
    def tell_again(self, place: float) -> None:
        pair = self.ids[int(place * len(self.ids))]

        def repeat(study: Study, side: int) -> None:
            reward = study.pull(pair[side]).reward
            if reward is not None:
                study.tell(pair[side], reward)

        assert self.both(repeat) == [None, None]

    @precondition(lambda self: self.ids)
    @rule(place=PLACES)
    def tell_otherwise(self, place: float) -> None:
        pair = self.ids[int(place * len(self.ids))]

        def contradict(study: Study, side: int) -> str:
            reward = study.pull(pair[side]).reward
            if reward is None:
                return "nothing to contradict"
            study.tell(pair[side], 0.0 if reward else 1.0)
            return "contradicted"

        assert self.both(contradict)[0] in (RewardConflict, "nothing to contradict")

    @rule(number=st.integers(-1, 10**20))
    def tell_unknown(self, number: int) -> None:
        if not 1 <= number <= len(self.ids):
            token = self.ids[0][0].rpartition("-")[0] if self.ids else "x"
            answers = self.both(lambda study, side: study.tell(f"{token}-{number}", 0.5))
            assert answers == [UnknownPull, UnknownPull]

    # --- time -----------------------------------------------------------------------------------

    @rule(seconds=st.floats(-5.0, 1.5 * WINDOW_S))
    def wait(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule()
    def expire(self) -> None:
        self.both(lambda study, side: study.expire())

    @rule()
    def reopen(self) -> None:
        assert self.studies is not None
        for study in self.studies:
            study.close()
        self.studies = (
            Study.open("s", store=self.store, clock=self.clock),
            Study.open("s", store=self.url, clock=self.clock),
        )

    # --- changes by hand ------------------------------------------------------------------------

    @rule(place=PLACES)
    def pause(self, place: float) -> None:
        self.both(lambda study, side: study.pause(self.arm_at(place)))

    @rule(place=PLACES)
    def resume(self, place: float) -> None:
        self.both(lambda study, side: study.resume(self.arm_at(place)))

    @rule(place=PLACES)
    def retire(self, place: float) -> None:
        self.both(lambda study, side: study.retire(self.arm_at(place)))

    @rule(place=PLACES)
    def pause_all(self, place: float) -> None:
        if place < 0.3:
            self.both(lambda study, side: [study.pause(arm).state for arm in self.arms])

    @precondition(lambda self: self.arms)
    @rule(place=PLACES)
    def add_known_arm(self, place: float) -> None:
        config = self.arms[int(place * len(self.arms))].config
        self.both(lambda study, side: study.add_arm(config))

    @rule(place=PLACES)
    def add_arm(self, place: float) -> None:
        assert self.studies is not None
        config = self.studies[0].space.sample(np.random.default_rng(int(place * 1e9)))
        self.both(lambda study, side: study.add_arm(config))

    @rule(places=st.lists(PLACES, max_size=4), known=st.lists(PLACES, max_size=2))
    def add_arms(self, places: list[float], known: list[float]) -> None:
        assert self.studies is not None
        space, arms = self.studies[0].space, self.arms
        configs = [space.sample(np.random.default_rng(int(place * 1e9))) for place in places]
        configs += [arms[int(place * len(arms))].config for place in known if arms]
        self.both(lambda study, side: study.add_arms(configs))

    @rule(space=st.sampled_from(ALL_SPACES))
    def update_space(self, space: Any) -> None:
        assert self.studies is not None
        version = self.studies[0].space_version
        self.both(lambda study, side: study.update_space(space))
        if self.studies[0].space_version != version:
            self.restart = sum(arm.state != "retired" for arm in self.arms)

    # --- what holds at every moment -------------------------------------------------------------

    @invariant()
    def both_tell_the_same_story(self) -> None:
        if self.studies:
            memory, sqlite = self.studies
            assert story(memory) == story(sqlite)
            assert memory.space == sqlite.space
            check_counters(memory)


def _plain(answer: Any) -> Any:
    """An answer without the ids, which no two studies share."""
    if isinstance(answer, list):
        return [_plain(item) for item in answer]
    return replace(answer, id="") if isinstance(answer, Pull) else answer


TestSideBySide = SideBySide.TestCase
TestSideBySide.settings = settings(max_examples=12, stateful_step_count=40, deadline=None)


@pytest.mark.long
class TestSideBySideLonger(TestSideBySide):  # type: ignore[misc, valid-type]
    settings = settings(max_examples=300, stateful_step_count=40, deadline=None)
