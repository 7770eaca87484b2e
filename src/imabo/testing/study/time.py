"""The contract of time: windows, late rewards, and clocks that misbehave."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from imabo.errors import InvalidSetting
from imabo.stores.rules import CLOCK_SLACK_S
from imabo.testing.study.base import (
    MakeStudy,
    ManualClock,
    StudyCases,
    arm_with,
    facts_of,
    letters,
    mixed_space,
    refused,
)

WINDOW_S = 100.0
LATER = 2 * WINDOW_S


class TimeCases(StudyCases):
    """A pull waits for its reward as long as the window says."""

    def test_a_pull_past_its_window_is_no_longer_pending(self, make_study: MakeStudy) -> None:
        """The next ask drops it from the counts; the pull itself stays."""
        clock = ManualClock()
        study = make_study("s", letters("a"), seed=1, window_s=WINDOW_S, clock=clock)
        early = study.ask(count=3)
        clock.now += WINDOW_S / 2
        late = study.ask()
        clock.now += 0.6 * WINDOW_S
        study.ask()
        assert [study.pull(pull.id).state for pull in early] == ["expired"] * 3
        assert study.pull(late.id).state == "pending"
        assert (study.n_pulls, study.n_pending, study.n_expired) == (5, 2, 3)
        assert arm_with(study, letter="a").n_pending == 2

    def test_a_pull_inside_its_window_is_pending(self, make_study: MakeStudy) -> None:
        """Up to the last moment."""
        clock = ManualClock()
        study = make_study("s", letters("a"), seed=1, window_s=WINDOW_S, clock=clock)
        study.ask()
        clock.now += WINDOW_S
        assert study.expire() == 0
        study.ask()
        assert (study.n_pending, study.n_expired) == (2, 0)

    def test_expire_says_how_many_it_dropped(self, make_study: MakeStudy) -> None:
        """And does it once."""
        clock = ManualClock()
        study = make_study("s", letters("a", "b"), seed=1, window_s=WINDOW_S, clock=clock)
        pulls = study.ask(count=5)
        study.tell(pulls[0].id, 1.0)
        clock.now += LATER
        assert [study.expire(), study.expire()] == [4, 0]
        assert (study.n_rewards, study.n_pending, study.n_expired) == (1, 0, 4)

    def test_without_a_window_a_pull_waits_for_ever(self, make_study: MakeStudy) -> None:
        """Nothing expires, by itself or on request."""
        clock = ManualClock()
        study = make_study("s", letters("a"), seed=1, clock=clock)
        study.ask()
        clock.now += 1e9
        study.ask()
        assert (study.expire(), study.n_pending, study.n_expired) == (0, 2, 0)

    def test_a_reward_after_the_window_counts_once(self, make_study: MakeStudy) -> None:
        """It is no longer pending, so only the rewards move; a retry changes nothing."""
        clock = ManualClock()
        study = make_study("s", letters("a"), seed=1, window_s=WINDOW_S, clock=clock)
        pull = study.ask()
        clock.now += LATER
        study.expire()
        study.tell(pull.id, 0.5)
        after = facts_of(study)
        assert study.pull(pull.id).state == "rewarded"
        assert (study.n_rewards, study.n_pending, study.n_expired) == (1, 0, 0)
        assert arm_with(study, letter="a").mean == 0.5
        study.tell(pull.id, 0.5)
        clock.now += LATER
        study.expire()
        assert facts_of(study) == after

    def test_a_late_reward_before_anything_expired_counts_once(self, make_study: MakeStudy) -> None:
        """Expiry happens when the study looks; a reward may come before that."""
        clock = ManualClock()
        study = make_study("s", letters("a"), seed=1, window_s=WINDOW_S, clock=clock)
        pull = study.ask()
        clock.now += LATER
        study.tell(pull.id, 0.5)
        assert study.expire() == 0
        assert (study.n_rewards, study.n_pending, study.n_expired) == (1, 0, 0)

    def test_times_are_those_of_the_clock(self, make_study: MakeStudy) -> None:
        """As aware times in UTC."""
        clock = ManualClock(1e9)
        study = make_study("s", letters("a"), seed=1, clock=clock)
        clock.now += 10
        pull = study.ask()
        clock.now += 10
        study.tell(pull.id, 1.0)
        start = datetime.fromtimestamp(1e9, UTC)
        assert study.created_at == start
        assert study.arms()[0].admitted_at == pull.served_at == start + timedelta(seconds=10)
        assert study.pull(pull.id).rewarded_at == start + timedelta(seconds=20)

    def test_a_clock_that_goes_back_does_not_reorder_or_expire(self, make_study: MakeStudy) -> None:
        """Time stands still until the clock has caught up, as long as it is not far behind."""
        clock = ManualClock(1000.0)
        study = make_study("s", letters("a", "b"), seed=1, window_s=WINDOW_S, clock=clock)
        pulls = [study.ask()]
        for clock.now in (500.0, 1000.0 - CLOCK_SLACK_S, 1000.0 + WINDOW_S / 2):
            pulls.append(study.ask())
        times = [pull.served_at for pull in study]
        assert times == sorted(times)
        assert study.n_pending == 4
        clock.now = 1.03 * WINDOW_S + 1000.0
        study.ask()
        assert study.n_expired == 3
        clock.now -= CLOCK_SLACK_S
        study.tell(pulls[0].id, 1.0)
        told = study.pull(pulls[0].id)
        assert told.rewarded_at is not None
        assert told.rewarded_at >= told.served_at

    def test_a_clock_that_was_far_ahead_is_forgotten(self, make_study: MakeStudy) -> None:
        """What is served after it came back has its own time, and its own window."""
        clock = ManualClock(1000.0)
        study = make_study("s", letters("a", "b"), seed=1, window_s=WINDOW_S, clock=clock)
        clock.now += 100 * CLOCK_SLACK_S
        ahead = study.ask()
        clock.now = 1001.0
        pull = study.ask()
        assert pull.served_at.timestamp() == 1001.0
        clock.now += 1.03 * WINDOW_S
        study.ask()
        assert study.pull(pull.id).state == "expired"
        assert study.pull(ahead.id).state == "pending"

    @pytest.mark.parametrize(
        "nonsense", [math.nan, math.inf, -math.inf, 1e300, 10**400, None, "now", [], 1j], ids=str
    )
    def test_a_clock_that_talks_nonsense_is_refused(
        self, make_study: MakeStudy, nonsense: Any
    ) -> None:
        """Every call that needs the time changes nothing; a sane clock again, and all is well."""
        clock = ManualClock(1000.0)
        study = make_study("s", mixed_space(), seed=1, window_s=WINDOW_S, clock=clock)
        pull = study.ask()
        clock.now = nonsense
        calls: list[Any] = [
            study.ask,
            lambda: study.ask(count=2),
            lambda: study.tell(pull.id, 0.5),
            study.expire,
            lambda: study.update_space(letters("a")),
            lambda: study.add_arm({"model": "small", "temperature": 0.5, "top_k": 1}),
            lambda: study.pause(pull.arm),
        ]
        for call in calls:
            with refused(study, InvalidSetting):
                call()
        clock.now = 1001.0
        study.tell(pull.id, 0.5)
        study.ask()
        assert (study.n_pulls, study.n_rewards) == (2, 1)
