"""The lift in the benchmark: what a run writes down of it, and what decides a claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from imabo_bench.claims.base import Evidence
from imabo_bench.claims.control import CONTROL_CLAIMS, LiftHolds, NoAlarm
from imabo_bench.lifted import LiftBook
from imabo_bench.methods import open_method
from imabo_bench.methods.base import Served
from imabo_bench.play import play
from imabo_bench.problems import open_problem
from imabo_bench.problems.toy import Toy


def test_a_run_with_a_control_says_what_its_lift_is() -> None:
    row = play(open_problem("situations/few-5"), "imoss-control-10", 0, 300)
    assert row["lift_covered"][-1] is True
    assert 0.0 < row["lift_width"][-1] <= 2.0
    assert row["tuned_regret"][-1] < row["regret"][-1], "the control is a draw, and stays it"
    assert (row["lift_wrong"], row["rolled_back"]) == (0, None)


def test_a_run_without_a_control_has_none() -> None:
    row = play(open_problem("situations/few-5"), "imoss-mutate", 0, 100)
    assert (row["lift_covered"], row["lift_wrong"]) == ([], 0)
    assert row["tuned_regret"] == row["regret"]


def test_the_truth_is_the_average_over_the_rewarded_requests() -> None:
    player = open_method("random").start(Toy("gaussian"), rounds=10, seed=0)
    book = LiftBook(player)
    player.lift = lambda: (0.1, 0.2)  # type: ignore[method-assign]
    book.serve(Served("a", {}, "tuned"), 0.9, 0.5, 1.0)
    book.serve(Served("b", {}, "control"), 0.5, 0.5, 1.0)
    book.serve(Served("c", {}, "tuned"), 0.5, 0.5, 1.0)
    assert book.covered() is None, "before the first reward"
    book.tell("c")
    assert book.covered() is False
    book.tell("b")  # tuned would have had 0.9
    assert book.covered() is True, "0.2 on average"
    assert book.values(3)["tuned_regret"] == pytest.approx(3 * 0.6 / 2)


def evidence(
    covered: Sequence[bool | None], wrong: Sequence[int], fired: Sequence[int | None]
) -> Evidence:
    rows: list[dict[str, Any]] = [
        {"problem": "p", "method": "m", "delay": None, "seed": seed, "checkpoints": [300],
         "lift_covered": [one], "lift_wrong": n, "rolled_back": at}
        for seed, (one, n, at) in enumerate(zip(covered, wrong, fired, strict=True))
    ]  # fmt: skip
    return Evidence(rows)


def test_a_lift_that_misses_too_often_is_found() -> None:
    good = evidence([True] * 95 + [False] * 5, [0] * 95 + [1] * 5, [None] * 100)
    assert [f.holds for f in LiftHolds("m", "p", (300,)).check(good)] == [True, True]
    bad = evidence([True] * 80 + [False] * 20, [0] * 80 + [3] * 20, [None] * 100)
    assert [f.holds for f in LiftHolds("m", "p", (300,)).check(bad)] == [False, False]
    unknown = evidence([None] * 9, [0] * 9, [None] * 9)
    assert [f.holds for f in LiftHolds("m", "p", (300,)).check(unknown)] == [None, True]


def test_alarms_of_a_guardrail_are_counted() -> None:
    quiet = evidence([True] * 100, [0] * 100, [None] * 99 + [700])
    assert [f.holds for f in NoAlarm("m", ("p",), 0.01).check(quiet)] == [True]
    loud = evidence([True] * 100, [0] * 100, [None] * 98 + [700, 800])
    assert [f.holds for f in NoAlarm("m", ("p",), 0.01).check(loud)] == [False]


def test_the_claims_have_letters_of_their_own() -> None:
    assert [claim.id for claim in CONTROL_CLAIMS] == ["x", "y", "z"]
