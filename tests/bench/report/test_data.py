from __future__ import annotations

import math

import numpy as np
import pytest

from imabo_bench.report.data import (
    arm_quantiles,
    curves_of,
    ellipse_of,
    groups_of,
    plane_of,
    rewards_per_arm,
    splits_of,
    spread_of,
)
from tests.bench.report.synthetic import group, run

LATE = {"feedback_freq": 0.2, "window": 9.0}
LATER = {"feedback_freq": 0.1, "window": 9.0}


def test_spread_is_the_mean_and_the_sample_standard_deviation() -> None:
    spread = spread_of([1.0, 2.0, 6.0, math.nan])
    assert (spread.mean, spread.count) == (3.0, 3)
    assert spread.std == pytest.approx(math.sqrt(7.0))
    assert spread.error == pytest.approx(math.sqrt(7.0 / 3.0))


def test_one_seed_has_no_spread_and_none_has_no_mean() -> None:
    one, none = spread_of([2.0]), spread_of([math.nan])
    assert (one.mean, one.std, one.error) == (2.0, None, None)
    assert math.isnan(none.mean)


def test_problems_and_budgets_are_told_apart() -> None:
    runs = [run(), run("b"), run(rounds=50, played=50, checkpoints=[10, 50])]
    groups = groups_of(runs)
    assert [g.title for g in groups] == ["toy/sin1, 50 rounds", "toy/sin1, 100 rounds"]
    assert [list(g.methods) for g in groups] == [["a"], ["a", "b"]]
    assert groups_of(runs[:1])[0].title == "toy/sin1"


def test_methods_are_in_natural_order_and_their_runs_by_seed() -> None:
    found = group(run("tpe-100"), run("tpe-50", 1), run("tpe-50", 0))
    assert list(found.methods) == ["tpe-50", "tpe-100"]
    assert [r.seed for r in found.methods["tpe-50"]] == [0, 1]


def test_a_method_under_several_delays_has_a_label_for_each() -> None:
    assert list(group(run(delay=LATE)).methods) == ["a"]
    assert list(group(run(), run(delay=LATE), run("b")).methods) == [
        "a (no delay)",
        "a (delayed)",
        "b",
    ]
    both = group(run(delay=LATE), run(delay=LATER))
    assert list(both.methods) == ["a (feedback_freq 0.1)", "a (feedback_freq 0.2)"]


def test_a_curve_is_the_mean_over_seeds_with_its_deviation() -> None:
    (curve,) = curves_of(group(run(seed=0), run(seed=1, regret=[8.0, 30.0])), lambda r: r.regret)
    assert curve.rounds == [10.0, 100.0]
    assert curve.mean == [6.0, 25.0]
    assert curve.std == pytest.approx([math.sqrt(8.0), math.sqrt(50.0)])


def test_a_curve_ends_where_the_first_seed_ended_and_skips_what_is_unknown() -> None:
    ended = run(seed=1, checkpoints=[10, 60], played=60, simple=[0.1, 0.1])
    (curve,) = curves_of(group(run(), ended), lambda r: r.regret)
    assert curve.rounds == [10.0]
    (simple,) = curves_of(group(run()), lambda r: r.simple)
    assert (simple.rounds, simple.mean, simple.std) == ([100.0], [0.05], None)


def test_a_method_that_makes_no_proposals_has_no_curve() -> None:
    proposing = run("b", proposal_quality=[0.4, 0.6])
    curves = curves_of(group(run("a"), proposing), lambda r: r.proposal_quality)
    assert [(curve.method, curve.mean) for curve in curves] == [("b", [0.4, 0.6])]


def test_rewards_per_arm_divides_what_came_by_the_arms() -> None:
    assert rewards_per_arm(run()).tolist() == [2.0, 5.0]


def test_ellipse_has_the_axes_of_a_known_covariance() -> None:
    # Variances 8 and 2 along axes turned by 30 degrees; four points give it exactly.
    turn = math.radians(30.0)
    axes = np.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]])
    halves = np.sqrt([[12.0], [3.0]]) * axes
    points = np.add(np.concatenate([halves, -halves]), [1.0, 5.0])
    ellipse = ellipse_of(points[:, 0].tolist(), points[:, 1].tolist())
    assert ellipse is not None
    assert ellipse.center == pytest.approx((1.0, 5.0))
    assert ellipse.axes == pytest.approx((math.sqrt(8.0), math.sqrt(2.0)))
    assert math.tan(ellipse.angle) == pytest.approx(math.tan(turn))


def test_the_outline_of_an_ellipse_lies_at_one_standard_deviation() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=20), rng.normal(size=20) + 3.0
    ellipse = ellipse_of(x.tolist(), y.tolist())
    assert ellipse is not None
    outline = np.array(ellipse.outline(9)) - [[x.mean()], [y.mean()]]
    distances = np.einsum("ip,ij,jp->p", outline, np.linalg.inv(np.cov(x, y)), outline)
    assert distances == pytest.approx(np.ones(9))


def test_one_run_has_no_ellipse() -> None:
    assert ellipse_of([1.0], [2.0]) is None


def test_the_plane_has_the_budgets_that_were_reached_and_the_end() -> None:
    reached = run(
        rounds=4000,
        played=4000,
        checkpoints=[1000, 2000, 4000],
        regret=[300.0, 400.0, 400.0],
        rho_regret=[0.0, 0.0, 0.0],
        arms=[32, 45, 64],
        rewards=[1000, 2000, 4000],
        average=[0.3, 0.2, 0.1],
        simple=[0.06, 0.05, 0.04],
    )
    trail = plane_of(group(reached))["a"]
    assert [(spot.checkpoint, spot.center) for spot in trail] == [
        (1000, (0.3, 0.06)),
        (4000, (0.1, 0.04)),
    ]


def test_in_the_plane_the_end_of_a_schedule_stands_for_the_last_round() -> None:
    ended = run(checkpoints=[10, 60], played=60)
    (spot,) = plane_of(group(ended))["a"]
    assert (spot.checkpoint, spot.center) == (100, (0.2, 0.05))


def test_without_a_recommendation_there_is_no_place_in_the_plane() -> None:
    assert plane_of(group(run(simple=[None, None])))["a"] == []


def test_the_decomposition_sums_to_the_average_regret() -> None:
    runs = [run(seed=0, best_gap=0.05), run(seed=1, best_gap=0.15, regret=[5.0, 40.0])]
    (split,) = splits_of(group(*runs))
    assert split.best_gap == pytest.approx(0.1)
    assert split.cost == pytest.approx(0.2)  # (0.2 + 0.4) / 2 less the gap
    assert split.average == pytest.approx(np.mean([r.average_regret for r in runs]))


def test_arm_means_are_pooled_over_seeds() -> None:
    (box,) = arm_quantiles(group(run(seed=0, arm_means=[0.0, 1.0]), run(seed=1, arm_means=[0.5])))
    assert (box.median, box.lower, box.upper, box.mean, box.count) == (0.5, 0.25, 0.75, 0.5, 3)
    assert arm_quantiles(group(run(arm_means=[]))) == []
