"""Informed by hand, and in studies whose model is right or wrong."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from imabo import Choice, Float, Space, Study
from imabo.arms import ActiveSet, Arm, Beliefs, Floats, Restart
from imabo.drift import remember
from imabo.errors import InvalidSetting
from imabo.oracles import GP, Exhausted, Oracle, Proposal, Random
from imabo.oracles.base import draw_new
from imabo.policies import IMOSS, Expand, Informed, Policy
from imabo.policies.base import Draws
from imabo.policies.counts import prior_counts
from imabo.space import Config
from imabo.testing.situations import SITUATIONS
from tests.loops import first, seeds

from .sets import LINE, arms_with, equal_arms

Tried = tuple[Config, list[float]]


def believing(arms: ActiveSet, means: list[float], counts: list[float]) -> ActiveSet:
    arms.put_beliefs(Beliefs(np.array(means), np.array(counts), {}))
    return arms


def three_arms() -> ActiveSet:
    """7 rewards; the average arm has 7 / 3."""
    return believing(arms_with([1, 0, 1, 1], [0, 1], [1]), [0.5, 0.9, 0.2], [2.0, 50.0, 1.0])


# Priors 2, 7/3 and 1, filled up to 3 with rewards of the overall mean, 5/7:
# (2 * 0.5 + 5/7 + 3) / 7, (7/3 * 0.9 + 2/3 * 5/7 + 1) / 5, (0.2 + 2 * 5/7 + 1) / 4
MEANS = [0.6734694, 0.7152381, 0.6571429]
# t = 8, K = 3: log(8/12) < 0, log(8/6) = 0.2876821, log(8/3) = 0.9808293
BUDGETS = [0.0, 0.2876821 / 5, 0.9808293 / 4]


class TestIndex:
    def test_without_a_bonus_it_is_the_mean_with_the_prior_rewards(self) -> None:
        assert_allclose(Informed(bonus=0.0).scores(three_arms()), MEANS, atol=1e-6)

    # Eight arms are due, or hardly any: among few arms that makes no difference to the logarithm.
    @pytest.mark.parametrize("scale", [3.0, 1e-9])
    @pytest.mark.parametrize("bonus", [0.3, 1.0])
    def test_the_index_solves_its_equation(self, bonus: float, scale: float) -> None:
        bounds = Informed(bonus=bonus, top=0.0, scale=scale).scores(three_arms())
        for mean, budget, q in zip(MEANS, BUDGETS, bounds.tolist(), strict=True):
            kl = mean * math.log(mean / q) + (1 - mean) * math.log((1 - mean) / (1 - q))
            assert kl == pytest.approx(bonus * budget, abs=1e-6)

    def test_a_prior_counts_at_most_as_much_as_trust_allows(self) -> None:
        # The second arm's 50 count for trust * 7/3: 0, 14/3; others have less than that. What is
        # missing to 3 are rewards of the overall mean.
        for trust, n in [(0.0, 0.0), (1.0, 7 / 3), (2.0, 14 / 3), (100.0, 50.0)]:
            found = Informed(bonus=0.0, trust=trust).scores(three_arms())
            anchor = max(3.0 - n, 0.0)
            mean = (n * 0.9 + 1 + anchor * 5 / 7) / (n + anchor + 2)
            assert found[1] == pytest.approx(mean, abs=1e-9)

    @pytest.mark.parametrize(("skill", "part"), [(1.0, 1.0), (0.5, 0.65), (0.0, 0.3)])
    def test_a_model_whose_expectations_do_not_come_true_is_trusted_less(
        self, skill: float, part: float
    ) -> None:
        arms = three_arms()
        arms.put_beliefs(Beliefs(np.full(3, 0.9), np.full(3, 50.0), {}, skill))
        n = part * 2.0 * 7 / 3
        anchor = max(3.0 - n, 0.0)
        mean = (n * 0.9 + 1 + anchor * 5 / 7) / (n + anchor + 2)
        assert Informed(bonus=0.0, trust=2.0).scores(arms)[1] == pytest.approx(mean, abs=1e-9)

    @pytest.mark.parametrize(("skill", "part"), [(1.0, 1.0), (0.5, 0.55), (0.0, 0.1)])
    def test_less_still_where_no_arm_can_teach_about_another(
        self, skill: float, part: float
    ) -> None:
        tried: list[Tried] = [({"p": "a"}, [1.0] * 40), ({"p": "b"}, [0.0] * 40)]
        arms = ActiveSet.from_rewards(Space(p=Choice("a", "b", "c")), tried)
        arms.put_beliefs(Beliefs(np.full(2, 0.5), np.full(2, 90.0), {}, skill))
        assert_allclose(prior_counts(arms, limit=90.0), part * 40.0)

    @pytest.mark.parametrize(("n_later", "left"), [(0, 1.0), (1, 1.0), (7, 0.625), (28, 0.25)])
    def test_an_expectation_fades_as_rewards_come_that_it_did_not_know(
        self, n_later: int, left: float
    ) -> None:
        """Whole while the model knew 4/5 of the rewards: 7 / (0.8 * 14), 7 / (0.8 * 35)."""
        arms = three_arms()
        for _ in range(n_later):
            arms.count_pull(0)
            arms.count_reward(0, 1.0, was_pending=True)
        n, level = 50.0 * left, (5 + n_later) / (7 + n_later)
        anchor = max(3.0 - n, 0.0)
        mean = (n * 0.9 + 1 + anchor * level) / (n + anchor + 2)
        assert Informed(bonus=0.0, trust=100.0).scores(arms)[1] == pytest.approx(mean, abs=1e-9)

    def test_rewards_that_are_still_out_count_as_average_ones(self) -> None:
        arms = arms_with([1, 1, 1, 1], [0, 0, 0, 0], pending=[9, 0])
        # p = (8 + 1) / (8 + 9 + 1), so 4.5 rewards of 0.5 are expected, and 3 are the anchor
        assert Informed(bonus=0.0).scores(arms)[0] == pytest.approx((4 + 2.25 + 1.5) / 11.5)

    def test_a_prior_never_counts_for_more_than_the_limit(self) -> None:
        found = Informed(bonus=0.0, trust=100.0, limit=10.0).scores(three_arms())
        assert found[1] == pytest.approx((10 * 0.9 + 1) / 12, abs=1e-9)

    def test_an_arm_that_nothing_is_known_of_has_the_overall_mean(self) -> None:
        arms = arms_with([1, 1, 1, 0], [])
        assert Informed(bonus=0.0).scores(arms)[1] == pytest.approx(0.75)

    def test_an_arm_without_rewards_is_taken_at_its_prior(self) -> None:
        arms = believing(arms_with([1, 1, 1, 0], []), [0.5, 0.125], [0.0, 9.0])
        # As far as it goes: for 2 of the 3 rewards, the average of the arms.
        assert Informed(bonus=0.0).scores(arms)[1] == pytest.approx((0.25 + 0.75) / 3)
        assert Informed(bonus=0.0, trust=2.0).scores(arms)[1] == pytest.approx(0.125)

    def test_a_poor_expectation_ranks_a_new_arm_below_a_known_one(self) -> None:
        rewards = [[1, 1, 0] * 10] * 9
        unknown = arms_with(*rewards, [])
        poor = believing(arms_with(*rewards, []), [0.0] * 9 + [0.05], [0.0] * 9 + [20.0])
        assert Informed().scores(unknown).argmax() == 9
        assert Informed().scores(poor).argmin() == 9

    def test_pending_pulls_narrow_the_bonus(self) -> None:
        free, busy = (arms_with([1, 0], [1, 0], [1, 0], pending=[n]) for n in (0, 6))
        assert Informed().scores(busy)[0] < Informed().scores(free)[0]

    def test_open_rewards_have_the_bonus_of_normal_ones(self) -> None:
        # Pooled variance 2 / (3 - 2) = 2; t = 4, K = 2: log(4/4) = 0 and log(4/2) = 0.6931472;
        # sqrt(2 * 2 * 0.3 * 0.6931472 / 4) = 0.4560084. The overall mean is 14/3, so the means are
        # (4 + 14) / 5 and (10 + 14) / 4.
        arms = ActiveSet.from_rewards(
            LINE, [({"x": 0.1}, [1.0, 3.0]), ({"x": 0.2}, [10.0])], reward_range=None
        )
        found = Informed(bonus=0.3, top=0.0).scores(arms)
        assert_allclose(found, [3.6, 6.4560084], atol=1e-6)

    def test_open_rewards_have_a_fair_coin_s_variance_before_any_arm_has_two(self) -> None:
        # t = 3, K = 2: log(3/2) = 0.4054651; sqrt(2 * 0.25 * 0.3 * 0.4054651 / 4) = 0.1233085.
        arms = ActiveSet.from_rewards(
            LINE, [({"x": 0.1}, [1.0]), ({"x": 0.2}, [3.0])], reward_range=None
        )
        found = Informed(bonus=0.3, top=0.0).scores(arms)
        assert_allclose(found, [1.8733085, 2.3733085], atol=1e-6)

    def test_open_expectations_count_as_rewards_too(self) -> None:
        arms = ActiveSet.from_rewards(
            LINE, [({"x": 0.1}, [100.0, 300.0]), ({"x": 0.2}, [])], reward_range=None
        )
        believing(arms, [500.0, -40.0], [1.0, 8.0])  # the average arm has one reward
        # Level 200: (500 + 2 * 200 + 400) / 5, (-40 + 2 * 200) / 3
        assert_allclose(Informed(bonus=0.0).scores(arms), [260.0, 120.0])


class TestStrength:
    """Eq. (informed-bonus): a power of what the space has left, between the bonus and the top."""

    def test_it_is_the_bonus_while_the_set_grows_as_scheduled(self) -> None:
        assert Informed().strength(equal_arms(30, 100)) == pytest.approx(0.1)
        assert Informed().strength(equal_arms(60, 100)) == pytest.approx(0.1)

    def test_it_grows_with_the_sixth_power_of_what_is_missing(self) -> None:
        # 3 * sqrt(100) = 30 are due
        assert Informed().strength(equal_arms(25, 100)) == pytest.approx(0.1 * 1.2**6)
        assert Informed(bonus=0.005).strength(equal_arms(15, 100)) == pytest.approx(0.005 * 2.0**6)

    @pytest.mark.parametrize(("n_values", "n_retired"), [(120, 0), (125, 5)])
    def test_it_grows_with_the_part_of_a_small_space_that_is_due(
        self, n_values: int, n_retired: int
    ) -> None:
        # 30 of 120 that can be reached: 0.1 * 1.25^6; what is retired cannot
        names = [f"prompt-{i}" for i in range(n_values)]
        tried: list[Tried] = [({"prompt": name}, [0.5] * 2) for name in names[:50]]
        arms = ActiveSet.from_rewards(Space(prompt=Choice(*names)), tried)
        for row in range(n_retired):
            arms.put_state(row, "retired")
        assert arms.n_reachable == 120
        assert Informed().strength(arms) == pytest.approx(0.1 * 1.25**6)

    def test_it_ends_at_the_top_and_never_below_the_bonus(self) -> None:
        assert Informed().strength(equal_arms(3, 100)) == 0.6
        assert Informed(top=0.3).strength(equal_arms(3, 100)) == 0.3
        assert Informed(bonus=0.5, top=0.3).strength(equal_arms(3, 100)) == 0.5
        assert Informed(bonus=0.0).strength(equal_arms(3, 100)) == 0.0

    def test_a_share_of_the_logarithm_lasts_where_the_bonus_grew_sixfold(self) -> None:
        # 30 are due: 22 arms have 1.364^6 = 6.4 of the bonus, 23 have 1.304^6 = 4.9
        assert Informed().lasting(equal_arms(22, 100)) == 0.4
        assert Informed().lasting(equal_arms(23, 100)) == 0.0

    def test_no_arm_is_given_up_for_good_where_there_are_no_others(self) -> None:
        """The better one of two was unlucky: with MOSS it is over after t / K rewards."""
        names = [f"prompt-{i}" for i in range(200)]
        rest: list[Tried] = [({"prompt": name}, [0.0] * 10) for name in names[2:]]

        def leads(n_leader: int) -> bool:
            lucky = [1.0] * (3 * n_leader // 4) + [0.0] * (n_leader // 4)
            unlucky = [1.0] * 89 + [0.0] * 36  # 0.712 of 125
            tried: list[Tried] = [({"prompt": names[0]}, lucky), ({"prompt": names[1]}, unlucky)]
            arms = ActiveSet.from_rewards(Space(prompt=Choice(*names)), [*tried, *rest])
            assert arms.totals.n_rewards + 1 < 200 * 125  # so that MOSS's bonus is gone
            return int(Informed().scores(arms).argmax()) == 1

        assert not leads(1600)
        assert leads(16_000)

    @pytest.mark.parametrize(("n", "kept"), [(40, 0.4 * math.log(401 / 320)), (60, 0.0)])
    def test_what_is_served_much_keeps_nothing(self, n: int, kept: float) -> None:
        """Else the others would be tried the less, the more it is served."""
        rest = [[1, 0] * ((324 - n) // 2), *[[1, 0] * 2] * 19]
        arms = arms_with([1, 0] * (n // 2), *rest)  # 21 arms with 400 rewards
        mean = float(Informed(bonus=0.0, top=0.0).scores(arms)[0])
        q = float(Informed().scores(arms)[0])
        kl = mean * math.log(mean / q) + (1 - mean) * math.log((1 - mean) / (1 - q))
        assert kl == pytest.approx(0.6 * kept / (3 + n), abs=1e-9)


class TestGrowth:
    @pytest.mark.parametrize(
        ("policy", "n_arms", "t", "due"),
        [
            (Informed(), 30, 100, False),  # 30 < 3 * 10
            (Informed(), 30, 101, True),
            (Informed(scale=1.0), 10, 100, False),
            (Informed(scale=1.0), 10, 101, True),
            (Informed(beta=0.4, scale=2.0), 21, 400, True),  # 2 * 400^0.4 = 21.97
            (Informed(beta=0.4, scale=2.0), 22, 400, False),
        ],
    )
    def test_growth_rule(self, policy: Informed, n_arms: int, t: int, due: bool) -> None:
        """Algorithm (moss) with a scale: an arm is due while |M_t| < scale t^beta."""
        assert policy.growth(equal_arms(n_arms, t - 1)) == ("oracle" if due else None)

    @pytest.mark.parametrize(("t", "due"), [(50, False), (54, False), (55, True)])
    def test_restart_rule(self, t: int, due: bool) -> None:
        """|M_t| - N_0 < 3 (t - t_0)^0.5, with N_0 = 10, t_0 = 50 and 16 arms: from t = 55 on."""
        arms = equal_arms(16, t - 1)
        arms.restart = Restart(n_pulls=50, n_rewards=50, n_pending=0, n_arms=10)
        assert Informed().growth(arms) == ("oracle" if due else None)

    def test_warmup_comes_first(self) -> None:
        assert Informed().decide(equal_arms(9, 9), Draws(0, 1)) == Expand("warmup")
        assert Informed(warmup=9).growth(equal_arms(9, 9)) == "oracle"

    @pytest.mark.parametrize(("t", "source"), [(51, "warmup"), (61, "warmup"), (62, "oracle")])
    def test_after_a_change_of_everything_the_warmup_starts_anew(self, t: int, source: str) -> None:
        """While at most N_s arms of the new schedule are due: 3 (t - t_0)^0.5 <= 10 up to 11."""
        arms = equal_arms(20, t - 1)
        start = {"n_pulls": 50, "n_rewards": 50, "n_pending": 0, "n_arms": 18}
        changed = {**start, "noticed": 50, "at": 0.0}
        arms.put_memory(replace(remember(arms), since=changed))
        assert Informed().growth(arms) == source
        arms.restart = Restart(**start)  # a space that changed has proposals of its own
        assert Informed().growth(arms) == "oracle"

    @pytest.mark.parametrize(("n_rewards", "due"), [(24, False), (25, True)])
    def test_pulls_that_wait_open_no_arms(self, n_rewards: int, due: bool) -> None:
        """15 arms are due with 25 rounds, however many pulls are out: most may never answer."""
        rewards = [[0.5] * 2] * 10 + [[0.5]] * (n_rewards - 20) + [[]] * (25 - n_rewards)
        arms = arms_with(*rewards, pending=[100] * 15)
        assert len(arms) == 15
        assert Informed().growth(arms) == ("oracle" if due else None)

    def test_before_the_first_reward_every_pull_counts(self) -> None:
        arms = arms_with(*[[]] * 12, pending=[2] * 12)  # 3 * sqrt(25) = 15 are due
        assert Informed().growth(arms) == "oracle"
        assert Informed().growth(arms_with(*[[]] * 15, pending=[1] * 15)) is None

    def test_a_study_holds_scale_times_t_to_the_beta(self) -> None:
        policy = Informed(scale=2.0, warmup=4)
        study = Study.create("s", LINE, policy=policy, oracle=Random(), seed=0)
        n_arms = 0
        for t in range(1, 200):
            study.tell(study.ask().id, 0.5)
            n_arms += n_arms < 4 or n_arms < 2.0 * t**0.5
            assert study.n_arms == n_arms

    def test_where_success_is_rare_a_success_counts_for_ten_rounds_at_most(self) -> None:
        # 4 successes in 100 rounds: 3 * sqrt(0.4 * 101) = 19.07 arms are due
        rewards = [[1] + [0] * 4] * 4 + [[0] * 5] * 16
        assert Informed().growth(arms_with(*rewards[:19], [0] * 5)) is None
        assert Informed().growth(arms_with(*rewards[:18], [0] * 10)) == "oracle"

    def test_a_study_in_which_everything_fails_goes_on_to_other_arms(self) -> None:
        study = Study.create("s", LINE, policy=Informed(), oracle=Random(), seed=0)
        for _ in range(1000):
            study.tell(study.ask().id, 0.0)
        assert study.n_arms == 30  # 3 * sqrt(0.1 * 1000)


def truth(config: Config) -> float:
    """Poor below 0.5, fair up to 0.9, and very good above, in x."""
    x = float(config["x"] or 0.0)
    return 0.1 if x < 0.5 else 0.6 if x < 0.9 else 0.95


@dataclass(frozen=True)
class Believes(Oracle):
    """Draws from P0 and tells the truth about all arms, or of the very good that they are bad."""

    count: float
    misled: bool = False

    def propose(
        self, arms: ActiveSet, scores: Floats, rng: np.random.Generator
    ) -> Proposal | Exhausted:
        del scores
        drawn = draw_new(arms, rng)
        assert isinstance(drawn, Proposal)
        means = np.array([truth(config) for config in [*arms.configs, drawn.config]])
        if self.misled:
            means[means > 0.9] = 0.3
        return Proposal(drawn.config, beliefs=Beliefs(means, np.full(len(means), self.count), {}))


def played(oracle: Oracle, rounds: int, seed: int, policy: Policy | None = None) -> list[Arm]:
    study = Study.create("s", LINE, policy=policy or Informed(), oracle=oracle, seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        pull = study.ask()
        study.tell(pull.id, float(rng.random() < truth(pull.config)))
    return study.arms()


SEEDS = range(8)


@pytest.mark.slow
class TestStudies:
    def test_a_new_arm_expected_to_be_poor_is_hardly_served_when_it_is(self) -> None:
        def poor(oracle: Oracle, policy: Policy) -> list[int]:
            studies = (played(oracle, 200, seed, policy) for seed in SEEDS)
            new = (arm for arms in studies for arm in arms if arm.origin != "warmup")
            return [arm.n_pulls for arm in new if truth(arm.config) == 0.1]

        informed, imoss = poor(Believes(20.0), Informed()), poor(Random(), IMOSS())
        assert max(informed) <= 3
        assert np.mean(informed) < 0.7 * np.mean(imoss)

    # The firmer a wrong expectation, the less often it is overcome in so few rounds.
    @pytest.mark.parametrize(
        ("count", "least"), [(1.0, 6), pytest.param(20.0, 3, marks=pytest.mark.long)]
    )
    def test_good_arms_that_are_expected_to_be_poor_are_often_found_all_the_same(
        self, count: float, least: int
    ) -> None:
        n_found = 0
        for seed in SEEDS:
            arms = played(Believes(count, misled=True), 400, seed)
            n_found += sum(arm.n_pulls for arm in arms if truth(arm.config) == 0.95) > 200
        assert n_found >= least


class TestBursts:
    space = Space(x=Float(0, 1), y=Float(0, 1))

    def burst(self, rounds: int, seed: int, n: int = 50) -> Counter[int]:
        study = Study.create("s", self.space, policy=Informed(), oracle=GP(), seed=seed)
        rng = np.random.default_rng(seed)
        for _ in range(rounds):
            pull = study.ask()
            mean = 0.9 - 0.5 * abs(float(pull.config["x"] or 0.0) - 0.6)
            study.tell(pull.id, float(rng.random() < mean))
        return Counter(study.ask().arm for _ in range(n))

    @pytest.mark.parametrize("seed", range(3))
    def test_fifty_asks_without_any_reward_are_spread_evenly(self, seed: int) -> None:
        """Over the ten of the warm-up and, as no draw is known to be better, twelve more."""
        served = self.burst(0, seed)
        assert len(served) == 22  # the last when 21 < 3 * sqrt(50)
        assert max(served.values()) <= 4

    @pytest.mark.parametrize("seed", first(1, range(4)))
    @pytest.mark.parametrize("rounds", [20, 100])
    def test_later_the_leader_does_not_get_them_all(self, rounds: int, seed: int) -> None:
        """What is left of the bonus and the new arms take their part from the best arm."""
        served = self.burst(rounds, seed)
        assert len(served) >= 5
        assert max(served.values()) <= 45


@pytest.mark.parametrize(
    "wrong",
    [
        {"beta": 0.0},
        {"beta": 1.0},
        {"scale": 0.0},
        {"scale": -1.0},
        {"warmup": -1},
        {"bonus": -0.1},
        {"trust": -0.1},
        {"trust": float("nan")},
        {"top": -0.1},
        {"limit": -1.0},
        {"changes": 1},
    ],
    ids=str,
)
def test_settings_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidSetting, match=next(iter(wrong))):
        Informed(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("situation", sorted(SITUATIONS))
@seeds(5)
def test_it_serves_the_arm_of_highest_index(situation: str, seed: int) -> None:
    arms, policy = SITUATIONS[situation](), Informed()
    if arms.n_servable:
        assert policy.serve(arms, Draws(seed, 1)) == Policy.serve(policy, arms, Draws(seed, 1))
