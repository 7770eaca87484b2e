"""Hier-MAB: its axes, UCB1, and a run worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from imabo.space import Choice, Config, Float, Int, Space
from imabo.space.base import Parameter
from imabo.space.scalars import Scalar
from imabo_bench.methods import open_method
from imabo_bench.methods.hier_mab import UCB1, HierMABPlayer, axis_units
from imabo_bench.problems.toy import Toy
from imabo_bench.testing.small import BRANCHES, FENCED, PAIR, Small
from tests.bench.methods.playing import played


@pytest.mark.parametrize(
    ("parameter", "n_values", "values"),
    [
        (Float(0.0, 1.0), 11, [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        (Float(2.0**-10, 2.0**10, log=True), 11, [4.0**k for k in range(-5, 6)]),
        (Float(1e-5, 1.0, log=True), 6, [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0]),
        (Float(0.0, 1.0, step=0.25), 10, [0.0, 0.25, 0.5, 0.75, 1.0]),
        (Int(1, 10), 10, list(range(1, 11))),
        (Int(0, 100), 11, list(range(0, 101, 10))),
        (Int(1, 12, log=True), 11, [1, 2, 3, 4, 6, 7, 9, 12]),  # 12^(k/10), rounded
        (Choice(*range(15)), 10, list(range(15))),
    ],
    ids=repr,
)
def test_axes(parameter: Parameter, n_values: int, values: list[Scalar]) -> None:
    units = axis_units(parameter, n_values)
    assert [parameter.from_unit(u) for u in units.tolist()] == pytest.approx(values, rel=1e-9)


def test_ucb1_by_hand() -> None:
    """Means 0.5, 0.6, 0 with counts 4, 1, 1: at t = 6 the bonuses are sqrt(2 log 6 / n)."""
    bandit = UCB1(4)
    for arm, reward in [(0, 1.0), (0, 0.0), (0, 1.0), (0, 0.0), (1, 0.6), (2, 0.0)]:
        bandit.reward(arm, reward)
    # 3 is untried; 1: 0.6 + 1.893; 2: 0 + 1.893; 0: 0.5 + 0.947
    assert math.sqrt(2 * math.log(6)) == pytest.approx(1.893, abs=1e-3)
    assert bandit.ranked().tolist() == [3, 1, 2, 0]
    assert bandit.best == 1
    assert UCB1(3).best == 0


def changed(one: Config, other: Config) -> list[str]:
    return [name for name in one if one[name] != other[name]]


@pytest.mark.parametrize("seed", range(8))
def test_a_run_on_two_by_two_by_hand(seed: int) -> None:
    """A and B are the parameters in the order drawn, 0 and 1 the values of each in theirs.

    1. A, untried, at 0. 2. B, untried, at 0: the same configuration. 3. A and B tie: A, at the
    untried 1, and that pays. 4. A: 1/2 + sqrt(log 3) = 1.548 beats B: sqrt(2 log 3) = 1.482; value
    1 again. 5. A: 2/3 + sqrt(2 log 4 / 3) = 1.628 against B: sqrt(2 log 4) = 1.665: B, at the
    untried 1, on top of A's 1. 6. A 1.703, B: 1/2 + sqrt(log 5) = 1.769: B at 1. 7. a tie: A at 1.
    """
    player = open_method("hier-mab").start(PAIR, rounds=7, seed=seed)
    c = played(player, [0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    assert c[0] == c[1]
    (a,) = changed(c[1], c[2])
    assert c[3] == c[2]
    (b,) = changed(c[3], c[4])
    assert a != b
    assert c[4] == c[5] == c[6] == player.recommend()
    assert player.n_arms == 3


def test_rewards_are_mapped_to_the_unit_interval() -> None:
    """On the range (-5, 5), the rewards -5 and 5 lead to the run that 0 and 1 lead to."""
    wide = Small("wide", PAIR.space, PAIR.mean)
    wide.reward_range = (-5.0, 5.0)
    rewards = [0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0]
    method = open_method("hier-mab")
    assert played(method.start(wide, rounds=10, seed=0), [10 * r - 5 for r in rewards]) == played(
        method.start(PAIR, rounds=10, seed=0), rewards
    )


def test_hier_mab_is_hier_mab_11_and_10_has_another_grid() -> None:
    served = {}
    for name in ("hier-mab", "hier-mab-10", "hier-mab-11"):
        served[name] = played(open_method(name).start(Toy("sin1"), rounds=60, seed=0), [0.5] * 60)
    assert served["hier-mab"] == served["hier-mab-11"]
    tenths = {config["x1"] for config in served["hier-mab"]}
    ninths = {round(float(str(config["x1"])) * 9, 6) for config in served["hier-mab-10"]}
    assert tenths <= set(np.linspace(0, 1, 11).round(12).tolist())
    assert ninths <= set(range(10))


def test_one_parameter_at_a_time_leaves_the_best_values() -> None:
    """On a conditional space, what is not switched by the change stays as in the best values."""
    player = HierMABPlayer(BRANCHES, 11, seed=3)
    rng = np.random.default_rng(0)
    for _ in range(150):
        best = player.recommend()
        served = player.ask()
        assert served is not None
        if best is not None:
            shared = {n for n in best if n in served.config}
            moved = [n for n in shared if repr(best[n]) != repr(served.config[n])]
            assert len(moved) <= 1
            if shared != set(best) | set(served.config):
                assert moved == ["model"]  # only the parent switches others on and off
        player.tell(served.key, BRANCHES.draw(served.config, rng))


def test_where_the_best_values_are_forbidden_something_allowed_is_recommended() -> None:
    player = HierMABPlayer(FENCED, 11, seed=0)
    for _ in range(300):
        served = player.ask()
        assert served is not None
        # Pulls the axes towards a = x and b = 0, which must not go together.
        player.tell(served.key, 0.5 * (served.config["a"] == "x") + 0.5 * (served.config["b"] == 0))
        recommended = player.recommend()
        assert recommended is not None
        assert FENCED.space.allows(recommended)


def test_where_no_single_change_is_allowed_p0_is_served() -> None:
    """Two allowed corners (a, b) = (0, 0) and (4, 4) of a 5 x 5 grid: most starts are stuck."""
    forbid = [{"a": a, "b": [b for b in range(5) if b != a]} for a in (0, 4)]
    space = Space(a=Int(0, 4), b=Int(0, 4), forbid=[*forbid, {"a": [1, 2, 3]}])
    corners = [{"a": 0, "b": 0}, {"a": 4, "b": 4}]
    player = HierMABPlayer(Small("corners", space, lambda c: 0.5), 11, seed=0)
    served = played(player, [1.0] * 30)
    assert all(config in corners for config in served)
    assert player.recommend() in corners
