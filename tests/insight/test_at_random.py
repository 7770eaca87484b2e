"""What serving at random would give, from the first reward of each arm that was drawn from P0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from imabo import Choice, Float, Pull, Space, Study, insight, oracles, policies
from imabo.confidence import bounded_interval
from imabo.insight import snapshot as reading
from imabo.insight.estimates import random_estimate
from imabo.stores import MemoryStore
from imabo.testing.study.base import ManualClock
from tests.insight.story import SPACE, drawn_often, go_on, instant, make, noisy


def first_rewards(study: Study, pulls: Sequence[Pull], *origins: str) -> list[float]:
    """The rewards of the pulls that were an arm's first, of arms of some origins."""
    wanted = {arm.id for arm in study.arms() if arm.origin in origins}
    first: dict[int, Pull] = {}
    for pull in pulls:
        first.setdefault(pull.arm, pull)
    rewards = [study.pull(pull.id).reward for arm, pull in first.items() if arm in wanted]
    return [reward for reward in rewards if reward is not None]


def test_it_is_the_mean_of_the_rewards_of_the_pulls_that_admitted_arms() -> None:
    study, pulls = drawn_often(300)
    rewards = first_rewards(study, pulls, "warmup", "baseline")
    assert 120 < len(rewards) < 300
    found = random_estimate(insight.read(study))
    low, high = bounded_interval(np.array([float(len(rewards))]), np.array([sum(rewards)]), 0.95)
    assert (found.n, found.n_more) == (len(rewards), 0)
    assert found.mean == pytest.approx(np.mean(rewards))
    assert found.interval == pytest.approx((low[0], high[0]))
    key = insight.overview(insight.read(study))
    assert (key.random_mean, key.random_interval) == (found.mean, found.interval)
    assert (key.n_random, key.n_random_more) == (len(rewards), 0)
    assert str(found) == f"{found.mean:.3g} ({found.low:.3g} to {found.high:.3g})"


def test_while_few_came_it_is_not_known_and_says_between_what_and_how_many_more() -> None:
    study, pulls = instant(200)
    few = len(first_rewards(study, pulls, "warmup", "baseline"))
    snapshot = insight.read(study)
    found, key = random_estimate(snapshot), insight.overview(snapshot)
    assert (found.mean, found.n) == (None, few)
    assert found.low is not None
    assert found.high is not None
    assert found.high - found.low > 0.3
    assert 80 <= found.n_more <= 130
    assert (key.random_mean, key.random_interval) == (None, (found.low, found.high))
    assert (key.n_random, key.n_random_more) == (few, found.n_more)
    words = f"not known yet, between {found.low:.3g} and {found.high:.3g}: it takes about "
    words += f"{found.n_more} more requests that try something new at random"
    assert str(found) == words
    assert words in insight.figure("reward", snapshot)["about"]
    assert words in insight.figure("cost", snapshot)["about"]
    names = {trace.get("name") for trace in insight.figure("reward", snapshot)["data"]}
    assert not any("random" in str(name) for name in names)
    cost = insight.cost(snapshot)
    assert {*cost.gain, *cost.gain_low, *cost.gain_high} == {None}
    assert None not in cost.cost


def test_without_any_there_is_no_interval_either() -> None:
    found = random_estimate(insight.read(make()))
    assert (found.mean, found.interval, found.n) == (None, None, 0)
    assert str(found).startswith("not known yet: it takes about 130 more")


def test_requests_that_bring_no_reward_are_counted_on() -> None:
    """Half of the feedback is lost, so that twice as many requests are needed."""
    study, _ = instant(100)
    all_came = random_estimate(insight.read(study)).n_more
    study.ask(count=100)
    half_came = random_estimate(insight.read(study)).n_more
    assert half_came == pytest.approx(2 * all_came, rel=0.1)


def test_rewards_of_another_range_are_in_their_own_units() -> None:
    study, _ = drawn_often(300)
    wide, _ = drawn_often(300, lambda p: 200.0 * noisy(p) - 50.0, reward_range=(-50.0, 150.0))
    one, other = (random_estimate(insight.read(s)) for s in (study, wide))
    assert one.mean is not None
    assert other.mean == pytest.approx(200.0 * one.mean - 50.0)
    assert other.interval == pytest.approx(
        tuple(200.0 * (end or 0.0) - 50.0 for end in one.interval or ())
    )
    assert other.n_more == 0


def test_without_a_range_it_is_known_after_thirty() -> None:
    study, pulls = drawn_often(60, lambda p: 7.0 + noisy(p), reward_range=None)
    rewards = first_rewards(study, pulls, "warmup", "baseline")
    assert len(rewards) > 30
    found = random_estimate(insight.read(study))
    assert found.mean == pytest.approx(np.mean(rewards))
    assert found.low is not None
    assert found.low < np.mean(rewards)
    few, _ = drawn_often(20, lambda p: 7.0 + noisy(p), reward_range=None)
    assert random_estimate(insight.read(few)).mean is None


def test_in_a_finite_space_only_the_warm_up_counts() -> None:
    """Later draws skip the arms that are there."""
    space = Space(letter=Choice(*"abcdefghijklmnopqrstuvwxyz"), digit=Choice(*range(9)))
    policy = policies.IMOSS(warmup=12, beta=0.8)
    study, pulls = instant(
        100, lambda pull: float(pull.config["digit"] == 3),
        space=space, policy=policy, oracle=oracles.Random(),
    )  # fmt: skip
    assert len(first_rewards(study, pulls, "warmup", "baseline")) > 20
    assert random_estimate(insight.read(study)).n == 12


def test_after_a_change_of_the_space_only_arms_of_the_new_one_count() -> None:
    clock = ManualClock(1e9)
    study, _ = drawn_often(300, clock=clock)
    before = random_estimate(insight.read(study))
    assert before.mean is not None
    clock.now += 1.0
    study.update_space(Space({**SPACE.parameters, "model": Choice("large", "huge")}))
    assert random_estimate(insight.read(study)).n == 0
    pulls = go_on(study, clock, 100)
    n_new = sum(pull.reason in ("warmup", "expand") for pull in pulls)
    assert random_estimate(insight.read(study)).n == n_new > 0


def test_a_reward_is_read_once_and_of_many_arms_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    class Counting(MemoryStore):
        def first_rewards(self, name: str, arms: Sequence[int]) -> dict[int, float]:
            asked.append(len(arms))
            return super().first_rewards(name, arms)

    clock = ManualClock(1e9)
    study, _ = drawn_often(200, clock=clock, store=Counting())
    snapshot = insight.read(study)
    go_on(study, clock, 40)
    again = insight.read(study, since=snapshot)
    assert asked[0] == len(snapshot.first_rewards)
    assert asked[0] + asked[1] == len(again.first_rewards)
    assert again.first_rewards == insight.read(study).first_rewards
    monkeypatch.setattr(reading, "MOST_FIRST", 20)
    some = insight.read(study, since=again).first_rewards
    assert list(some) == list(again.first_rewards)[-20:]


@pytest.mark.slow
def test_a_study_does_not_make_serving_at_random_look_bad() -> None:
    """Unlucky arms are hardly served again, so that the mean of the arms' means is far too low."""
    space = Space(x=Float(0.0, 1.0), y=Float(0.0, 1.0))
    side = (np.arange(100) + 0.5) / 100
    x, y = np.meshgrid(side, side)
    truth = float(_mean(x, y).mean())
    found, of_means, covered = [], [], 0
    for seed in range(12):
        rng = np.random.default_rng(seed)

        def reward(pull: Pull, rng: np.random.Generator = rng) -> float:
            return float(rng.random() < _mean(pull.config["x"], pull.config["y"]))

        policy = policies.IMOSS(beta=0.8, warmup=10)
        study, _ = instant(
            500, reward, space=space, seed=seed, policy=policy, oracle=oracles.Random()
        )
        estimate = random_estimate(insight.read(study))
        assert estimate.mean is not None
        assert estimate.low is not None
        assert estimate.high is not None
        found.append(estimate.mean)
        covered += estimate.low <= truth <= estimate.high
        of_means.append(np.mean([arm.mean for arm in study.arms() if arm.mean is not None]))
    # 12 studies of about 140 rewards each: the standard error is 0.012.
    assert abs(np.mean(found) - truth) < 0.03
    assert np.mean(of_means) - truth < -0.06
    assert covered >= 11


def _mean(x: Any, y: Any) -> Any:
    return 0.35 + 0.4 * np.exp(-((x - 0.3) ** 2 + (y - 0.6) ** 2) / 0.1)
