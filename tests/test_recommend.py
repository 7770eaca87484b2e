"""Which arm is recommended, with a model's expectations and without."""

from __future__ import annotations

import math

import numpy as np
import pytest

from imabo import Float, Space
from imabo.arms import ActiveSet, Beliefs
from imabo.confidence import bounded_interval
from imabo.drift import find_drift, remember
from imabo.errors import NoRewards
from imabo.recommend import recommend
from imabo.space import Config

LINE = Space(x=Float(0.0, 1.0))


def arms_with(*rewards: list[float], ends: tuple[float, float] | None = (0.0, 1.0)) -> ActiveSet:
    configs: list[Config] = [{"x": row / 64} for row in range(len(rewards))]
    tried = list(zip(configs, rewards, strict=True))
    return ActiveSet.from_rewards(LINE, tried, reward_range=ends)


def believing(arms: ActiveSet, means: list[float], counts: list[float]) -> ActiveSet:
    arms.put_beliefs(Beliefs(np.array(means), np.array(counts), {}))
    return arms


def flips(ones: int, n: int) -> list[float]:
    return [1.0] * ones + [0.0] * (n - ones)


def best_of(arms: ActiveSet) -> int:
    return recommend(arms, 0.95).arm


class TestWithBeliefs:
    def test_a_lucky_new_arm_does_not_win(self) -> None:
        arms = arms_with(flips(42, 60), flips(33, 60), flips(3, 3))
        assert best_of(believing(arms, [0.7, 0.55, 0.6], [20.0, 20.0, 20.0])) == 1

    def test_nor_does_an_arm_that_is_only_expected_to_be_good(self) -> None:
        arms = arms_with(flips(42, 60), flips(33, 60), [])
        assert best_of(believing(arms, [0.5, 0.55, 0.99], [20.0, 20.0, 90.0])) == 1

    def test_of_two_with_the_same_rewards_the_one_that_its_neighbours_speak_for_wins(self) -> None:
        arms = arms_with(flips(6, 8), flips(6, 8), flips(6, 8))
        assert best_of(believing(arms, [0.5, 0.5, 0.9], [6.0, 6.0, 6.0])) == 3

    def test_the_cautious_mean_by_hand(self) -> None:
        # 16 rewards, 2 arms: a prior counts for at most 8. Arm 1: (8 * 0.5 + 6) / 16 = 0.625,
        # less sqrt(0.625 * 0.375 / 16) = 0.1210307: 0.5039693. Arm 2, with a prior of one reward
        # of mean m: (m + 5) / 9 - sqrt(...) passes that between m = 0.9 and m = 1.0:
        # 5.9 / 9 = 0.6555556 - 0.1583967 = 0.4971588; 6 / 9 = 0.6666667 - 0.1571348 = 0.5095318.
        arms = arms_with(flips(6, 8), flips(5, 8))
        assert best_of(believing(arms, [0.5, 0.9], [50.0, 1.0])) == 1
        assert best_of(believing(arms, [0.5, 1.0], [50.0, 1.0])) == 2

    def test_the_mean_and_the_interval_are_those_of_the_arm_s_own_rewards(self) -> None:
        plain = recommend(arms_with(flips(6, 8)), 0.95)
        arms = believing(arms_with(flips(6, 8)), [0.1], [8.0])
        assert recommend(arms, 0.95) == plain
        assert plain.mean == 0.75

    def test_open_rewards_are_shrunk_too(self) -> None:
        steady, lucky = [10.0, 12.0] * 20, [19.0, 21.0]
        plain = arms_with(steady, lucky, ends=None)
        assert best_of(believing(plain, [11.0, 11.0], [30.0, 30.0])) == 2
        # Pooled variance 42 / 40 = 1.05: (21 * 0 + 40) / 23 is far below 11.
        assert best_of(believing(plain, [11.0, 0.0], [30.0, 30.0])) == 1

    def test_a_paused_arm_is_not_recommended(self) -> None:
        arms = believing(arms_with(flips(9, 9), flips(3, 9)), [0.9, 0.1], [9.0, 9.0])
        arms.put_state(0, "paused")
        assert best_of(arms) == 2

    def test_without_a_reward_there_is_nothing_to_recommend(self) -> None:
        with pytest.raises(NoRewards):
            recommend(believing(arms_with([], []), [0.9, 0.1], [9.0, 9.0]), 0.95)


class TestWithoutBeliefs:
    def test_the_arm_with_the_highest_lower_end_wins(self) -> None:
        arms = arms_with(flips(3, 3), flips(54, 60), flips(30, 60))
        lower = [recommend(arms_with(r), 0.95).interval[0] for r in (flips(3, 3), flips(54, 60))]
        assert lower[0] < lower[1]
        assert best_of(arms) == 2

    def test_the_level_decides_how_cautious_it_is(self) -> None:
        # Nine of nine, or 60 of 75: the smaller the level, the narrower the first's interval.
        arms = arms_with(flips(9, 9), flips(60, 75))
        assert recommend(arms, 0.999).arm == 2
        assert recommend(arms, 0.05).arm == 1

    def test_a_model_that_knows_nothing_leaves_the_old_rule(self) -> None:
        arms = arms_with(flips(3, 3), flips(54, 60))
        plain = recommend(arms, 0.95)
        assert recommend(believing(arms, [0.9, 0.1], [0.0, 0.0]), 0.95) == plain

    def test_an_equal_estimate_goes_to_the_higher_mean(self) -> None:
        # One open reward each: no interval, so the lower ends are equal.
        arms = arms_with([1.0], [2.0], ends=None)
        assert recommend(arms, 0.95).interval[0] == -math.inf
        assert best_of(arms) == 2


class TestWithAMemory:
    """An interval allows for a change that the arm's own rewards make likely, noticed or not."""

    def later(self, rewards: list[float]) -> ActiveSet:
        """An arm with 180 of 200, a moment that is kept, and these rewards since."""
        arms = arms_with(flips(180, 200), flips(20, 60))
        arms.put_memory(remember(arms))
        for reward in rewards:
            arms.count_pull(0)
            arms.count_reward(0, reward, was_pending=True)
        return arms

    def test_rewards_that_go_on_as_before_leave_it_as_it_is(self) -> None:
        arms = self.later(flips(27, 30))
        low, high = bounded_interval(np.array([230.0]), np.array([207.0]), 0.95)
        assert recommend(arms, 0.95).interval == (low[0], high[0])

    def test_rewards_that_contradict_the_earlier_ones_widen_it(self) -> None:
        arms = self.later(flips(6, 12))
        assert find_drift(arms) is None
        best = recommend(arms, 0.95)
        low, high = bounded_interval(np.array([12.0]), np.array([6.0]), 0.95)
        assert best.arm == 1
        assert best.interval[0] == low[0]
        assert best.interval[1] >= high[0]
        assert (best.n_rewards, best.since) == (212, None)
