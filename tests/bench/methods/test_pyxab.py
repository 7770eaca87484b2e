"""The adapter serves what PyXAB's own classes choose, driven by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PyXAB.algos.HOO import T_HOO
from PyXAB.algos.StoSOO import StoSOO
from PyXAB.algos.StroquOOL import StroquOOL

from imabo.errors import InvalidSetting
from imabo.space import Choice, Config, Float, Int, Space
from imabo_bench.methods import open_method
from imabo_bench.methods.base import Player
from imabo_bench.methods.pyxab import TreePlayer
from imabo_bench.problems.toy import Toy
from imabo_bench.testing.small import FENCED, PAIR, Small
from tests.bench.methods.playing import played

ROUNDS = 700
TOY = Toy("sin1")  # its noise is Gaussian: no ties


def plain(name: str, rounds: int, seed: int) -> Any:
    """PyXAB's own algorithm, straight from the library."""
    np.random.seed(seed)
    domain = [[0.0, 1.0]] * 4
    if name == "hoo-t":
        return T_HOO(rounds=rounds, domain=domain)
    return (StoSOO if name == "stosoo" else StroquOOL)(n=rounds, domain=domain)


def compare(name: str, check: Callable[[Any, Player], None]) -> int:
    """Drive both with the same noise; returns the rounds played."""
    player = open_method(name).start(TOY, rounds=ROUNDS, seed=11)
    algorithm = plain(name, ROUNDS, seed=11)
    noise = np.random.default_rng(0)
    for t in range(1, ROUNDS + 1):
        served = player.ask()
        point = algorithm.pull(t)
        if served is None:
            assert algorithm.end
            check(algorithm, player)
            return t - 1
        assert served.config == TOY.space.decode(np.array(point))
        reward = TOY.draw(served.config, noise)
        algorithm.receive_reward(t, reward)
        player.tell(served.key, reward)
    check(algorithm, player)
    assert player.ask() is None  # the horizon
    return ROUNDS


def test_stosoo() -> None:
    def check(algorithm: StoSOO, player: Player) -> None:
        """The deepest layer has unexpanded cells only; the one above it is what counts."""
        layer = algorithm.partition.get_node_list()[algorithm.partition.get_depth() - 1]
        best = max(layer, key=lambda node: node.mean_reward if node.visited_times else -math.inf)
        assert player.recommend() == TOY.space.decode(np.array(best.get_cpoint()))

    assert compare("stosoo", check) == ROUNDS


def test_hoo_t() -> None:
    def check(algorithm: T_HOO, player: Player) -> None:
        nodes = [node for layer in algorithm.partition.get_node_list()[1:] for node in layer]
        visited = [node for node in nodes if node.visited_times]
        best = max(visited, key=lambda node: node.get_b_value())
        assert math.isfinite(best.get_b_value())
        assert player.recommend() == TOY.space.decode(np.array(best.get_cpoint()))

    assert compare("hoo-t", check) == ROUNDS


def test_stroquool_stops_when_its_schedule_ends() -> None:
    """At 700 rounds h_max = floor(700 / (2 (H_700 + 1)^2)) = 5.

    Two cells 5 times each; depth 1 opens one cell at 4, 2 and 1 evaluations a child, depth 2 at 2
    and 1, depths 3 to 5 at 1: 14 + 6 + 3 * 2; then 3 shortlisted cells 5 times each.
    """

    def check(algorithm: StroquOOL, player: Player) -> None:
        point = algorithm.get_last_point()
        assert player.recommend() == TOY.space.decode(np.array(point))

    assert compare("stroquool", check) == 10 + 14 + 6 + 6 + 15


def test_stroquool_recommends_its_best_mean_until_it_validates() -> None:
    """At 300 rounds h_max is 2: two cells twice, and so on; the first cell gets the rewards."""
    player = open_method("stroquool").start(TOY, rounds=300, seed=0)
    configs = played(player, [0.1, 0.9, 0.2, 0.2])
    assert configs[0] == configs[1] == player.recommend()
    assert configs[2] == configs[3] != configs[0]


def test_the_global_random_state_is_left_alone() -> None:
    np.random.seed(3)
    expected = np.random.RandomState(3).random()
    played(open_method("hoo-t").start(TOY, rounds=50, seed=0), [0.5] * 50)
    assert np.random.random() == expected


def test_points_are_mapped_on_each_parameters_own_scale() -> None:
    """HOO-T starts with the two halves of the box: one coordinate at 1/4 or 3/4, the others 1/2."""
    space = Space(
        rate=Float(1e-4, 1.0, log=True), x=Float(-4.0, 4.0), k=Int(0, 9), m=Choice("a", "b", "c")
    )
    ends: dict[str, tuple[Any, Any, Any]] = {
        "rate": (1e-3, 1e-2, 1e-1),
        "x": (-2.0, 0.0, 2.0),
        "k": (2, 5, 7),
        "m": ("a", "b", "c"),
    }
    halves = set()
    for seed in range(12):
        player = open_method("hoo-t").start(Small("s", space, lambda c: 0.5), rounds=9, seed=seed)
        for config in played(player, [0.5, 0.5]):
            moved = [n for n in space.names if config[n] != pytest.approx(ends[n][1])]
            assert len(moved) == 1
            assert any(config[moved[0]] == pytest.approx(end) for end in ends[moved[0]][::2])
            halves.add(moved[0])
    assert halves == set(space.names)


def test_forbidden_combinations_are_refused() -> None:
    with pytest.raises(InvalidSetting, match="fenced"):
        open_method("stosoo").start(FENCED, rounds=100, seed=0)


@pytest.mark.parametrize(("name", "least"), [("stosoo", 2), ("hoo-t", 2), ("stroquool", 68)])
def test_too_short_a_horizon_is_refused(name: str, least: int) -> None:
    with pytest.raises(InvalidSetting, match=f"at least {least} rounds"):
        open_method(name).start(PAIR, rounds=least - 1, seed=0)
    player = open_method(name).start(PAIR, rounds=least, seed=0)
    assert played(player, [0.5] * least)


class Sweeps:
    """An algorithm that answers None ``n`` times before it has a point."""

    def __init__(self, n: int) -> None:
        self.n = n

    def pull(self, time: int) -> list[float] | None:
        del time
        self.n -= 1
        return [0.5] * 4 if self.n < 0 else None


@pytest.mark.parametrize(("n", "expected"), [(3, {"x1": 0.5}), (5000, None)])
def test_a_sweep_without_a_point_is_followed_by_another(n: int, expected: Config | None) -> None:
    player = TreePlayer(TOY.space, Sweeps(n), lambda _: None, rounds=10)
    config = player.choose()
    assert config is None if expected is None else config is not None and config["x1"] == 0.5
