"""UCB-AIR and QRM2 against their papers' rules, worked out by hand."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from imabo import Choice, Float, Space, Study
from imabo.oracles import Random
from imabo.policies import QRM2, UCBAIR
from imabo.stores.memory import MemoryStore

from .sets import arms_with, equal_arms


class TestUCBAIR:
    def test_ucb_v_of_two_arms(self) -> None:
        # t = 7, E = 2 log(10 log 7) = 2 log 19.4591015 = 5.9366298.
        # Arm 1: n = 4, mean 0.75, V = 0.1875: sqrt(2 * 0.1875 * E / 4) = 0.7460288, 3 E / 4.
        # Arm 2: n = 2, mean 1, V = 0: 3 E / 2.
        arms = arms_with([1, 0, 1, 1], [1, 1])
        e = 5.9366298
        expected = [0.75 + 0.7460288 + 0.75 * e, 1.0 + 1.5 * e]
        assert_allclose(UCBAIR().scores(arms), expected, atol=1e-6)

    def test_the_variance_is_that_of_the_rewards(self) -> None:
        arms = arms_with([0.2, 0.4, 0.9])  # mean 0.5, squares 1.01 / 3: V = 0.0866667
        assert_allclose(arms.variances(), [1.01 / 3 - 0.25])

    @pytest.mark.parametrize(("n_arms", "t", "due"), [(5, 25, False), (5, 26, True), (1, 1, False)])
    def test_growth_rule(self, n_arms: int, t: int, due: bool) -> None:
        """A new arm while K < t^beta."""
        assert UCBAIR().growth(equal_arms(n_arms, t - 1)) == ("oracle" if due else None)


class TestQRM2:
    @pytest.mark.parametrize(
        ("n_pulls", "phase"),
        [
            (0, (1, 0)),
            (1, (1, 0)),
            (2, (2, 2)),
            (5, (2, 2)),
            (6, (3, 6)),
            (13, (3, 6)),
            (14, (4, 14)),
        ],
    )
    def test_phase_r_holds_two_to_the_r_pulls(self, n_pulls: int, phase: tuple[int, int]) -> None:
        assert QRM2().phase(n_pulls) == phase

    def test_a_study_has_the_phase_s_number_of_arms(self) -> None:
        # ceil(2^(0.347 r)) for r = 1, 2, ...: 2^0.347 = 1.272, 1.618, 2.058, 2.617, 3.329, ...
        study = Study.create("s", Space(x=Float(0, 1)), policy=QRM2(), oracle=Random(), seed=0)
        for r, n_arms in enumerate([2, 2, 3, 3, 4, 5, 6, 7], start=1):
            for _ in range(2**r):
                study.tell(study.ask().id, 0.5)
            assert len(study.arms()) == n_arms

    def test_moss_with_the_phase_s_length_as_horizon(self) -> None:
        # 20 pulls are in phase 4 (T = 16), which began after 14: mark there.
        arms = arms_with([1, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0, 0])
        arms.mark()
        for row, reward in [(0, 0.0), (0, 0.0), (0, 1.0), (0, 1.0), (1, 1.0), (1, 0.0)]:
            arms.count_pull(row)
            arms.count_reward(row, reward, was_pending=True)
        # Of this phase: n = 4 and 2, means 0.5 and 0.5; log(16 / (2 n)) / n = 0.1732868, 0.6931472.
        expected = [0.5 + math.sqrt(0.1732868), 0.5 + math.sqrt(0.6931472)]
        assert_allclose(QRM2().scores(arms), expected, atol=1e-6)

    def test_the_store_keeps_the_counters_of_a_phase_s_start(self) -> None:
        store = MemoryStore()
        study = Study.create("s", Space(a=Choice(*"abc")), policy=QRM2(), store=store, seed=0)
        at_start: Counter[int] = Counter()
        for n_pulls in range(200):
            if n_pulls in (2, 6, 14, 30, 62, 126):
                at_start = Counter({arm.id: arm.n_rewards for arm in study.arms()})
            study.tell(study.ask().id, 1.0)
            snapshot = store.load("s")
            assert {a.id: a.tally.marked_rewards for a in snapshot.arms} == {
                a.id: at_start[a.id] for a in snapshot.arms
            }

    def test_rewards_of_the_last_phase_are_forgotten(self) -> None:
        """Before pull 254 only "a" is good, after it only "b": a memory would stay with "a"."""
        study = Study.create("s", Space(a=Choice("a", "b")), policy=QRM2(), seed=0)
        served: list[Counter[object]] = [Counter(), Counter()]
        for number in range(254 + 60):
            pull = study.ask()
            is_after = number >= 254
            served[is_after][pull.config["a"]] += 1
            study.tell(pull.id, float(pull.config["a"] == "ab"[is_after]))
        assert served[0]["a"] > 0.7 * 254
        assert served[1]["b"] > 0.7 * 60

    def test_reopening_at_every_pull_changes_no_decision(self, tmp_path: Path) -> None:
        """What a phase forgets is in the store, not in the process."""

        def play(url: str, reopen: bool) -> list[int]:
            rng = np.random.default_rng(0)
            study = Study.create("s", Space(x=Float(0, 1)), policy=QRM2(), store=url, seed=1)
            served = []
            for _ in range(70):
                pull = study.ask()
                served.append(pull.arm)
                study.tell(pull.id, float(rng.integers(2)))
                if reopen:
                    study.close()
                    study = Study.open("s", store=url)
            study.close()
            return served

        once, again = (f"sqlite:///{tmp_path / name}.db" for name in ("once", "again"))
        assert play(once, reopen=False) == play(again, reopen=True)
