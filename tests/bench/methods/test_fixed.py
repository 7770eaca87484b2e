"""What keeps to a few draws from P0: Thompson sampling and the A/B test."""

from __future__ import annotations

import math

import numpy as np
import pytest

from imabo.space import Config
from imabo_bench.methods import open_method
from imabo_bench.methods.ab_test import ABTestPlayer
from imabo_bench.methods.fixed import FixedPlayer, distinct_draws
from imabo_bench.methods.thompson import BetaPlayer, NormalPlayer
from imabo_bench.problems.toy import Toy
from imabo_bench.testing.small import PAIR, Small
from tests.bench.methods.playing import played

TOY = Toy("gaussian")  # coin flips
OPEN = Toy("sin1")  # rewards without a range


def test_draws_are_distinct_and_repeatable() -> None:
    draws = distinct_draws(TOY.space, 10, np.random.default_rng(1))
    assert len({TOY.space.identity(config) for config in draws}) == 10
    assert draws == distinct_draws(TOY.space, 10, np.random.default_rng(1))
    assert len(distinct_draws(PAIR.space, 10, np.random.default_rng(1))) == 4


def test_of_equal_means_the_one_with_more_rewards_is_best() -> None:
    player = open_method("thompson-10").start(TOY, rounds=10, seed=0)
    assert isinstance(player, FixedPlayer)
    for number, reward in [(3, 1.0), (5, 1.0), (5, 1.0), (1, 0.0)]:
        player.learn(number, reward)
    assert player.best == 5
    assert player.recommend() == player.configs[5]


@pytest.mark.parametrize("k", [10, 50])
def test_thompson_serves_no_more_than_its_configurations(k: int) -> None:
    player = open_method(f"thompson-{k}").start(TOY, rounds=2000, seed=0)
    played(player, [0.5] * 2000)
    assert player.n_arms == player.n_proposals == k


def test_beta_posteriors_by_hand() -> None:
    """On the range (-5, 5) the rewards 5, 0 and -5 are 1, 1/2 and 0 successes."""
    player = BetaPlayer(TOY, (-5.0, 5.0), 3, seed=0)
    for number, reward in [(0, 5.0), (0, 5.0), (0, 0.0), (1, -5.0), (1, -6.0)]:
        player.learn(number, reward)
    successes, failures = player.posteriors()
    assert successes.tolist() == [3.5, 1.0, 1.0]
    assert failures.tolist() == [1.5, 3.0, 1.0]


def test_normal_posteriors_by_hand() -> None:
    """Rewards 3, 5 and 1, 1: mean 2.5, squares 0.25 + 6.25 + 2 * 2.25 = 11."""
    player = NormalPlayer(OPEN, 3, seed=0)
    means, spreads = player.posteriors()
    assert (means.tolist(), spreads.tolist()) == ([0.0] * 3, [1.0] * 3)
    player.learn(0, 3.0)
    means, spreads = player.posteriors()
    assert means.tolist() == [3.0] * 3
    assert spreads.tolist() == pytest.approx([math.sqrt(0.5), 1.0, 1.0])
    for number, reward in [(0, 5.0), (1, 1.0), (1, 1.0)]:
        player.learn(number, reward)
    means, spreads = player.posteriors()
    assert means.tolist() == pytest.approx([10.5 / 3, 4.5 / 3, 2.5])
    spread = math.sqrt(11 / 3)
    assert spreads.tolist() == pytest.approx([spread / 3**0.5, spread / 3**0.5, spread])


@pytest.mark.parametrize("problem", [TOY, OPEN], ids=lambda p: p.name)
@pytest.mark.parametrize("lateness", [0, 30])
def test_thompson_ends_up_with_the_better_configurations(problem: Toy, lateness: int) -> None:
    """Most of the last 500 of 3,000 rounds go to the best three of ten, late rewards or not."""
    player = open_method("thompson-10").start(problem, rounds=3000, seed=0)
    assert isinstance(player, NormalPlayer if problem is OPEN else BetaPlayer)
    noise = np.random.default_rng(0)
    out: list[tuple[str, float]] = []
    served: list[Config] = []
    for _ in range(3000):
        made = player.ask()
        assert made is not None
        served.append(made.config)
        out.append((made.key, problem.draw(made.config, noise)))
        if len(out) > lateness:
            player.tell(*out.pop(0))
    best = sorted(player.configs, key=problem.mean)[-3:]
    assert sum(config in best for config in served[-500:]) > 300


def test_the_ab_test_takes_turns_for_a_fifth_and_ships_the_winner() -> None:
    player = open_method("ab-test").start(TOY, rounds=100, seed=0)
    assert isinstance(player, ABTestPlayer)
    rewards = [0.0, 0.2, 0.9, 0.4, 0.9] * 3 + [0.0, 0.2, 0.8, 0.4, 0.9]
    configs = played(player, rewards + [0.0] * 80)
    assert configs[:20] == player.configs * 4
    assert configs[20:] == [player.configs[4]] * 80
    assert player.n_arms == 5
    # The zeros since are not looked at.
    assert player.recommend() == player.configs[4]


def test_the_ab_test_decides_on_the_rewards_it_has() -> None:
    """Ten rounds of test: without a reward it goes on; the first one that comes wins."""
    player = open_method("ab-test").start(TOY, rounds=50, seed=0)
    assert isinstance(player, ABTestPlayer)
    served = [player.ask() for _ in range(13)]
    assert player.recommend() is None
    assert [s.config for s in served] == (player.configs * 3)[:13]
    player.tell(served[1].key, 0.1)
    assert player.ask().config == player.configs[1]
    player.tell(served[0].key, 1.0)
    assert player.ask().config == player.configs[1] == player.recommend()


def test_the_ab_test_of_a_small_space_tests_what_there_is() -> None:
    player = open_method("ab-test").start(Small("s", PAIR.space, PAIR.mean), rounds=100, seed=0)
    configs = played(player, [0.5] * 20)
    assert configs[:4] == configs[4:8]
    assert player.n_arms == 4
