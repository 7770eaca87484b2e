"""Random serving."""

from __future__ import annotations

from imabo_bench.methods import open_method
from imabo_bench.problems.toy import Toy
from tests.bench.methods.playing import played


def test_the_first_of_the_best_single_rewards_is_recommended() -> None:
    player = open_method("random").start(Toy("sin1"), rounds=5, seed=0)
    configs = played(player, [-1.0, 0.3, 0.8, 0.8, 0.1])
    assert player.recommend() == configs[2]
    assert player.n_arms == 5
