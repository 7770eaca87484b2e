"""What a change makes forgotten, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from imabo import Choice, Float, Space
from imabo.arms import ActiveSet, Restart
from imabo.drift import Drift, compare, find_drift, forget, remember
from imabo.policies import Informed
from imabo.space import Config

from .test_drift import NAMES, give, means_now, nine_arms


class TestForgetting:
    def changed(self, **what: object) -> tuple[ActiveSet, ActiveSet]:
        """Before and after forgetting that something fell from 0.75 to 0.25."""
        arms, after = nine_arms(), nine_arms()
        assert after.memory is not None
        drift = replace(Drift(360, 0.75, 0.25, 30.0, 20.0), **what)  # type: ignore[arg-type]
        after.put_memory(forget(after, drift, 1234.5))
        return arms, after

    def test_a_value_moves_further_than_it_is_seen_to_and_others_stay(self) -> None:
        """From odds of 3 to 1/3 is seen, a ninth; a 27th is taken, so 3 becomes 1/9."""
        before, after = self.changed(parameter="model", value="b")
        rows, others = [3, 4, 5], [0, 1, 2, 6, 7, 8]
        assert_allclose(after.n_now[rows], 2.0)
        assert_allclose(means_now(after)[rows], 0.1)
        assert_allclose(after.n_now[others], before.n_now[others])
        assert_allclose(means_now(after)[others], means_now(before)[others])

    def test_means_move_by_the_same_odds(self) -> None:
        arms = nine_arms()
        give(arms, 3, 40, 40)  # 7 of 8 by now
        arms.put_memory(remember(arms))
        drift = Drift(400, 0.75, 0.5, 30.0, 20.0, parameter="model", value="b")
        arms.put_memory(forget(arms, drift, 0.0))
        # A third of the odds is seen, so 7 and 3 become 3^1.5 times less.
        odds = np.array([7.0, 3.0]) / 3.0**1.5
        assert_allclose(means_now(arms)[[3, 4]], odds / (1.0 + odds))

    def test_an_arm_alone(self) -> None:
        before, after = self.changed(arm=5)
        assert (after.n_now[4], means_now(after)[4]) == (2.0, pytest.approx(0.1))
        others = np.arange(9) != 4
        assert_allclose(after.n_now[others], before.n_now[others])

    def test_everything_leaves_a_part_of_a_reward(self) -> None:
        before, after = self.changed()
        assert_allclose(after.n_now, 0.3)
        assert_allclose(means_now(after), before.means)

    def test_rewards_since_the_change_count_in_full(self) -> None:
        arms = nine_arms()
        give(arms, 0, 20, 3)
        arms.put_memory(forget(arms, Drift(360, 0.75, 0.15, 20.0, 20.0), 0.0))
        assert arms.n_now[0] == pytest.approx(20.3, abs=0.31)
        assert means_now(arms)[0] == pytest.approx(0.15, abs=0.02)
        assert_allclose(arms.n_now[1:], 0.3)

    def test_a_second_change_forgets_what_the_first_left(self) -> None:
        _, arms = self.changed(parameter="model", value="b")
        for row in range(9):
            give(arms, row, 16, 4)
        arms.put_memory(remember(arms))
        n = arms.totals.n_rewards
        arms.put_memory(forget(arms, Drift(n, 0.25, 0.75, 20.0, 20.0), 0.0))
        assert_allclose(arms.n_now, 0.3)
        assert arms.memory is not None
        assert arms.memory.since is not None
        assert arms.memory.since["n_rewards"] == n
        assert find_drift(arms) is None

    def test_a_choice_may_have_1_and_true(self) -> None:
        space = Space(flag=Choice(1, True), x=Float(0.0, 1.0))
        configs: list[Config] = [{"flag": 1, "x": 0.5}, {"flag": True, "x": 0.5}]
        arms = ActiveSet.from_rewards(space, [(config, [1.0, 0.0] * 20) for config in configs])
        arms.put_memory(remember(arms))
        drift = Drift(80, 0.5, 0.1, 20.0, 20.0, parameter="flag", value=True)
        arms.put_memory(forget(arms, drift, 0.0))
        assert (arms.n_now[1], arms.n_now[0]) == (2.0, pytest.approx(40.0, abs=1.0))

    def test_moments_before_the_change_of_a_part_are_compared_with_nothing(self) -> None:
        """Their counters are below what its arms now start from."""
        arms = nine_arms()
        give(arms, 3, 12, 12)  # ten more than the strength of two
        arms.put_memory(remember(arms))
        give(arms, 3, 12, 0)
        drift = Drift(360, 0.75, 0.25, 30.0, 20.0, parameter="model", value="b")
        arms.put_memory(forget(arms, drift, 0.0))
        assert arms.memory is not None
        with np.errstate(all="raise"):
            compared = compare(arms, arms.memory)
        assert np.isfinite(compared.variances).all()
        assert compared.n[0, 3] == 0.0

    def test_growth_starts_again(self) -> None:
        before, after = self.changed()
        assert before.growth_start == Restart()
        assert after.growth_start == Restart(n_pulls=360, n_rewards=360, n_pending=0, n_arms=9)
        assert Informed(scale=0.1, warmup=1).growth(before) is None
        assert Informed(scale=0.1, warmup=1).growth(after) == "warmup"
        assert Informed(scale=0.1, warmup=0).growth(after) == "oracle"
        assert Informed(scale=0.1, warmup=1).strength(after) == 0.1

    def test_a_later_change_of_the_space_starts_it_once_more(self) -> None:
        _, arms = self.changed()
        later = Restart(n_pulls=400, n_rewards=390, n_pending=10, n_arms=11)
        arms.restart = later
        assert arms.growth_start == later
        arms.restart = Restart(n_pulls=100, n_rewards=100, n_pending=0, n_arms=5)
        assert arms.growth_start.n_pulls == 360

    def test_there_must_be_something_to_forget(self) -> None:
        arms = ActiveSet.from_rewards(NAMES, [({"model": "a"}, [1.0] * 99)])
        with pytest.raises(LookupError):
            forget(arms, Drift(50, 0.5, 0.1, 20.0, 20.0), 0.0)
