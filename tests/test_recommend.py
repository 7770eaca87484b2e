"""Which arm is recommended, with a model's expectations and without."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from imabo import Choice, Float, Space, Study, oracles, policies
from imabo.arms import ActiveSet, Beliefs
from imabo.confidence import bounded_interval
from imabo.drift import find_drift, forget, remember
from imabo.errors import NoRewards
from imabo.evaluation import chosen, shrink
from imabo.recommend import recommend
from imabo.space import Config

LINE = Space(x=Float(0.0, 1.0))
OF_TWO = 1.0 - 0.05 / 2  # the level of each arm's interval, so that both hold


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


def chance_of(arms: ActiveSet) -> float:
    chance = recommend(arms, 0.95).chance
    assert chance is not None
    return chance


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

    def test_only_the_mean_is_drawn_towards_what_is_expected(self) -> None:
        plain = recommend(arms_with(flips(6, 8)), 0.95)
        arms = believing(arms_with(flips(6, 8)), [0.1], [8.0])
        found = recommend(arms, 0.95)
        assert found == replace(plain, mean=found.mean)
        assert found.mean < plain.mean < 0.75
        assert plain.observed == 0.75

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
        low, high = bounded_interval(np.array([230.0]), np.array([207.0]), OF_TWO)
        assert recommend(arms, 0.95).interval == (low[0], high[0])

    def test_rewards_that_contradict_the_earlier_ones_widen_it(self) -> None:
        arms = self.later(flips(6, 12))
        assert find_drift(arms) is None
        best = recommend(arms, 0.95)
        low, high = bounded_interval(np.array([12.0]), np.array([6.0]), OF_TWO)
        assert best.arm == 1
        assert best.interval[0] == low[0]
        assert best.interval[1] >= high[0]
        assert (best.n_rewards, best.since) == (212, None)


class TestWhatIsSaidOfIt:
    """Of the arm that was chosen among many: not flattered, and as sure as it is."""

    def test_it_is_what_the_estimator_says_of_the_chosen_arm(self) -> None:
        n, ones = np.full(12, 20.0), np.arange(4.0, 16.0)
        arms = arms_with(*(flips(int(one), 20) for one in ones))
        best, found = recommend(arms, 0.9), chosen(11, n, ones, level=0.9)
        assert best.arm == 12
        assert (best.mean, best.chance) == pytest.approx((found.mean, found.chance))
        assert best.observed == found.observed
        assert best.interval == pytest.approx(found.interval)
        assert best.mean < found.observed

    def test_graded_rewards_are_drawn_less_than_coin_flips(self) -> None:
        grades = arms_with(*([m - 0.02, m + 0.02] * 4 for m in (0.3, 0.5, 0.7)))
        flipped = arms_with(*(flips(one, 8) for one in (2, 4, 6)))
        graded, coins = recommend(grades, 0.95), recommend(flipped, 0.95)
        assert chance_of(grades) > 0.99 > chance_of(flipped)
        assert graded.observed == pytest.approx(0.7)
        assert 0.69 < graded.mean < 0.7
        assert coins.mean < 0.72

    def test_chances_of_equal_arms_are_shared_out(self) -> None:
        arms = arms_with(*[flips(5, 9)] * 4)
        assert chance_of(arms) == pytest.approx(0.25, abs=0.01)

    def test_the_only_active_arm_is_the_best(self) -> None:
        arms = arms_with(flips(5, 9), flips(8, 9))
        arms.put_state(1, "paused")
        assert recommend(arms, 0.95).chance == 1.0

    def test_arms_without_a_reward_may_be_better(self) -> None:
        few, many = (arms_with(flips(9, 12), *[[]] * k) for k in (1, 20))
        assert 1.0 > chance_of(few) > chance_of(many)
        # An arm without rewards cannot have been chosen.
        assert recommend(few, 0.95).interval == recommend(many, 0.95).interval

    def test_rewards_without_a_range(self) -> None:
        arms = arms_with(*([m - 20.0, m + 20.0] * 6 for m in (90.0, 100.0, 130.0)), ends=None)
        best = recommend(arms, 0.95)
        assert best.observed == 130.0
        assert best.interval[0] < best.mean < 130.0 < best.interval[1]
        assert 0.9 < chance_of(arms) < 1.0

    def test_rewards_that_are_alike_by_luck_do_not_make_it_certain(self) -> None:
        best = recommend(arms_with([0.0, 8.0] * 10, [9.0] * 3, ends=None), 0.95)
        assert best.arm == 2
        assert best.interval[0] < best.mean < 9.0 < best.interval[1]

    def test_after_a_change_all_of_it_rests_on_what_speaks_of_now(self) -> None:
        arms = arms_with(flips(180, 200), flips(20, 200))
        arms.put_memory(remember(arms))
        for row, ones in ((0, 9), (1, 1)):
            for reward in flips(ones, 30):
                arms.count_pull(row)
                arms.count_reward(row, reward, was_pending=True)
        found = find_drift(arms)
        assert found is not None
        arms.put_memory(forget(arms, found, at=7.0))
        best = recommend(arms, 0.95)
        assert (best.arm, best.n_rewards) == (1, 30)
        assert best.observed == pytest.approx(0.3)
        assert best.since is not None
        assert best.mean < 0.4
        # The moment of the change was chosen, too: eight of them share what two arms share.
        low, high = bounded_interval(np.array([30.0]), np.array([9.0]), 1.0 - 0.05 / 16)
        assert best.interval == pytest.approx((low[0], high[0]))

    def test_of_very_many_arms_the_work_is_bounded(self) -> None:
        rng = np.random.default_rng(4)
        n = rng.integers(1, 6, 3000).astype(float)
        ones = rng.binomial(n.astype(int), 0.4).astype(float)
        every = shrink(n, ones)
        row = int(np.argmax(every.quantile(0.1)))
        few = np.zeros(3000, bool)
        few[np.argsort(-every.quantile(0.9))[:90]] = True
        assert every.chance(row) <= every.chance(row, few) + 1e-3
        assert every.chance(row) > 0.0


def test_over_many_studies_the_mean_is_right_where_the_plain_average_is_flattered() -> None:
    """40 small ones with half of the feedback lost; many more are in docs/evaluation.md."""
    shown, plain, covered = [], [], []
    for seed in range(40):
        rng = np.random.default_rng([seed, 11])
        truth = dict(zip("abcdefghij", rng.uniform(0.35, 0.65, 10), strict=True))
        study = Study.create(
            "s",
            Space(prompt=Choice(*truth)),
            seed=seed,
            policy=policies.IMOSS(),
            oracle=oracles.Random(),
        )
        for _ in range(120):
            pull = study.ask()
            if rng.random() < 0.5:
                study.tell(pull.id, float(rng.random() < truth[str(pull.config["prompt"])]))
        best = study.best()
        mean = truth[str(best.config["prompt"])]
        assert best.observed is not None
        shown.append(best.mean - mean)
        plain.append(best.observed - mean)
        covered.append(best.interval[0] <= mean <= best.interval[1])
    assert abs(np.mean(shown)) < 0.03 < 0.08 < np.mean(plain)
    assert all(covered)
