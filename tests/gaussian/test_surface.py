"""The reward surface: its scale, its noise, what it believes and what it remembers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logit

from imabo.arms import ActiveSet, Beliefs, Floats
from imabo.gaussian.surface import Surface
from imabo.space import Choice, Config, Float, Space
from imabo.testing.situations import SITUATIONS, noisy_set

from .samples import LINE, MIXED, coins

MIDDLE, AWAKE = np.array([[0.5]]), np.array([[True]])
HYPERPARAMETERS: dict[str, Any] = {"signal": 0.1, "own": -3.0, "share": 0.2}


def at(
    rewards: dict[float, list[float]],
    ends: tuple[float, float] | None = (0, 1),
    pending: Sequence[int] = (),
) -> ActiveSet:
    """Arms at places of a line."""
    configs: list[Config] = [{"x": place} for place in rewards]
    tried = list(zip(configs, rewards.values(), strict=True))
    return ActiveSet.from_rewards(LINE, tried, reward_range=ends, pending=pending)


def along(
    rewards: Callable[[float], list[float]], n: int = 12, ends: tuple[float, float] | None = (0, 1)
) -> ActiveSet:
    """Arms at even places of the line."""
    return at({i / (n - 1): rewards(i / (n - 1)) for i in range(n)}, ends)


def flips(ones: int, n: int) -> list[float]:
    return [1.0] * ones + [0.0] * (n - ones)


def remembering(arms: ActiveSet, n_searched: int, **scales: float) -> ActiveSet:
    """The same arms after a search among so many that ended at these hyperparameters."""
    state = HYPERPARAMETERS | {"scales": scales, "arms": n_searched}
    arms.put_beliefs(Beliefs(np.zeros(len(arms)), np.zeros(len(arms)), state))
    return arms


def state_after(arms: ActiveSet) -> dict[str, Any]:
    units, mask = np.full((1, len(arms.space)), 0.5), np.ones((1, len(arms.space)), dtype=np.bool_)
    return dict(Surface(arms).beliefs(units, mask).state)


def believed(arms: ActiveSet) -> Beliefs:
    return Surface(arms).beliefs(MIDDLE, AWAKE)


class TestScale:
    def test_rewards_with_ends_are_modelled_as_logits(self) -> None:
        """With many coin flips an arm, the model's values are the logits of the means."""
        arms = along(lambda x: flips(100 + int(1800 * x), 2000))
        process = Surface(arms).process
        slope, start = np.polyfit(logit(arms.means), process.at_points(), 1)
        assert slope > 0
        assert_allclose(process.at_points(), start + slope * logit(arms.means), atol=0.05)

    def test_a_study_s_range_of_rewards_makes_no_difference(self) -> None:
        unit = believed(along(lambda x: flips(int(10 * x), 10)))
        wide = believed(
            along(lambda x: [40 * f - 10 for f in flips(int(10 * x), 10)], 12, (-10, 30))
        )
        assert_allclose(wide.means, unit.means, rtol=1e-6)
        assert_allclose(wide.counts, unit.counts, rtol=1e-6)

    @pytest.mark.parametrize(
        ("unit", "offset"), [(1e-12, 0.0), (1e-5, 3.0), (1e6, 0.0), (1.0, 1e4)]
    )
    def test_the_unit_of_open_rewards_makes_no_difference(self, unit: float, offset: float) -> None:
        def rewards(x: float) -> list[float]:
            return [np.sin(6 * x) + noise for noise in (-0.2, 0.05, 0.15)]

        plain = believed(along(rewards, ends=None))
        other = believed(along(lambda x: [offset + unit * r for r in rewards(x)], ends=None))
        assert_allclose(other.means, offset + unit * plain.means, atol=1e-3 * unit)
        assert_allclose(other.counts, plain.counts, rtol=1e-2)

    @pytest.mark.parametrize("value", [0.0, 7.0, -1e9, 1e-200])
    def test_open_rewards_without_any_difference_are_expected_again(self, value: float) -> None:
        beliefs = believed(along(lambda x: [value] * 3, ends=None))
        assert_allclose(beliefs.means, value, rtol=1e-6, atol=1e-250)
        assert np.isfinite(beliefs.counts).all()

    def test_open_rewards_are_predicted(self) -> None:
        arms = along(lambda x: [100 * np.sin(4 * x) + e for e in (-5, 5)], ends=None)
        beliefs = Surface(arms).beliefs(np.array([[0.45]]), AWAKE)
        assert beliefs.means[-1] == pytest.approx(100 * np.sin(4 * 0.45), abs=8)


class TestNoise:
    def graded(self, x: float) -> list[float]:
        mean = sum(self.coin(x)) / 20
        return [mean - 0.05, mean + 0.05] * 10

    def coin(self, x: float) -> list[float]:
        return flips(round(6 + 8 * x), 20)

    def test_graded_rewards_say_more_than_coin_flips_of_the_same_means(self) -> None:
        graded, coin = along(self.graded), along(self.coin)
        assert_allclose(graded.means, coin.means, atol=1e-12)
        doubts = [Surface(arms).predict(MIDDLE, AWAKE)[1][0] for arms in (graded, coin)]
        assert doubts[0] < 0.1 * doubts[1]

    def test_graded_rewards_are_followed_more_closely(self) -> None:
        graded, coin = (Surface(along(r)).process.at_points() for r in (self.graded, self.coin))
        assert graded[-1] - graded[0] > 1.2 * (coin[-1] - coin[0])

    def test_a_prior_count_is_in_rewards_of_the_kind_that_the_study_gets(self) -> None:
        """The same belief takes fewer of the rewards that say more."""
        graded, coin = believed(along(self.graded)), believed(along(self.coin))
        assert graded.counts[-1] < 0.3 * coin.counts[-1]

    def test_more_rewards_say_more(self) -> None:
        few, many = (along(lambda x: self.coin(x)), along(lambda x: 10 * self.coin(x)))
        doubts = [Surface(arms).predict(MIDDLE, AWAKE)[1][0] for arms in (few, many)]
        assert doubts[1] < 0.5 * doubts[0]
        assert believed(many).counts[-1] > 1.5 * believed(few).counts[-1]


class TestBeliefs:
    @pytest.mark.parametrize(
        "situation", [name for name in SITUATIONS if (SITUATIONS[name]().n_rewards > 0).any()]
    )
    def test_there_is_a_usable_one_for_every_arm_and_the_new_one(self, situation: str) -> None:
        arms = SITUATIONS[situation]()
        d = len(arms.space)
        beliefs = Surface(arms).beliefs(np.full((1, d), 0.5), np.ones((1, d), dtype=np.bool_))
        assert len(beliefs.means) == len(beliefs.counts) == len(arms) + 1
        assert np.isfinite(beliefs.means).all()
        assert np.isfinite(beliefs.counts).all()
        assert (beliefs.counts >= 0).all()
        if arms.reward_range is not None:
            assert ((beliefs.means >= 0) & (beliefs.means <= 1)).all()

    def lone(self, at_five: list[float], ends: tuple[float, float] | None) -> ActiveSet:
        """Arms on a line whose sixth has rewards that are none of the others' business."""
        arms = along(lambda x: at_five if x == 5 / 11 else flips(round(2 + 6 * x), 10), 12, ends)
        return remembering(arms, 12, x=-1.0)

    @pytest.mark.parametrize("ends", [None, (0.0, 1.0)], ids=["open", "with ends"])
    def test_an_arm_s_own_rewards_hardly_matter_to_what_is_expected_of_it(
        self, ends: tuple[float, float] | None
    ) -> None:
        low, high = (believed(self.lone(flips(ones, 10), ends)).means for ones in (0, 10))
        assert abs(high[5] - low[5]) < 0.06
        assert min(high[4] - low[4], high[6] - low[6]) > 0.06  # and to its neighbours they do

    def test_an_arm_without_a_reward_is_expected_to_be_as_its_neighbours_are(self) -> None:
        arms = along(lambda x: [] if x in (0.0, 1.0) else flips(round(1 + 8 * x), 10))
        beliefs = believed(arms)
        assert beliefs.means[0] < 0.35
        assert beliefs.means[11] > 0.65
        assert (beliefs.counts > 0).all()

    def test_far_from_all_arms_less_is_known(self) -> None:
        arms = at({0.4 + 0.01 * i: flips(2 + i // 2, 10) for i in range(12)})
        surface = Surface(arms)
        near, far = (surface.beliefs(np.array([[x]]), AWAKE).counts[-1] for x in (0.455, 1.0))
        assert far < 0.5 * near

    def test_leaders_are_the_highest_that_are_not_retired(self) -> None:
        arms = along(lambda x: flips(round(10 + 80 * x), 100))
        assert set(Surface(arms).leaders(3).tolist()) == {9, 10, 11}
        arms.put_state(11, "retired")
        arms.put_state(10, "paused")
        assert set(Surface(arms).leaders(3).tolist()) == {8, 9, 10}
        for row in range(12):
            arms.put_state(row, "retired")
        assert not len(Surface(arms).leaders(3))

    def test_a_lucky_reward_does_not_make_a_leader(self) -> None:
        tried = {i / 11: flips(round(10 + 80 * i / 11), 100) for i in range(12)}
        arms = at(tried | {0.05: [1.0]})
        assert arms.means.argmax() == 12
        assert 12 not in Surface(arms).leaders(3)


class TestEnds:
    """Eight axes, each arm better the nearer it is to the middle: no arm is near a corner."""

    SPACE = Space({f"x{i}": Float(0.0, 1.0) for i in range(8)})
    CORNER, EVERYWHERE = np.ones((1, 8)), np.ones((1, 8), dtype=np.bool_)

    def surface(self) -> Surface:
        def mean(config: Config) -> float:
            units, _ = self.SPACE.encode(config)
            return 0.9 - 0.8 * float(np.mean((2.0 * units - 1.0) ** 2))

        return Surface(coins(self.SPACE, 60, 30, mean))

    def test_poor_ends_make_a_corner_poor(self) -> None:
        surface = self.surface()
        corner, _ = surface.predict(self.CORNER, self.EVERYWHERE)
        middle, _ = surface.predict(0.5 * self.CORNER, self.EVERYWHERE)
        assert surface.to_unit(corner)[0] < 0.3 < 0.6 < surface.to_unit(middle)[0]

    def test_without_the_slope_a_corner_may_be_as_good_as_any(self) -> None:
        surface = self.surface()
        corner, doubt = surface.predict(self.CORNER, self.EVERYWHERE, slope=False)
        assert corner[0] > surface.predict(self.CORNER, self.EVERYWHERE)[0][0] + 1.0
        _, least = surface.predict(0.5 * self.CORNER, self.EVERYWHERE, slope=False)
        assert doubt[0] > least[0]

    def test_choices_without_an_order_have_no_ends(self) -> None:
        prompts = Space(prompt=Choice(*"abcdefgh"), model=Choice("small", "large"))
        surface = Surface(coins(prompts, 12, 5, lambda _: 0.5))
        assert not surface.has_ends
        assert self.surface().has_ends
        rows = prompts.settle(np.random.default_rng(0).random((9, 2)))
        for one, other in zip(
            surface.predict(*rows), surface.predict(*rows, slope=False), strict=True
        ):
            assert_allclose(one, other, atol=1e-12)


class TestPending:
    def doubt(self, pending: list[int]) -> Floats:
        arms = at({i / 40: flips(5 + i % 2, 10) for i in range(12)} | {0.9: []}, pending=pending)
        return Surface(arms).predict(np.array([[0.9], [0.15]]), np.ones((2, 1), dtype=np.bool_))[1]

    def test_next_to_an_arm_whose_first_reward_is_out_there_is_less_doubt(self) -> None:
        free, waiting = self.doubt([]), self.doubt([0] * 12 + [1])
        assert waiting[0] < 0.3 * free[0]
        assert waiting[1] == pytest.approx(free[1], rel=0.05)

    def test_a_pull_that_is_out_does_not_count_as_a_reward(self) -> None:
        arms = along(lambda x: [] if x == 1.0 else flips(5, 10))
        before = believed(arms)
        arms.count_pull(11)
        assert believed(arms) == before


class TestMemory:
    def test_it_starts_from_where_the_last_search_ended(self) -> None:
        """As long as there are not many more arms, that is also where it stays."""
        arms = remembering(coins(MIXED, 30, 5, lambda c: 0.5), 29, kind=0.4, x=0.3, y=0.2, z=0.1)
        state = state_after(arms)
        assert state["scales"] == {"kind": 0.4, "x": 0.3, "y": 0.2, "z": 0.1}
        assert {name: state[name] for name in HYPERPARAMETERS} == HYPERPARAMETERS
        assert state["arms"] == 29

    @pytest.mark.parametrize("n_searched", [0, 20, 28, 31, 300])
    def test_it_searches_again_with_more_arms_and_with_fewer(self, n_searched: int) -> None:
        """There are fewer once a changed space no longer allows them."""
        arms = coins(MIXED, 30, 5, lambda c: 0.5)
        state = state_after(remembering(arms, n_searched, kind=0.4, x=0.3, y=0.2, z=0.1))
        assert state["arms"] == 30
        assert state["scales"]["x"] != 0.3

    def test_a_space_with_other_parameters_starts_afresh(self) -> None:
        old = coins(MIXED, 30, 5, lambda c: 0.5)
        fresh = state_after(old)
        for scales in ({"x": 0.3}, {"kind": 0.4, "x": 0.3, "y": 0.2, "w": 0.1}):
            assert state_after(remembering(old, 30, **scales)) == fresh

    @pytest.mark.parametrize(("names", "scales"), [("xy", (-1.5, 0.2)), ("yx", (0.2, -1.5))])
    def test_scales_go_by_name_not_by_place(self, names: str, scales: tuple[float, float]) -> None:
        space = Space({name: Float(0.0, 1.0) for name in names})
        arms = remembering(coins(space, 30, 5, lambda c: 0.5), 30, y=0.2, x=-1.5)
        assert Surface(arms).process.hyperparameters.scales == scales

    @pytest.mark.parametrize("state", [{}, {"made": 3, "scales": [0.1, 0.2]}])
    def test_what_another_oracle_remembered_is_ignored(self, state: dict[str, Any]) -> None:
        arms = coins(MIXED, 30, 5, lambda c: 0.5)
        fresh = state_after(arms)
        arms.put_beliefs(Beliefs(np.zeros(30), np.zeros(30), state))
        assert state_after(arms) == fresh

    def test_what_it_remembers_survives_the_store(self) -> None:
        arms = coins(MIXED, 30, 5, lambda c: 0.5)
        beliefs = Surface(arms).beliefs(np.full((1, 4), 0.5), np.ones((1, 4), dtype=np.bool_))
        row = arms.admit(99, distinct(arms))
        assert row == 30
        document = arms.put_beliefs(beliefs)
        assert document["state"] == beliefs.state


def distinct(arms: ActiveSet) -> Config:
    """A configuration that is not an arm."""
    rng = np.random.default_rng(77)
    return next(c for c in (arms.space.sample(rng) for _ in range(99)) if c not in arms)


def test_past_a_thousand_arms_it_rests_on_a_thousand() -> None:
    arms = noisy_set(MIXED, 1200, n_rewards=1)
    for row in range(1190, 1200):
        arms.count_pull(row)
        arms.count_reward(row, 1.0, was_pending=True)
    surface = Surface(arms)
    assert len(surface.rows) == len(surface.process.values) == 1000
    assert set(range(1190, 1200)) <= set(surface.rows.tolist())
    assert max(np.diff(surface.rows)) <= 3  # and none of the study's times is left out
    beliefs = surface.beliefs(np.full((1, 4), 0.5), np.ones((1, 4), dtype=np.bool_))
    assert len(beliefs.document(list(range(1201)))["arms"]) == 1201
