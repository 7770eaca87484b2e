"""The key figures, and what exploring has cost."""

from __future__ import annotations

import math
from dataclasses import asdict

import numpy as np
import pytest

from imabo import Choice, Space, insight, oracles, policies
from imabo.insight import StudySnapshot
from imabo.policies.counts import feedback_rate
from imabo.testing.study.base import ManualClock
from tests.insight.story import (
    by_model,
    changed,
    drawn_often,
    eventful,
    go_on,
    instant,
    make,
    situations,
)


def test_counts_are_those_of_the_study() -> None:
    study = eventful()
    key = insight.overview(insight.read(study))
    for name in ("name", "n_pulls", "n_rewards", "n_pending", "n_expired", "n_arms"):
        assert getattr(key, name) == getattr(study, name)
    assert key.created_at == study.created_at.timestamp()
    assert key.space_version == study.space_version > 1
    assert key.n_active == study.view.n_growing
    assert key.n_servable == study.view.n_servable
    assert key.feedback_rate == pytest.approx(feedback_rate(study.view))
    best = study.best()
    assert key.best is not None
    assert (key.best.arm, key.best.config, key.best.n_rewards) == (
        best.arm,
        best.config,
        best.n_rewards,
    )
    assert key.best.mean == pytest.approx(best.mean)
    assert key.best.interval == pytest.approx(best.interval)
    assert (key.best.observed, key.best.chance) == (best.observed, best.chance)


def test_after_a_change_the_best_arm_is_that_of_the_study_with_the_rewards_since() -> None:
    study = changed()
    key, best = insight.overview(insight.read(study)), study.best()
    assert key.best is not None
    assert best.since is not None
    assert asdict(key.best) == {
        "arm": best.arm,
        "config": best.config,
        "mean": best.mean,
        "interval": best.interval,
        "n_rewards": best.n_rewards,
        "since": best.since.timestamp(),
        "observed": best.observed,
        "chance": best.chance,
        "label": f"{best.config['letter']}",
        "mix": None,
    }
    assert best.n_rewards < study.n_rewards / 4


def test_after_a_change_the_cost_is_against_a_mean_that_is_not_flattered() -> None:
    """Of all its rewards, drawn towards the others': a lucky arm would make exploring look dear."""
    study = changed()
    snapshot = insight.read(study)
    known = snapshot.arms
    row = known.row_of(study.best().arm)
    is_other = np.arange(len(known)) != row
    worth = float(known.n_pulls[is_other] @ known.estimates_of_all[is_other])
    mean = float(known.estimates_of_all[row])
    assert mean != known.means[row]
    assert mean != known.estimates[row]
    lost = mean * known.n_pulls[is_other].sum() - worth
    assert insight.cost(snapshot).cost[-1] == pytest.approx(max(lost, 0.0))


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        ("no pulls", "empty"),
        ("no rewards", "no feedback"),
        ("one pull", "warming up"),
        ("one reward", "warming up"),
        ("one arm", "settled"),
    ],
)
def test_one_word_says_where_a_study_stands(kind: str, state: str) -> None:
    assert insight.overview(insight.read(situations()[kind]())).state == state


def test_a_study_settles_when_the_best_arm_gets_the_traffic() -> None:
    clock = ManualClock(1e9)
    space = Space(letter=Choice("a", "b", "c", "d"))
    study = make(clock=clock, space=space, policy=policies.IMOSS(warmup=4))
    go_on(study, clock, 12, lambda pull: 0.5)
    assert insight.overview(insight.read(study)).state == "learning"
    go_on(study, clock, 200, lambda pull: 0.9 if pull.config["letter"] == "b" else 0.1)
    assert insight.overview(insight.read(study)).state == "settled"


def test_a_study_whose_rewards_stopped_coming_says_so() -> None:
    study, _ = instant(100)
    for _ in range(60):
        study.ask()
    assert insight.overview(insight.read(study)).state == "no feedback"


def test_recent_figures_are_of_the_newest_tenth() -> None:
    clock = ManualClock(1e9)
    study, _ = instant(800, lambda pull: 0.0, clock=clock)
    clock.now += 3600.0
    go_on(study, clock, 240, lambda pull: 1.0)
    key = insight.overview(insight.read(study))
    assert key.recent_mean == 1.0
    assert 104 <= key.n_recent <= 130
    assert key.pulls_per_minute == pytest.approx(60.0)
    assert key.recent_interval is not None
    assert key.recent_interval[1] == pytest.approx(1.0)


def test_an_overview_is_of_plain_values(any_snapshot: StudySnapshot) -> None:
    for value in asdict(insight.overview(any_snapshot)).values():
        assert not isinstance(value, np.generic)
        assert not isinstance(value, float) or math.isfinite(value)


# --- cost and gain ------------------------------------------------------------------------------


def test_cost_and_gain_are_sums_over_the_arms() -> None:
    study, _ = drawn_often(300)
    snapshot = insight.read(study)
    found, best = insight.cost(snapshot), study.best()
    arms = [arm for arm in study.arms() if arm.mean is not None]
    at_random = insight.reward(snapshot).random
    assert found.best_arm == best.arm

    def cost(top: float) -> float:
        others = [one for one in insight.arm_table(snapshot, limit=1000).rows if not one.is_best]
        return max(sum(one.n_pulls * (top - (one.estimate or 0.0)) for one in others), 0.0)

    def gain(chance: float | None) -> float:
        assert chance is not None
        return sum(arm.n_pulls * ((arm.mean or 0.0) - chance) for arm in arms)

    assert found.cost[-1] == pytest.approx(cost(best.mean))
    assert found.cost_low[-1] == pytest.approx(cost(best.interval[0]))
    assert found.cost_high[-1] == pytest.approx(cost(best.interval[1]))
    assert found.gain[-1] == pytest.approx(gain(at_random.mean))
    assert found.gain_low[-1] == pytest.approx(gain(at_random.high))
    assert found.gain_high[-1] == pytest.approx(gain(at_random.low))
    # All pulls have a reward here, so that the gain is over what was really earned.
    assert found.gain[-1] == pytest.approx(
        snapshot.totals.reward_sum - 300 * (at_random.mean or 0.0)
    )


def test_the_curve_counts_the_pulls_of_its_time_with_the_means_of_today() -> None:
    study, pulls = instant(200)
    snapshot = insight.read(study)
    found = insight.cost(snapshot)
    means = dict(zip(snapshot.arms.ids.tolist(), snapshot.arms.estimates.tolist(), strict=True))
    best = study.best()
    for n, cost in zip(found.pulls, found.cost, strict=True):
        assert n is not None
        others = [means[pull.arm] for pull in pulls[: int(n)] if pull.arm != best.arm]
        assert cost == pytest.approx(max(best.mean * len(others) - sum(others), 0.0))


def test_the_requests_of_the_best_cost_nothing_whatever_its_mean_is() -> None:
    """Its mean is drawn towards the others': its own requests must not pay for theirs."""
    study = make(space=Space(model=Choice("good", "bad")), policy=policies.IMOSS(warmup=2))
    for i, pull in enumerate(study.ask(count=240)):
        study.tell(pull.id, 1.0 if pull.config["model"] == "good" else float(i % 2))
    snapshot = insight.read(study)
    found, best = insight.cost(snapshot), study.best()
    (other,) = (one for one in insight.arm_table(snapshot).rows if not one.is_best)
    assert best.observed is not None
    assert other.estimate is not None
    assert best.mean < best.observed
    lost = (best.mean - other.estimate) * other.n_pulls
    assert found.cost[-1] == pytest.approx(lost)
    low, high = found.cost_low[-1], found.cost_high[-1]
    assert low is not None
    assert high is not None
    assert low <= lost <= high <= other.n_pulls


@pytest.mark.parametrize("name", sorted(situations()))
def test_the_range_of_the_cost_is_possible(name: str) -> None:
    """No more than the width of the rewards for each request that another arm got."""
    study = situations()[name]()
    snapshot = insight.read(study)
    found, ends = insight.cost(snapshot), snapshot.reward_range
    low, cost, high = found.cost_low[-1], found.cost[-1], found.cost_high[-1]
    mix = None if snapshot.best is None else snapshot.best.shares
    if low is None or cost is None or high is None or ends is None or mix is not None:
        return
    n_others = sum(arm.n_pulls for arm in study.arms() if arm.id != found.best_arm)
    assert low <= cost <= high <= n_others * (ends[1] - ends[0]) + 1e-9


def test_a_study_that_learns_gains_over_serving_at_random() -> None:
    policy = policies.IMOSS(warmup=130)
    study, _ = instant(1000, by_model, policy=policy, oracle=oracles.Mutate())
    found = insight.cost(insight.read(study))
    gain, low, high = found.gain[-1], found.gain_low[-1], found.gain_high[-1]
    assert gain is not None
    assert low is not None
    assert high is not None
    assert low <= gain <= high
    # Serving at random gives 0.5 a pull here, and the best model 0.8.
    earned = study.read(lambda view: view.totals.reward_sum)
    assert low < earned - 500 < high
    assert found.cost[-1] == pytest.approx(800 - earned, rel=0.02)


def test_without_rewards_nothing_is_estimated() -> None:
    found = insight.cost(insight.read(situations()["no rewards"]()))
    assert set(found.cost + found.gain) == {None}
