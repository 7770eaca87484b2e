"""The chosen arm: not flattered, covered, and how sure it is the best."""

from __future__ import annotations

import numpy as np
import pytest

from imabo.confidence import bounded_interval
from imabo.errors import InvalidSetting
from imabo.evaluation import chosen, shrink
from imabo.evaluation.bets import Floats
from imabo.evaluation.shrinking import dispersion
from tests.evaluation.worlds import run


def flips(rng: np.random.Generator, means: Floats, n: int) -> tuple[Floats, Floats]:
    return np.full(len(means), float(n)), rng.binomial(n, means).astype(float)


class TestShrink:
    def test_one_lucky_reward_is_hardly_believed(self) -> None:
        n, sums = np.array([1.0, 60.0, 60.0, 60.0]), np.array([1.0, 30.0, 33.0, 27.0])
        found = shrink(n, sums)
        assert found.means[0] < 0.7
        assert found.quantile(0.1)[0] < found.quantile(0.1)[2]

    def test_an_arm_with_many_rewards_keeps_its_mean(self) -> None:
        n, sums = np.array([5000.0, 20.0, 20.0]), np.array([4000.0, 8.0, 9.0])
        found = shrink(n, sums)
        assert found.means[0] == pytest.approx(0.8, abs=0.005)

    def test_arms_that_are_alike_are_drawn_together_and_others_are_not(self) -> None:
        rng = np.random.default_rng(0)
        n, alike = flips(rng, np.full(30, 0.5), 20)
        _, apart = flips(rng, np.linspace(0.05, 0.95, 30), 20)
        assert np.ptp(shrink(n, alike).means) < 0.5 * np.ptp(alike / n)
        assert np.ptp(shrink(n, apart).means) > 0.85 * np.ptp(apart / n)

    def test_an_arm_without_rewards_is_like_the_others(self) -> None:
        n, sums = np.array([0.0, 50.0, 50.0, 50.0]), np.array([0.0, 20.0, 25.0, 30.0])
        found = shrink(n, sums)
        assert found.means[0] == pytest.approx(0.5, abs=0.1)
        assert found.spreads[0] > found.spreads[1:].max()

    def test_a_model_that_is_right_is_believed_and_a_wrong_one_is_not(self) -> None:
        rng = np.random.default_rng(1)
        means = np.linspace(0.1, 0.9, 40)
        n, sums = flips(rng, means, 5)
        counts = np.full(40, 10.0)
        alone = shrink(n, sums)
        right = shrink(n, sums, prior_means=means, prior_counts=counts)
        wrong = shrink(n, sums, prior_means=means[::-1], prior_counts=counts)
        error = [float(np.abs(one.means - means).mean()) for one in (right, alone, wrong)]
        assert error[0] < 0.6 * error[1]
        assert error[2] < 1.2 * error[1]

    def test_graded_rewards_count_for_more(self) -> None:
        n, sums = np.full(8, 20.0), np.linspace(8.0, 12.0, 8)
        flat = shrink(n, sums)
        graded = shrink(n, sums, squares=sums**2 / n + 0.2)
        assert graded.spreads.max() < 0.5 * flat.spreads.max()
        assert dispersion(n, sums, sums) == 1.0

    def test_without_a_range(self) -> None:
        rng = np.random.default_rng(2)
        means = rng.normal(50.0, 3.0, 30)
        n = np.full(30, 10.0)
        rewards = rng.normal(means, 6.0, (10, 30))
        found = shrink(n, rewards.sum(0), squares=(rewards**2).sum(0), is_bounded=False)
        plain = rewards.mean(0)
        assert np.abs(found.means - means).mean() < np.abs(plain - means).mean()
        low, high = found.interval()
        assert ((low < means) & (means < high)).mean() > 0.8

    def test_thousands_of_arms_do(self) -> None:
        rng = np.random.default_rng(3)
        means = rng.beta(2.0, 4.0, 3000)
        found = shrink(*flips(rng, means, 4))
        assert np.abs(found.means - means).mean() < 0.15

    def test_no_arm_has_a_reward(self) -> None:
        found = shrink(np.zeros(3), np.zeros(3))
        assert np.isfinite(found.means).all()
        assert found.means.std() == pytest.approx(0.0)


class TestChance:
    def test_of_arms_that_are_the_same_each_has_its_part(self) -> None:
        found = shrink(np.full(4, 30.0), np.full(4, 15.0))
        assert found.chance(2) == pytest.approx(0.25, abs=0.01)

    def test_it_adds_up_to_one(self) -> None:
        rng = np.random.default_rng(4)
        found = shrink(*flips(rng, rng.beta(2.0, 4.0, 12), 15))
        assert sum(found.chance(row) for row in range(12)) == pytest.approx(1.0, abs=0.02)

    def test_only_those_that_it_was_chosen_among_count(self) -> None:
        n, sums = np.array([200.0, 200.0, 200.0]), np.array([180.0, 100.0, 90.0])
        among = np.array([False, True, True])
        found = shrink(n, sums)
        assert found.chance(1) < 0.01
        assert found.chance(1, among) > 0.7
        assert found.chance(0, np.array([True, False, False])) == 1.0

    def test_without_a_range_it_adds_up_too(self) -> None:
        n, sums = np.full(3, 10.0), np.array([100.0, 110.0, 120.0])
        found = shrink(n, sums, squares=sums**2 / 10.0 + 50.0, is_bounded=False)
        assert sum(found.chance(row) for row in range(3)) == pytest.approx(1.0, abs=0.01)


class TestChosen:
    def test_the_luckiest_of_many_is_not_flattered(self) -> None:
        rng = np.random.default_rng(5)
        plain, shown, covered = [], [], []
        for _ in range(40):
            means = rng.beta(8.0, 8.0, 30)
            n, sums = flips(rng, means, 25)
            row = int(np.argmax(sums))
            found = chosen(row, n, sums)
            plain.append(found.observed - means[row])
            shown.append(found.mean - means[row])
            covered.append(found.interval[0] <= means[row] <= found.interval[1])
        assert np.mean(plain) > 0.06
        assert abs(np.mean(shown)) < 0.03
        assert all(covered)

    def test_the_interval_is_shared_out_over_the_arms(self) -> None:
        n, sums = np.full(20, 30.0), np.linspace(5.0, 24.0, 20)
        low, high = bounded_interval(n[-1:], sums[-1:], 1.0 - 0.05 / 20)
        assert chosen(19, n, sums).interval == (low[0], high[0])

    def test_a_shrunk_set_can_be_used_again(self) -> None:
        n, sums = np.full(5, 30.0), np.linspace(5.0, 24.0, 5)
        assert chosen(4, n, sums, shrunk=shrink(n, sums)) == chosen(4, n, sums)

    def test_without_a_range(self) -> None:
        n, sums = np.full(5, 30.0), np.linspace(300.0, 360.0, 5)
        squares = sums**2 / n + 30.0 * 4.0
        found = chosen(4, n, sums, squares=squares, is_bounded=False)
        assert found.interval[0] < found.likely[0] < found.mean < found.observed == 12.0

    @pytest.mark.parametrize("row", [-1, 3, 0])
    def test_an_arm_that_is_not_there_or_has_no_reward(self, row: int) -> None:
        with pytest.raises(InvalidSetting, match="row"):
            chosen(row, np.array([0.0, 3.0, 4.0]), np.array([0.0, 1.0, 2.0]))


@pytest.mark.parametrize(("world", "bar"), [("40 prompts", 0.1), ("rare, 20 choices", 0.03)])
def test_on_studies_with_lost_feedback(world: str, bar: float) -> None:
    """A few studies only: the figures over many are in docs/evaluation.md."""
    errors, covered = [], []
    for seed in range(4):
        (moment,) = run(world, "IMOSS", 5000 + seed, (300,))
        truth = float(moment.truths[moment.best])
        found = chosen(moment.best, moment.n, moment.sums)
        errors.append(found.mean - truth)
        covered.append(found.interval[0] <= truth <= found.interval[1])
    assert abs(np.mean(errors)) < bar
    assert all(covered)
