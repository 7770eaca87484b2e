"""Every method, found by name, keeps what a player promises."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from imabo.errors import InvalidSetting
from imabo.space import Config
from imabo_bench.methods import method_names, open_method
from imabo_bench.methods.ab_test import ABTest
from imabo_bench.methods.instant import InstantPlayer
from imabo_bench.methods.late import LatePlayer
from imabo_bench.methods.study import StudyMethod
from imabo_bench.methods.thompson import Thompson
from imabo_bench.methods.tpe_k import TPEK
from imabo_bench.problems.base import Problem
from imabo_bench.problems.toy import Toy
from tests.bench.methods.problems import BRANCHES, FENCED, PAIR
from tests.loops import first

ROUNDS = 140
WARMUP = 10  # arms that no oracle proposed
SLOW = {"tpe-1", "imoss-tabpfn", "imabo", "imabo-still"}
TREES = {"stosoo", "hoo-t", "stroquool"}
TOY = Toy("gaussian")
LATE = [n for n in method_names() if isinstance(open_method(n), ABTest | Thompson | TPEK)]
INSTANT = [
    n for n in method_names() if n not in LATE and not isinstance(open_method(n), StudyMethod)
]


@dataclass
class Run:
    configs: list[Config]
    recommended: list[Config | None]
    n_arms: int
    n_proposals: int
    ended: bool


def run(name: str, problem: Problem, seed: int = 0, *, probes: bool = False) -> Run:
    player = open_method(name).start(problem, rounds=ROUNDS, seed=seed)
    noise, probe_rng = np.random.default_rng(seed), np.random.default_rng(99)
    made = Run([], [player.recommend()], 0, 0, ended=False)
    keys = set()
    for t in range(1, ROUNDS + 1):
        player.advance(float(t))
        served = player.ask()
        if served is None:
            made.ended = True
            break
        keys.add(served.key)
        made.configs.append(dict(served.config))
        player.tell(served.key, problem.draw(served.config, noise))
        if t % 20 == 1:
            made.recommended.append(player.recommend())
            if probes:
                assert all(problem.space.allows(c) for c in player.probe(2, probe_rng))
    made.recommended.append(player.recommend())
    made.n_arms, made.n_proposals = player.n_arms, player.n_proposals
    assert len(keys) == len(made.configs)
    return made


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        pytest.param(name, problem, id=f"{name}-{problem.name}", marks=marks)
        for name in method_names()
        for problem in (TOY, BRANCHES, FENCED, PAIR)
        # They fit a model for each arm; the space with conditions and the small one stay.
        for marks in [[pytest.mark.long] if name in SLOW and problem in (TOY, FENCED) else []]
    ],
)
def test_a_run_is_valid_repeatable_and_counted(name: str, problem: Problem) -> None:
    if name in TREES and problem is FENCED:
        pytest.skip("tree searches refuse forbidden combinations: see test_pyxab")
    made = run(name, problem)
    space = problem.space
    assert all(space.validate(config) == config for config in made.configs)
    assert made.ended == (name == "stroquool")
    first, *later = made.recommended
    assert first is None
    assert later
    assert all(c is not None and space.allows(c) for c in later)
    assert made.n_arms == len({space.identity(config) for config in made.configs})
    assert made.n_proposals >= made.n_arms - WARMUP
    # The same seed again, now looked into: nothing changes.
    assert run(name, problem, probes=True) == made


@pytest.mark.parametrize("name", method_names())
def test_another_seed_is_another_run(name: str) -> None:
    assert run(name, TOY, seed=1).configs != run(name, TOY, seed=2).configs


@pytest.mark.parametrize("name", INSTANT)
def test_methods_for_instant_feedback_refuse_any_other(name: str) -> None:
    player = open_method(name).start(TOY, rounds=ROUNDS, seed=0)
    assert isinstance(player, InstantPlayer)
    served = player.ask()
    assert served is not None
    with pytest.raises(InvalidSetting, match="no reward yet"):
        player.ask()
    with pytest.raises(InvalidSetting, match="nonsense"):
        player.tell("nonsense", 1.0)
    player.tell(served.key, 1.0)
    with pytest.raises(InvalidSetting, match="one reward"):
        player.tell(served.key, 1.0)


@pytest.mark.parametrize("name", LATE)
def test_methods_for_late_feedback_take_each_reward_once(name: str) -> None:
    player = open_method(name).start(TOY, rounds=ROUNDS, seed=0)
    assert isinstance(player, LatePlayer)
    first, second = player.ask(), player.ask()
    assert first.key != second.key
    with pytest.raises(InvalidSetting, match="nonsense"):
        player.tell("nonsense", 1.0)
    player.tell(second.key, 1.0)
    assert player.recommend() == second.config
    player.tell(first.key, 0.0)
    with pytest.raises(InvalidSetting, match="waits"):
        player.tell(first.key, 0.0)


@pytest.mark.parametrize("name", ["ab-test", "thompson-10", "thompson-50", "tpe-1", "tpe-10"])
@pytest.mark.parametrize("problem", first(3, [BRANCHES, FENCED, PAIR, TOY]), ids=lambda p: p.name)
def test_a_run_with_late_and_lost_feedback_is_repeatable(name: str, problem: Problem) -> None:
    """Every third reward is lost, and the others come up to 9 rounds later, in any order."""

    def late() -> tuple[list[Config], Config | None]:
        player = open_method(name).start(problem, rounds=ROUNDS, seed=0, window=8.0)
        rng = np.random.default_rng(0)
        out: list[tuple[int, str, float]] = []
        configs = []
        for t in range(ROUNDS):
            player.advance(float(t))
            for due in [item for item in out if item[0] <= t]:
                out.remove(due)
                player.tell(*due[1:])
            served = player.ask()
            assert served is not None
            configs.append(served.config)
            if t % 3:
                reward = problem.draw(served.config, rng)
                out.append((t + int(rng.integers(10)) + 1, served.key, reward))
        return configs, player.recommend()

    configs, recommended = late()
    assert all(problem.space.allows(config) for config in configs)
    assert recommended in configs
    assert late() == (configs, recommended)
