"""TPE: the split, and where its proposals fall (subsec. tpe)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from imabo import Choice, Float, Int, Space
from imabo.arms import ActiveSet
from imabo.oracles import TPE, Proposal
from imabo.oracles.groups import split_by_score
from imabo.space import Config

from .sets import grown, proposals, sampled

LINE = Space(x=Float(0.0, 1.0))
BOTH = pytest.mark.parametrize("multivariate", [True, False])


def number(config: Config, name: str) -> float:
    value = config[name]
    assert isinstance(value, (int, float))
    return float(value)


def share(made: list[Proposal], is_good: Any) -> float:
    return float(np.mean([is_good(proposal.config) for proposal in made]))


class TestSplit:
    @pytest.mark.parametrize(
        ("n", "n_good"), [(1, 1), (2, 1), (3, 1), (4, 2), (10, 3), (11, 4), (20, 6), (100, 30)]
    )
    def test_the_good_group_is_the_top_30_percent_rounded_up(self, n: int, n_good: int) -> None:
        arms = sampled(LINE, n, lambda config: number(config, "x"))
        split = split_by_score(arms, arms.means, 0.3)
        assert (len(split.good), len(split.bad)) == (n_good, n - n_good)
        assert arms.means[split.good].min() >= arms.means[split.bad].max(initial=0.0)

    def test_a_share_that_is_whole_is_not_rounded_up_by_floating_point(self) -> None:
        arms = sampled(LINE, 100, lambda config: 0.5)
        assert 0.07 * 100 > 7  # the trap
        assert len(split_by_score(arms, arms.means, 0.07).good) == 7

    def test_arms_are_ranked_by_the_policy_s_index_not_by_their_mean(self) -> None:
        arms = sampled(LINE, 20, lambda config: number(config, "x"))
        by_mean = split_by_score(arms, arms.means, 0.3)
        by_index = split_by_score(arms, 1.0 - arms.means, 0.3)
        assert not set(by_mean.good) & set(by_index.good)

    def test_equal_indices_go_by_the_mean(self) -> None:
        """At the start of a QRM2 phase every index is the same."""
        arms = sampled(LINE, 20, lambda config: number(config, "x"))
        split = split_by_score(arms, np.full(20, np.inf), 0.3)
        assert arms.means[split.good].min() > arms.means[split.bad].max()

    def test_half_of_the_bonus_ranks_between_the_mean_and_the_index(self) -> None:
        arms = ActiveSet.from_rewards(
            Space(x=Float(0, 1)), [({"x": 0.1}, [0.6]), ({"x": 0.2}, [0.5]), ({"x": 0.3}, [0.2])]
        )
        index = np.array([0.7, 0.9, 1.1])  # bonuses 0.1, 0.4 and 0.9
        firsts = [split_by_score(arms, index, 0.3, share).good.tolist() for share in (0, 0.5, 1)]
        assert firsts == [[0], [1], [2]]  # at one half: 0.65, 0.7 and 0.65

    def test_arms_without_a_reward_are_in_neither_group(self) -> None:
        arms = grown(LINE, [({"x": i / 10}, 0.5, i % 2, None) for i in range(10)])
        split = split_by_score(arms, arms.known_means(), 0.3)
        assert sorted([*split.good, *split.bad]) == [1, 3, 5, 7, 9]


class TestProposals:
    """Statistical, on the seeds 0 to 49: the share of proposals in the good region."""

    @BOTH
    def test_a_good_interval(self, multivariate: bool) -> None:
        arms = sampled(LINE, 40, lambda config: max(0.0, 1 - 4 * abs(number(config, "x") - 0.7)))
        made = proposals(TPE(multivariate=multivariate), arms, 50)
        assert share(made, lambda config: abs(config["x"] - 0.7) < 0.15) > 0.9

    def test_the_index_decides_what_is_good(self) -> None:
        arms = sampled(LINE, 40, lambda config: number(config, "x"))
        upwards = [p.config["x"] for p in proposals(TPE(), arms, 30)]
        downwards = [
            proposal.config["x"]
            for seed in range(30)
            if isinstance(
                proposal := TPE(optimism=1.0).propose(
                    arms, 1 - arms.means, np.random.default_rng(seed)
                ),
                Proposal,
            )
        ]
        assert np.median(upwards) > 0.7  # type: ignore[arg-type]
        assert np.median(downwards) < 0.3  # type: ignore[arg-type]

    @BOTH
    def test_a_good_value_of_an_unordered_choice(self, multivariate: bool) -> None:
        space = Space(c=Choice(*"abcdef"), x=Float(0, 1))
        arms = sampled(space, 40, lambda config: 0.1 + 0.8 * (config["c"] == "d"))
        made = proposals(TPE(multivariate=multivariate), arms, 50)
        assert share(made, lambda config: config["c"] == "d") > 0.8

    @BOTH
    def test_neighbours_of_a_good_value_of_an_ordered_choice(self, multivariate: bool) -> None:
        sizes = list(range(20))
        space = Space(size=Choice(*sizes, ordered=True), x=Float(0, 1))
        arms = sampled(space, 40, lambda config: max(0.0, 1 - abs(number(config, "size") - 15) / 5))
        made = proposals(TPE(multivariate=multivariate), arms, 50)
        assert share(made, lambda config: abs(config["size"] - 15) <= 3) > 0.8

    @BOTH
    def test_a_good_octave_of_a_log_scaled_int(self, multivariate: bool) -> None:
        space = Space(k=Int(1, 4096, log=True))
        arms = sampled(space, 40, lambda config: float(number(config, "k") < 8))
        made = proposals(TPE(multivariate=multivariate), arms, 50)
        assert share(made, lambda config: config["k"] < 16) > 0.8

    @BOTH
    def test_a_child_follows_what_was_good_in_its_branch(self, multivariate: bool) -> None:
        space = Space(
            model=Choice("small", "large"),
            tokens=Float(0, 1, when={"model": "large"}),
            x=Float(0, 1),
        )

        def reward(config: Config) -> float:
            if config["model"] == "small":
                return 0.3
            return 1.0 if number(config, "tokens") > 0.6 else 0.0

        made = proposals(TPE(multivariate=multivariate), sampled(space, 60, reward), 50)
        assert share(made, lambda c: c["model"] == "large" and c["tokens"] > 0.5) > 0.8

    def test_one_joint_density_keeps_values_together_that_go_together(self) -> None:
        space = Space(x=Float(0, 1), y=Float(0, 1))
        near = 0.15

        def reward(config: Config) -> float:
            return math.exp(-(((number(config, "x") - number(config, "y")) / near) ** 2))

        arms = sampled(space, 80, reward)
        distance = {
            multivariate: np.median(
                [
                    abs(number(p.config, "x") - number(p.config, "y"))
                    for p in proposals(TPE(multivariate=multivariate), arms, 50)
                ]
            )
            for multivariate in (True, False)
        }
        assert distance[True] < 0.5 * distance[False]

    def test_before_ten_arms_have_a_reward_it_draws_from_p0(self) -> None:
        nine = grown(LINE, [({"x": i / 10}, 0.5, int(i > 0), None) for i in range(10)])
        assert {p.origin for p in proposals(TPE(), nine, 5)} == {"baseline"}
        ten = grown(LINE, [({"x": i / 10}, 0.5, 1, None) for i in range(10)])
        assert {p.origin for p in proposals(TPE(), ten, 5)} == {"oracle"}

    def test_when_every_draw_is_an_arm_it_ranks_what_is_left(self) -> None:
        """The good density sits on 50; of the three values left, 53 is nearest to it."""
        space = Space(k=Int(0, 100))
        taken = [k for k in range(101) if k not in (3, 53, 97)]
        rows: list[tuple[Config, float, int, str | None]] = [
            ({"k": k}, max(0.0, 1 - abs(k - 50) / 20), 1, None) for k in taken
        ]
        made = proposals(TPE(candidates=1), grown(space, rows), 20)
        assert share(made, lambda config: config["k"] == 53) > 0.9


def test_a_space_of_constants_has_one_proposal() -> None:
    space = Space(a=Choice("only"), b=Int(3, 3))
    proposal = TPE().propose(ActiveSet(space), np.empty(0), np.random.default_rng(0))
    assert isinstance(proposal, Proposal)
    assert proposal.config == {"a": "only", "b": 3}
