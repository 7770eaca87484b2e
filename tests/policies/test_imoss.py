"""IMOSS against the paper's equations, worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from imabo import Choice, Float, Space, Study
from imabo.arms import ActiveSet, Restart
from imabo.errors import InvalidSetting
from imabo.oracles import Random
from imabo.policies import IMOSS, Expand, Serve
from imabo.policies.base import Draws

from .sets import LINE, arms_with, equal_arms


def moss_by_hand(arms: ActiveSet, t: float, k: float, alpha: float) -> list[float]:
    """Eq. (moss), one arm at a time in plain Python."""
    return [
        mean + math.sqrt((1 + alpha) / 2 * max(0.0, math.log(t / (k * n))) / n)
        for mean, n in zip(arms.means.tolist(), arms.n_rewards.tolist(), strict=True)
    ]


class TestIndex:
    def test_eq_moss_on_three_arms(self) -> None:
        # t = 7 rewards + this round = 8, K = 3, (1 + alpha) / 2 = 0.55:
        # log(8/12) < 0; 0.55 log(8/6) / 2 = 0.0791126; 0.55 log(8/3) / 1 = 0.5394561.
        arms = arms_with([1, 0, 1, 1], [0, 1], [1])
        assert_allclose(IMOSS().scores(arms), [0.75, 0.5 + 0.2812696, 1.0 + 0.7344767], atol=1e-7)

    def test_eq_moss_alpha_widens_the_bonus(self) -> None:
        # (1 + 1) / 2 = 1: sqrt(log(8/3)) = 0.9903682.
        arms = arms_with([1, 0, 1, 1], [0, 1], [1])
        assert IMOSS(alpha=1.0).scores(arms)[2] == pytest.approx(1.9903682, abs=1e-7)

    @pytest.mark.parametrize("seed", range(5))
    def test_eq_moss_is_what_instant_feedback_gives_exactly(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        arms = arms_with(*(rng.random(rng.integers(1, 30)).tolist() for _ in range(20)))
        t = arms.totals.n_rewards + 1
        assert_allclose(IMOSS().scores(arms), moss_by_hand(arms, t, 20, 0.1), rtol=1e-14)

    def test_eq_moss_counts_only_arms_that_can_be_served_in_k(self) -> None:
        arms = arms_with([1, 0, 1, 1], [0, 1], [1])
        arms.put_state(0, "paused")
        assert_allclose(IMOSS().scores(arms), moss_by_hand(arms, 8, 2, 0.1), rtol=1e-14)

    def test_rewards_are_mapped_to_the_unit_interval_before_eq_moss(self) -> None:
        arms = ActiveSet.from_rewards(
            LINE, [({"x": 0.1}, [-10.0, 30.0]), ({"x": 0.2}, [20.0])], reward_range=(-10.0, 30.0)
        )
        # Means 0.5 and 0.75; t = 4, K = 2: log(4/4) = 0 and log(4/2) = 0.6931472.
        expected = [0.5, 0.75 + math.sqrt(0.55 * 0.6931472)]
        assert_allclose(IMOSS().scores(arms), expected, atol=1e-7)

    def test_an_arm_never_served_comes_first(self) -> None:
        arms = arms_with([1.0] * 50, [], [0.0] * 50)
        assert IMOSS(warmup=0, beta=0.1).decide(arms, Draws(0, 1)) == Serve(1)

    def test_kl_index_solves_its_equation(self) -> None:
        # Largest q with n kl(mean, q) <= log+(t / (K n)): t = 12, K = 3.
        arms = arms_with([1, 0, 1, 1], [0, 1, 0, 0, 0], [1, 0])
        q = IMOSS(index="kl").scores(arms)
        for mean, n, bound in zip(arms.means, arms.n_rewards, q, strict=True):
            kl = mean * math.log(mean / bound) + (1 - mean) * math.log((1 - mean) / (1 - bound))
            assert n * kl == pytest.approx(max(0.0, math.log(12 / (3 * n))), abs=1e-7)

    def test_kl_index_is_below_the_moss_index_by_pinsker(self) -> None:
        rng = np.random.default_rng(0)
        arms = arms_with(*(rng.integers(0, 2, rng.integers(1, 40)).tolist() for _ in range(60)))
        # kl(m, q) >= 2 (q - m)^2, so q <= m + sqrt(budget / 2): eq. (moss) as alpha goes to 0.
        assert (IMOSS(index="kl").scores(arms) <= IMOSS(alpha=1e-12).scores(arms) + 1e-9).all()


class TestGrowth:
    @pytest.mark.parametrize(
        ("n_arms", "t", "beta", "due"),
        [
            (10, 100, 0.5, False),  # 10 < 10
            (10, 101, 0.5, True),  # 10 < 10.05
            (11, 121, 0.5, False),
            (11, 122, 0.5, True),
            (12, 400, 0.4, False),  # 400^0.4 = 10.99
            (10, 400, 0.4, True),
        ],
    )
    def test_growth_rule(self, n_arms: int, t: int, beta: float, due: bool) -> None:
        """Algorithm (moss): an arm is due while |M_t| < t^beta; t counts the round decided."""
        arms = equal_arms(n_arms, t - 1)
        assert IMOSS(beta=beta).growth(arms) == ("oracle" if due else None)

    def test_warmup_comes_first(self) -> None:
        """Algorithm (moss): N_s draws from P0."""
        assert IMOSS().decide(equal_arms(9, 9), Draws(0, 1)) == Expand("warmup")
        assert isinstance(IMOSS(warmup=9).decide(equal_arms(9, 9), Draws(0, 1)), Serve)

    def test_retired_arms_make_room_and_paused_ones_do_not(self) -> None:
        arms = equal_arms(12, 120)  # 12 >= 11
        arms.put_state(3, "paused")
        assert IMOSS().growth(arms) is None
        arms.put_state(3, "retired")
        assert IMOSS().growth(arms) is None  # 11 >= 11 at t = 121
        arms.put_state(4, "retired")
        assert IMOSS().growth(arms) == "oracle"

    @pytest.mark.parametrize(("t", "due"), [(50, False), (54, False), (55, True), (59, True)])
    def test_restart_rule(self, t: int, due: bool) -> None:
        """|M_t| - N_0 < (t - t_0)^beta, with N_0 = 10, t_0 = 50 and 12 arms: from t = 55 on."""
        arms = equal_arms(12, t - 1)
        arms.restart = Restart(n_pulls=50, n_rewards=50, n_pending=0, n_arms=10)
        assert IMOSS().growth(arms) == ("oracle" if due else None)

    def test_restart_counts_pending_pulls_at_t0_by_todays_p(self) -> None:
        # No window: p = (31 + 1) / (31 + 8 + 1) = 0.8; N~ = 31 + 6.4 + 1 - (20 + 0.8 * 5) = 14.4,
        # so 3 arms more than at the restart are due (3 < 3.79), and a fourth is not (4 > 3.79).
        restart = Restart(n_pulls=25, n_rewards=20, n_pending=5, n_arms=9)
        for n_arms, due in [(12, "oracle"), (13, None)]:
            rewards = [[0.5] * (31 // n_arms + (row < 31 % n_arms)) for row in range(n_arms)]
            arms = arms_with(*rewards, pending=[8], restart=restart)
            assert IMOSS(warmup=5).growth(arms) == due

    def test_a_study_explores_a_new_space_at_once_and_by_the_restart_rule(self) -> None:
        study = Study.create("s", Space(x=Float(0, 1)), policy=IMOSS(), oracle=Random(), seed=0)
        for _ in range(400):
            study.tell(study.ask().id, 0.5)
        n_0 = len(study.arms())
        study.update_space(Space(x=Float(0, 2), y=Choice("a", "b")))
        # The new space allows none of the old arms (they have no y), so N_0 = 0 and it warms up.
        assert all(arm.state == "retired" for arm in study.arms())
        for after in range(1, 60):
            study.tell(study.ask().id, 0.5)
            assert len(study.arms()) - n_0 == min(after, max(10, math.ceil(after**0.5)))

    def test_a_study_keeps_its_arms_and_adds_t_minus_t0_to_the_beta(self) -> None:
        study = Study.create("s", Space(x=Float(0, 1)), policy=IMOSS(), oracle=Random(), seed=0)
        for _ in range(400):
            study.tell(study.ask().id, 0.5)
        n_0 = len(study.arms())
        study.update_space(Space(x=Float(0, 2)))
        for after in range(1, 60):
            study.tell(study.ask().id, 0.5)
            assert len(study.arms()) - n_0 == math.ceil(after**0.5)


class TestDelay:
    """Eq. (delayed-feedback): 43 rewards, 3 pending, 10 expired, so p = 44 / 54 = 0.8148148."""

    @pytest.fixture
    def arms(self) -> ActiveSet:
        return arms_with([1, 0], [1], [0.5] * 40, pending=[2, 1, 0], expired=[0, 0, 10])

    def test_eq_delayed_feedback_as_printed(self, arms: ActiveSet) -> None:
        # N~ = 43 + 3 p = 45.4444444, N~^0.5 = 6.7412495;
        # n~ = 2 + 2 p + 1 = 4.6296296, 1 + p + 1 = 2.8148148, 40 + 1 = 41.
        # log(6.7412495 / n~) = 0.3757684, 0.8733488, < 0.
        expected = [
            0.5 + math.sqrt(0.55 * 0.3757684 / 4.6296296),
            1.0 + math.sqrt(0.55 * 0.8733488 / 2.8148148),
            0.5,
        ]
        assert_allclose(IMOSS(delay="printed").scores(arms), expected, atol=1e-6)

    def test_eq_delayed_feedback_as_printed_ignores_expired_pulls(self) -> None:
        # 59 rewards and 20 expired: p = 60 / 80 = 0.75, N~ = 59, n~ = 1 for the silent arm.
        arms = arms_with([], [0.5] * 59, expired=[20, 0])
        expected = 0.5 + math.sqrt(0.55 * math.log(59 / math.sqrt(59)))
        assert IMOSS(delay="printed").scores(arms)[0] == pytest.approx(expected, abs=1e-9)

    def test_eq_delayed_feedback_as_printed_grows_without_the_round_itself(self) -> None:
        """|M_t| < N~^beta: 100 rewards are needed to pass 10 arms, where eq. (moss) needs t."""
        assert IMOSS(delay="printed").growth(equal_arms(10, 100)) is None
        assert IMOSS(delay="printed").growth(equal_arms(10, 101)) == "oracle"

    def test_the_aware_form_counts_pending_pulls_in_eq_moss(self, arms: ActiveSet) -> None:
        # t = N~ + 1 = 46.4444444, K = 3; n = 2 + 2 p = 3.6296296, 1 + p = 1.8148148, 40:
        # log(t / (3 n)) = 1.4505140, 2.1436611, < 0.
        expected = [
            0.5 + math.sqrt(0.55 * 1.4505140 / 3.6296296),
            1.0 + math.sqrt(0.55 * 2.1436611 / 1.8148148),
            0.5,
        ]
        assert_allclose(IMOSS().scores(arms), expected, atol=1e-6)

    def test_the_aware_form_counts_a_silent_arm_for_half_of_what_should_have_come(self) -> None:
        # p = 60 / 80 = 0.75: n = 0.5 * 0.75 * 20 = 7.5; t = 60, K = 2: log(60 / 15) = 1.3862944.
        arms = arms_with([], [0.5] * 59, expired=[20, 0])
        expected = 0.5 + math.sqrt(0.55 * 1.3862944 / 7.5)
        assert IMOSS().scores(arms)[0] == pytest.approx(expected, abs=1e-7)

    def test_the_aware_form_grows_with_rewards_and_expected_rewards(self) -> None:
        # No window: p = (60 + 1) / (60 + 60 + 1) = 0.504; t = 60 + 30.25 + 1 = 91.25 < 100.
        rewards = [[0.5] * 6] * 10
        assert IMOSS().growth(arms_with(*rewards, pending=[6] * 10)) is None
        # With a window nothing is missing yet: p = 1, t = 121 > 100.
        assert IMOSS().growth(arms_with(*rewards, pending=[6] * 10, expired=[0])) == "oracle"

    def test_the_blind_form_counts_rounds_and_rewarded_pulls_only(self, arms: ActiveSet) -> None:
        # t = 56 pulls + 1 = 57, K = 3, n = 2, 1, 40.
        expected = moss_by_hand(arms, 57, 3, 0.1)
        assert_allclose(IMOSS(delay="blind").scores(arms), expected, rtol=1e-12)
        assert IMOSS(delay="blind", warmup=3).growth(arms) == "oracle"  # 3 < 57^0.5

    @pytest.mark.parametrize("form", ["aware", "printed", "blind"])
    def test_an_arm_without_rewards_is_taken_for_average(self, form: str) -> None:
        arms = arms_with([1.0, 0.5], [0.0], [], pending=[0, 0, 50], expired=[0])
        policy = IMOSS(delay=form)  # type: ignore[arg-type]
        assert policy.scores(arms)[2] >= 0.5


@pytest.mark.parametrize(
    "settings",
    [
        {"beta": 0},
        {"beta": 1},
        {"beta": math.nan},
        {"beta": "0.5"},
        {"alpha": 0},
        {"alpha": math.inf},
        {"warmup": -1},
        {"warmup": 2.5},
        {"warmup": True},
        {"index": "ucb"},
        {"delay": None},
    ],
)
def test_settings_out_of_range_are_refused_by_name(settings: dict[str, object]) -> None:
    (name,) = settings
    with pytest.raises(InvalidSetting, match=name):
        IMOSS(**settings)  # type: ignore[arg-type]
