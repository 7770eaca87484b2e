"""Methods that are studies: delayed feedback, recommendation, proposals."""

from __future__ import annotations

import numpy as np
import pytest

from imabo.oracles import Random
from imabo.policies import IMOSS
from imabo_bench.methods import method_names, open_method
from imabo_bench.methods.controlled import METHODS as CONTROLLED
from imabo_bench.methods.study import StudyMethod, best_by_interval, highest_mean
from imabo_bench.problems.toy import Toy
from imabo_bench.testing.small import PAIR
from tests.bench.methods.playing import played

TOY = Toy("gaussian")
STUDIES = [name for name in method_names() if isinstance(open_method(name), StudyMethod)]


@pytest.mark.parametrize("name", STUDIES)
def test_rewards_may_come_late_out_of_order_or_never(name: str) -> None:
    """Of 300 pulls every third reward is lost, and the others come up to 9 rounds later."""
    player = open_method(name).start(TOY, rounds=300, seed=0, window=20.0)
    rng = np.random.default_rng(0)
    out: list[tuple[int, str]] = []
    told = 0
    for t in range(300):
        player.advance(float(t))
        for due in [item for item in out if item[0] <= t]:
            out.remove(due)
            player.tell(due[1], 1.0)
            told += 1
        served = player.ask()
        assert served is not None
        if t % 3:
            out.append((t + int(rng.integers(10)) + 1, served.key))
    study = player.study  # type: ignore[attr-defined]
    assert study.n_rewards == told
    assert study.n_pending <= 25  # the rest left the window of 20 rounds
    assert study.n_expired > 50
    assert player.recommend() is not None


def test_aware_of_delay_grows_by_rewards_and_blind_by_rounds() -> None:
    """When no reward comes, only the blind one goes on to 400^0.5 = 20 arms."""
    n_arms = {}
    for name in ("imoss-tpe", "imoss-tpe-blind"):
        player = open_method(name).start(TOY, rounds=400, seed=0, window=5.0)
        for t in range(400):
            player.advance(float(t))
            player.ask()
        n_arms[name] = player.n_arms
    assert n_arms["imoss-tpe-blind"] == 20
    assert n_arms["imoss-tpe"] == 10


TWO_ARMS = StudyMethod("two", "", IMOSS(warmup=2, beta=0.1), Random())


def test_the_largest_mean_is_recommended() -> None:
    player = TWO_ARMS.start(PAIR, rounds=10, seed=0)
    assert player.recommend() is None
    first, second = played(player, [0.4, 0.6])
    assert player.recommend() == second != first


def test_of_equal_means_the_arm_with_more_rewards_is_recommended() -> None:
    player = TWO_ARMS.start(PAIR, rounds=5, seed=0)
    configs = played(player, [1.0] * 5)
    assert player.recommend() == max(configs, key=configs.count)
    assert configs.count(configs[0]) in (2, 3)


def test_the_library_recommends_by_its_interval_and_imoss_by_the_mean() -> None:
    """A single 1.0 has the larger mean; 0.9 many times has the higher lower end."""
    player = TWO_ARMS.start(PAIR, rounds=200, seed=0)
    steady, lucky = played(player, [0.9, 1.0])
    player.study.pause(2)
    assert played(player, [0.9] * 40) == [steady] * 40
    player.study.resume(2)
    assert highest_mean(player.study) == lucky
    assert best_by_interval(player.study) == steady


def test_proposals_are_the_arms_after_the_warm_up() -> None:
    player = open_method("imoss-tpe").start(TOY, rounds=400, seed=0)
    played(player, [0.5] * 400)
    assert (player.n_arms, player.n_proposals) == (20, 10)


def test_only_methods_with_an_oracle_can_be_probed() -> None:
    rng = np.random.default_rng(0)
    counts = {}
    for name in STUDIES:
        player = open_method(name).start(TOY, rounds=100, seed=0)
        played(player, [0.5] * 30)
        counts[name] = len(player.probe(4, rng))
    controlled = {method.name for method in CONTROLLED}
    assert {name for name, n in counts.items() if n == 0} == {"ucb-air", "qrm2"} | controlled
    assert set(counts.values()) == {0, 4}


def test_an_exhausted_space_has_nothing_to_probe() -> None:
    player = open_method("imoss-tpe").start(PAIR, rounds=20, seed=0)
    played(player, [1.0] * 20)
    assert player.n_arms == 4
    assert player.probe(3, np.random.default_rng(0)) == []
