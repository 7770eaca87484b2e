"""A control that is drawn at random for each request."""

from __future__ import annotations

from typing import Any

import pytest

from imabo import Choice, Control, Float, Space, Study, policies
from imabo.insight import read
from imabo.insight.estimates import random_estimate
from imabo.stores import Store
from imabo.testing.audit import audit
from tests.study.controlled import CHEAP, SPACE, TINY, clock, make, run


def test_a_random_control_leaves_the_schedule_alone(store: Store) -> None:
    """Its arms teach, and are neither served by the policy nor in its way."""
    study = make(store, control=Control.random(0.5))
    run(study, 200)
    arms = study.arms()
    spare = [arm for arm in arms if arm.origin == "control"]
    assert len(spare) > 60
    assert {arm.state for arm in spare} == {"retired"}
    assert len(arms) - len(spare) == policies.IMOSS().warmup + 1 or len(arms) - len(spare) < 20
    tuned = {pull.arm for pull in study if pull.group == "tuned"}
    assert tuned.isdisjoint(arm.id for arm in spare)
    assert sum(arm.n_rewards for arm in spare) > 40


@pytest.mark.parametrize("part", [CHEAP, {"policy": None, "oracle": None}])
def test_in_a_small_space_what_the_control_tried_can_still_be_admitted(
    part: dict[str, Any],
) -> None:
    study = make(space=TINY, control=Control.random(0.7), **part)
    run(study, 120)
    assert study.n_arms == 6
    assert study.view.n_spare == 0
    assert {arm.state for arm in study.arms()} == {"active"}
    assert audit(study.store, "study") == []


def test_its_rewards_tell_what_serving_at_random_gives() -> None:
    study = make(control=Control.random(0.5))
    run(study, 400)
    drawn = [p.reward for p in study if p.group == "control" and p.reward is not None]
    n, total, squares = study.random_rewards()
    assert (n, total, squares) == (len(drawn), sum(drawn), sum(drawn))
    shown = random_estimate(read(study))
    assert shown.mean is not None
    assert abs(shown.mean - 0.6) < 0.1  # half of the draws are large
    study.update_space(Space(model=Choice("small", "large"), x=Float(0.0, 2.0)))
    assert study.random_rewards()[0] == 0, "those were of another P0"


def test_a_draw_of_a_random_control_may_be_retired_for_good(store: Store) -> None:
    study = make(store, space=TINY, control=Control.random(0.9), policy=policies.IMOSS(warmup=1))
    while not study.view.n_spare:
        study.ask()
    spare = next(arm for arm in study.arms() if arm.state == "retired")
    study.retire(spare.id)
    assert study.view.n_spare == 0
    run(study, 150)
    tuned = {pull.arm for pull in study if pull.group == "tuned"}
    assert spare.id not in tuned
    assert study.n_arms == 6
    again = Study.open("study", store=store, clock=clock())
    assert (again.view.n_spare, again.view.n_retired) == (study.view.n_spare, 1)
    assert audit(store, "study") == []


def test_draws_of_a_random_control_stay_what_they_are_in_another_space(store: Store) -> None:
    study = make(store, control=Control.random(0.5))
    run(study, 60)
    n_spare = study.view.n_spare
    study.update_space(Space(model=Choice("small", "large"), x=Float(0.0, 0.5)))
    fewer = study.view.n_spare
    assert 0 < fewer < n_spare
    run(study, 30)
    study.update_space(SPACE)
    assert study.view.n_spare >= n_spare
    assert Study.open("study", store=store).view.n_spare == study.view.n_spare
    assert audit(store, "study") == []
