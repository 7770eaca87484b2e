"""The lift in the benchmark: what a run writes down of it, and what decides a claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from imabo_bench.claims.base import Evidence
from imabo_bench.claims.control import CONTROL_CLAIMS, LiftHolds, NoAlarm, Width
from imabo_bench.claims.shown import Holds, Right
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


def test_what_is_shown_of_arms_and_of_chance_is_written_down_at_round_numbers() -> None:
    row = play(open_problem("situations/few-5"), "imoss-random-10", 0, 300)
    at = row["checkpoints"].index(300)
    assert row["random_covered"][at] is True
    assert row["random_covered"][at - 1] is None, "only at round numbers: it reads the whole study"
    assert 0.0 <= row["arms_covered"][at] <= 1.0
    assert 0.0 <= row["top_sure"][at] <= 1.0
    assert row["tuned_loss"][at] == pytest.approx(row["tuned_regret"][at] * 0.9, rel=0.1)


def test_a_run_that_stays_with_its_control_serves_nothing_else() -> None:
    row = play(open_problem("situations/few-5"), "stay-control-10", 0, 200)
    assert row["n_arms"] == 1
    assert (row["lift_wrong"], row["rolled_back"]) == (0, None)


def shown(column: str, values: Sequence[float | bool | None]) -> Evidence:
    rows: list[dict[str, Any]] = [
        {"problem": "p", "method": "m", "delay": None, "seed": seed, "checkpoints": [300],
         column: [one]}
        for seed, one in enumerate(values)
    ]  # fmt: skip
    return Evidence(rows)


def test_what_is_shown_must_be_true() -> None:
    good, bad = shown("arms_covered", [0.95] * 50), shown("arms_covered", [0.8] * 50)
    part = Holds("arms_covered", "m", "p", (300,))
    assert [f.holds for made in (good, bad) for f in part.check(made)] == [True, False]
    lenient = Holds("arms_covered", "m", "p", (300,), least=None)
    assert [f.holds for f in lenient.check(bad)] == [None]
    none = shown("random_covered", [None] * 5)
    assert [f.holds for f in Holds("random_covered", "m", "p", (300,)).check(none)] == [None]


def test_a_mean_that_is_off_is_found_where_it_is_shown() -> None:
    off = shown("random_error", [0.05, 0.03, None])
    (finding,) = Right("random_error", "m", "p", (300,), 0.02).check(off)
    assert finding.holds is False
    assert "+0.0400 ± 0.0100" in finding.words
    assert "in 2 of 3 runs" in finding.words
    assert [f.holds for f in Right("random_error", "m", "p", (300,), 0.05).check(off)] == [True]


def test_a_wide_interval_is_found() -> None:
    rows = shown("lift_width", [0.2, 0.24, None])
    assert [f.holds for f in Width("m", "p", 300, 0.11).check(rows)] == [True]
    assert [f.holds for f in Width("m", "p", 300, 0.1).check(rows)] == [False]


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
    assert [claim.id for claim in CONTROL_CLAIMS] == ["w", "x", "y", "z"]
