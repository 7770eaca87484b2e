"""Reward, active set and traffic over time, against what the pulls themselves say."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from imabo import Choice, Space, Study, insight, oracles, policies
from imabo.confidence import bounded_interval
from imabo.errors import UnknownArm
from imabo.insight import StudySnapshot
from imabo.insight.timelines import MOST_ARRIVALS, ROLLING, _restarts
from imabo.testing.study.base import ManualClock
from tests.insight.story import SPACE, changed, go_on, instant


def test_means_between_points_are_those_of_the_pulls_in_between() -> None:
    study, pulls = instant(200)
    model = insight.reward(insight.read(study))
    rewards = [study.pull(pull.id).reward for pull in pulls]
    # A milestone is taken when a pull is served, so that the reward of this pull comes after it.
    ends = [0, *(int(n) - 1 for n in model.pulls[:-1] if n is not None), 200]
    for i, (start, end) in enumerate(pairwise(ends)):
        part = [reward for reward in rewards[start:end] if reward is not None]
        assert model.n_rewards[i] == len(part)
        assert model.mean[i] == pytest.approx(np.mean(part))
        wide = [r for r in rewards[ends[max(i + 1 - ROLLING, 0)] : end] if r is not None]
        assert model.rolling[i] == pytest.approx(np.mean(wide))
        low, high = bounded_interval(np.array([len(wide)]), np.array([sum(wide)]), 0.95)
        assert model.rolling_low[i] == pytest.approx(low[0])
        assert model.rolling_high[i] == pytest.approx(high[0])
        so_far = [reward for reward in rewards[:end] if reward is not None]
        assert model.cumulative[i] == pytest.approx(np.mean(so_far))


def test_rewards_between_points_add_up_to_all_rewards(any_snapshot: StudySnapshot) -> None:
    model = insight.reward(any_snapshot)
    parts = [
        n * mean
        for n, mean in zip(model.n_rewards, model.mean, strict=True)
        if n is not None and mean is not None
    ]
    assert sum(n for n in model.n_rewards if n is not None) == any_snapshot.totals.n_rewards
    assert sum(parts) == pytest.approx(any_snapshot.totals.reward_sum, abs=1e-9)
    assert model.pulls[-1] == any_snapshot.totals.n_pulls


def test_bands_lie_around_their_means(any_snapshot: StudySnapshot) -> None:
    model = insight.reward(any_snapshot)
    rows = zip(model.rolling_low, model.rolling, model.rolling_high, strict=True)
    for low, mean, high in rows:
        if None not in (low, mean, high):
            assert low <= mean + 1e-9  # type: ignore[operator]
            assert mean <= high + 1e-9  # type: ignore[operator]


def test_the_baseline_is_the_mean_of_the_chosen_arm_with_its_interval() -> None:
    study, _ = instant(100)
    arm = max(study.arms(), key=lambda one: one.n_rewards)
    snapshot = insight.read(study)
    model = insight.reward(snapshot, baseline=arm.id)
    assert model.baseline is not None
    assert model.baseline.mean == pytest.approx(arm.mean)
    (row,) = [row for row in insight.arm_table(snapshot).rows if row.id == arm.id]
    assert (model.baseline.low, model.baseline.high) == (row.low, row.high)
    with pytest.raises(UnknownArm):
        insight.reward(snapshot, baseline=1000)


def test_marks_lie_where_arms_entered_and_where_the_space_changed() -> None:
    study, pulls = instant(100)
    study.update_space(Space({**SPACE.parameters, "model": Choice("large", "huge")}))
    study.ask(count=20)
    snapshot = insight.read(study)
    model = insight.reward(snapshot)
    assert [(c.version, c.pulls) for c in model.space_changes] == [(2, 100.0)]
    first: dict[int, int] = {}
    for number, pull in enumerate(pulls, start=1):
        first.setdefault(pull.arm, number)
    marks = {one.arm: one.pulls for one in model.arrivals}
    assert len(marks) == model.n_arrivals == study.n_arms
    for arm, number in first.items():
        assert marks[arm] == pytest.approx(number, abs=2.0)


def test_a_mark_lies_where_a_change_of_the_world_was_noticed() -> None:
    study = changed()
    snapshot = insight.read(study)
    (drift,) = insight.reward(snapshot).drifts
    *_, event = study.events()
    assert (drift.text, drift.at) == (str(event), event.at.timestamp())
    assert drift.pulls == pytest.approx(study.n_pulls, abs=2.0)
    assert insight.reward(insight.read(instant(50)[0])).drifts == []


def test_there_are_never_too_many_marks() -> None:
    space = Space(number=Choice(*range(400)))
    study, _ = instant(300, lambda pull: 0.5, space=space, policy=policies.IMOSS(warmup=290))
    model = insight.reward(insight.read(study))
    assert model.n_arrivals == study.n_arms >= 290
    assert len(model.arrivals) == MOST_ARRIVALS
    assert (model.arrivals[0].arm, model.arrivals[-1].arm) == (1, study.n_arms)


# --- the active set -----------------------------------------------------------------------------


def test_the_schedule_is_that_of_the_policy() -> None:
    study, _ = instant(500, policy=policies.Informed(scale=2.0, warmup=3))
    model = insight.growth(insight.read(study))
    assert model.due is not None
    assert model.law == "2 t^0.5"
    for pulls, effective, due in zip(model.pulls, model.effective, model.due, strict=True):
        assert pulls is not None
        assert effective is not None
        # A milestone is taken before its own pull has a reward.
        assert effective <= pulls <= effective + 1
        assert due == math.ceil(2.0 * math.sqrt(effective + 1.0))
    assert abs(study.n_arms - (model.due[-1] or 0.0)) <= 1


@pytest.mark.parametrize(
    ("policy", "t", "counted"),
    [
        (policies.Informed(), 20.0, "the rewards in hand (requests before the first)"),
        # Without a window every pull that waits counts as due: (20 + 1) / (60 + 1) of each.
        (
            policies.IMOSS(),
            20.0 + 40.0 * 21.0 / 61.0,
            "the rewards in hand, and pending requests as parts of one",
        ),
    ],
)
def test_the_schedule_counts_what_the_policy_counts(
    policy: policies.Policy, t: float, counted: str
) -> None:
    study = Study.create("s", SPACE, policy=policy, oracle=oracles.Random(), seed=0)
    pulls = [study.ask() for _ in range(60)]
    for pull in pulls[:20]:
        study.tell(pull.id, 0.5)
    model = insight.growth(insight.read(study))
    assert model.effective[-1] == pytest.approx(t)
    assert model.counted == counted


def test_the_schedule_goes_on_when_a_part_of_the_world_changes() -> None:
    clock = ManualClock(1e9)
    study = changed(clock)
    assert study.view.noticed_at > 0
    assert study.view.growth_start.n_pulls == 0
    clock.now += 10.0
    study.update_space(Space(letter=Choice(*"abcdefghijklmnopqrstuvwxyz")))
    clock.now += 10.0
    study.ask(count=50)
    starts = [one.n_pulls for one in _restarts(insight.read(study))]
    assert starts == [0, study.view.restart.n_pulls]


def test_the_schedule_starts_again_when_all_of_the_world_changes() -> None:
    study = changed(ManualClock(1e9))
    snapshot = insight.read(study)
    (noticed,) = (entry for entry in snapshot.changes if entry.kind == "drift")
    everything = replace(noticed, data=dict.fromkeys(noticed.data or {}))
    starts = _restarts(replace(snapshot, changes=[everything]))
    assert [one.n_pulls for one in starts] == pytest.approx([0, study.n_pulls], abs=2.0)


def test_the_schedule_starts_again_when_the_space_changes() -> None:
    study, _ = instant(100)
    before = study.n_arms
    study.update_space(Space({**SPACE.parameters, "top_k": Choice(1, 2, 3, 4, 5)}))
    for _ in range(64):
        study.tell(study.ask().id, 0.5)
    model = insight.growth(insight.read(study))
    assert model.due is not None
    assert model.due[-1] == before + math.ceil(math.sqrt(65.0))
    assert model.n_active[-1] == study.n_arms


def test_an_earlier_start_of_the_schedule_is_known_from_the_milestones() -> None:
    clock = ManualClock(1e9)
    study, _ = instant(160, clock=clock)
    n_first = study.n_arms
    wider = {**SPACE.parameters, "top_k": Choice(1, 2, 3, 4, 5)}
    study.update_space(Space(wider))
    go_on(study, clock, 80)
    due_before = insight.growth(insight.read(study)).due
    study.update_space(Space({**wider, "more": Choice(1, 2)}))
    go_on(study, clock, 10)
    due_after = insight.growth(insight.read(study)).due
    assert due_before is not None
    assert due_after is not None
    # The points after the first change, before the second one.
    for was, now in zip(due_before[21:29], due_after[21:29], strict=True):
        assert now == pytest.approx(was, abs=2.0)
        assert (now or 0.0) >= n_first


def test_a_finite_space_has_no_more_arms_due_than_configurations() -> None:
    study, _ = instant(100, lambda pull: 0.5, space=Space(letter=Choice("a", "b", "c")))
    assert insight.growth(insight.read(study)).due == [3.0] * 13


class Patient(policies.IMOSS):
    """A policy of the user's own, whose schedule cannot be known."""

    def growth(self, arms: object) -> None:
        """Never."""
        del arms


def test_a_policy_of_ones_own_has_no_curve() -> None:
    study, _ = instant(20, policy=Patient())
    model = insight.growth(insight.read(study))
    assert (model.due, model.law) == (None, None)
    assert model.n_active[-1] == 1.0
