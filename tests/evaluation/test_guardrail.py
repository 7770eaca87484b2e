"""The guardrail fires on a loss, soon, and hardly ever without one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from imabo.errors import InvalidSetting
from imabo.evaluation import Guardrail, Lift
from tests.evaluation.measure import NEAR_HALF, evidence, fires_at, steady
from tests.evaluation.test_lift import traffic
from tests.evaluation.traffic import arrivals


def test_what_is_measured_is_what_it_says() -> None:
    one = next(iter(arrivals(1, 2500, (0.55,), 0.6, steady(0.3), lost=0.0, delay=0.0)))
    guardrail = Guardrail(margin=0.02)
    path, lift, outcomes = evidence(one, guardrail), Lift(), one.outcomes()
    for n in (1, 700, 1023, 1024, 1025, 2047, 2048, 2400):
        lift = lift.update(outcomes[lift.total.n : n])
        verdict = guardrail.check(lift)
        assert math.log(verdict.evidence) == pytest.approx(path[n - 1], abs=1e-6)
        assert verdict.is_worse == (path[n - 1] >= math.log(verdict.limit))


def test_it_fires_on_a_loss_of_graded_rewards_within_1_500() -> None:
    guardrail = Guardrail(margin=0.02)
    runs = arrivals(40, 1500, (0.5,), 0.6, steady(0.3), lost=0.0, delay=0.0, concentration=3.0)
    late = sum(fires_at(evidence(one, guardrail), guardrail.level) > 1500 for one in runs)
    assert late <= 4


@pytest.mark.parametrize("arms", [(0.5,), (*NEAR_HALF, 0.5)])
def test_it_hardly_ever_fires_without_a_loss(arms: tuple[float, ...]) -> None:
    guardrail = Guardrail(margin=0.02)
    runs = arrivals(40, 3000, arms, 0.45, steady(0.3), lost=0.0)
    assert sum(math.isfinite(fires_at(evidence(one, guardrail), 0.975)) for one in runs) <= 1


def test_a_side_that_turns_bad_late_is_caught() -> None:
    good, bad = traffic(12_000, 0.6, 0.5, 0.3), traffic(4000, 0.3, 0.5, 0.3, seed=1)
    lift = Lift().update(good)
    assert not Guardrail(margin=0.02).check(lift).is_worse
    assert Guardrail(margin=0.02).check(lift.update(bad)).is_worse


def test_after_going_on_only_what_came_later_counts() -> None:
    lift = Lift().update(traffic(3000, 0.3, 0.6, 0.3))
    guardrail = Guardrail(margin=0.02)
    assert guardrail.check(lift).is_worse
    mark = lift.mark()
    assert not guardrail.check(lift, since=mark).is_worse
    later = lift.update(traffic(3000, 0.6, 0.6, 0.3, seed=1))
    assert guardrail.check(later).is_worse
    assert not guardrail.check(later, since=mark).is_worse


def test_a_margin_is_in_the_units_of_rewards() -> None:
    outcomes = traffic(2000, 0.5, 0.6, 0.4)
    scaled = [one._replace(reward=100.0 * one.reward) for one in outcomes]
    plain = Guardrail(margin=0.03).check(Lift().update(outcomes))
    other = Guardrail(margin=3.0).check(Lift((0.0, 100.0)).update(scaled))
    assert other.evidence == pytest.approx(plain.evidence)
    assert other.upper == pytest.approx(100.0 * (plain.upper or 0.0))


def test_without_a_range_it_waits_for_many_rewards() -> None:
    rng = np.random.default_rng(0)
    outcomes = [
        one._replace(reward=rng.normal(8.0 if one.is_control else 5.0, 2.0))
        for one in traffic(2000, share=0.3)
    ]
    assert Guardrail(margin=1.0).check(Lift(None).update(outcomes)).is_worse
    first = Guardrail(margin=1.0).check(Lift(None).update(outcomes[:100]))
    assert (first.is_worse, first.upper) == (False, None)


def test_before_the_first_reward_it_says_nothing() -> None:
    verdict = Guardrail().check(Lift())
    assert (verdict.is_worse, verdict.upper) == (False, None)


@pytest.mark.parametrize("margin", [-0.1, math.nan])
def test_a_margin_is_not_negative(margin: float) -> None:
    with pytest.raises(InvalidSetting, match="margin"):
        Guardrail(margin=margin)
