"""The default's claims: ratios worked out by hand, and what the claims are about."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from imabo_bench import claims
from imabo_bench.claims.base import Claim, Evidence, Finding, Runs
from imabo_bench.claims.default import CURVES, DEFAULT_CLAIMS, FIVE, REAL
from imabo_bench.claims.ratios import Ratios, Totals
from imabo_bench.play import play
from imabo_bench.problems.toy import Toy
from imabo_bench.sweep import Results

OTHERS = ("b", "c")
Figures = Mapping[str, Mapping[str, list[float]]]  # problem -> method -> regret by seed


def rows(figures: Figures, **changes: Any) -> list[dict[str, Any]]:
    return [
        {"problem": problem, "method": method, "seed": seed, "delay": None, "rounds": 100,
         "checkpoints": [50, 100], "regret": [value / 2, value], **changes}
        for problem, methods in figures.items()
        for method, values in methods.items()
        for seed, value in enumerate(values)
    ]  # fmt: skip


def check(figures: Figures, **settings: Any) -> list[Finding]:
    part = Ratios("regret", "a", OTHERS, tuple(figures), **settings)
    return part.check(Evidence(rows(figures)))


TWO: Figures = {
    "p": {"a": [10.0, 30.0], "b": [90.0, 110.0], "c": [40.0, 40.0]},  # 20 / 40, the best is c
    "q": {"a": [18.0, 18.0], "b": [9.0, 9.0], "c": [99.0, 99.0]},  # 18 / 9, the best is b
}


def test_each_ratio_is_to_the_best_of_the_others_on_that_problem() -> None:
    overall, p, q = check(TWO, mean=1.0, each=1.05)
    assert [f.holds for f in (overall, p, q)] == [True, True, False]  # sqrt(0.5 * 2) = 1
    assert "geometric mean of 2 ratios 1.000" in overall.words
    assert "below 1 on 1, highest 2.000 (q)" in overall.words
    assert "a 20 ± 10, b 100 ± 10, c 40 ± 0; ratio to c 0.500 ±" in p.words
    assert "ratio to b 2.000 ± 0.000, at most 1.05, LOSES (2 seeds)" in q.words


def test_the_spread_is_that_of_resampled_seeds() -> None:
    """The mean of two draws from {10, 30} has a standard deviation of 7.07, here over 40."""
    overall, p, _ = check(TWO)
    spread = float(p.words.partition("ratio to c 0.500 ± ")[2].partition(" ")[0])
    assert spread == pytest.approx(7.07 / 40, rel=0.05)
    assert check(TWO)[0] == overall  # the same again


def test_seeds_are_resampled_together_for_every_method_of_a_problem() -> None:
    """Twice the other on every seed: the ratio does not depend on which seeds are drawn."""
    noisy = [5.0, 50.0, 500.0]
    _, row = check({"p": {"a": noisy, "b": [v / 2 for v in noisy], "c": [999.0] * 3}})
    assert "2.000 ± 0.000" in row.words


def test_only_seeds_that_all_have_count() -> None:
    _, row = check({"p": {"a": [1.0, 1.0, 700.0], "b": [2.0, 2.0], "c": [4.0, 4.0, 4.0]}})
    assert "ratio to b 0.500" in row.words
    assert "(2 seeds)" in row.words


def test_without_a_limit_a_row_is_shown_and_decides_nothing() -> None:
    assert [f.holds for f in check(TWO)] == [None, None, None]


def test_negative_regret_counts_as_a_hundredth_of_the_others() -> None:
    figures = {"p": {"a": [-5.0, -7.0], "b": [40.0, 40.0], "c": [50.0, 50.0]}, "q": TWO["q"]}
    overall, row, _ = check(figures, mean=0.15)
    assert "ratio to b -0.150" in row.words
    assert "counts as 0.01" in row.words
    assert "0.141" in overall.words  # sqrt(0.01 * 2)
    assert overall.holds


def test_no_ratio_where_the_best_of_the_others_is_not_positive_is_a_loss() -> None:
    overall, row = check({"p": {"a": [-9.0], "b": [-1.0], "c": [5.0]}}, mean=1.0, each=1.0)
    assert overall.holds is False
    assert row.holds is False
    assert "LOSES" in row.words


def total(figures: Figures, most: float = 1.0) -> Finding:
    part = Totals("regret", "both", "a", OTHERS, tuple(figures), most)
    (found,) = part.check(Evidence(rows(figures)))
    return found


def test_totals_are_compared_over_all_problems_not_problem_by_problem() -> None:
    found = total(TWO)  # 20 + 18 against 100 + 9 and 40 + 99: 38 / 109
    assert found.holds
    assert found.words.startswith("both: regret of a 19 ± 1, b 54.5 ± 45, ")
    assert "ratio to b 0.349 ± " in found.words
    assert found.words.endswith(", at most 1 (2 instances)")
    assert not total(TWO, most=0.3).holds


def test_the_spread_of_totals_is_that_of_resampled_problems() -> None:
    """The others have 20 everywhere, so the ratio scatters as the mean of our two problems does."""
    figures: Figures = {
        "p": {"a": [10.0], "b": [20.0], "c": [20.0]},
        "q": {"a": [30.0], "b": [20.0], "c": [20.0]},
    }
    words = total(figures).words
    spread = float(words.partition("1.000 ± ")[2].partition(",")[0])
    assert spread == pytest.approx(7.07 / 20, rel=0.05)


@pytest.mark.parametrize(("limit", "status"), [(1.1, "met"), (0.9, "not met")])
def test_rows_that_decide_nothing_do_not_change_the_verdict(
    limit: float, status: str, tmp_path: Path
) -> None:
    problems = ("toy/sin1", "toy/garland")
    figures = dict(zip(problems, TWO.values(), strict=True))
    methods = ("random", "ucb-air", "qrm2")
    known = dict(zip(("a", "b", "c"), methods, strict=True))
    results = Results(tmp_path)
    for row in rows(figures):
        results.add(row | {"method": known[row["method"]]})
    part = Ratios("regret", methods[0], methods[1:], problems, mean=limit)
    claim = Claim("x", "Text.", "test", (Runs(problems, methods, 100, 2),), (part,), "A note.")
    verdict = claims.judge(claim, results)
    assert verdict.status == status
    page = claims.to_markdown([verdict])
    assert f"| **{status}** | {int(status == 'met')} of 1 |" in page
    assert "- --: toy/garland: regret of random 18 ± 0" in page
    assert "\n\nA note.\n" in page
    assert "[--] toy/garland" in str(verdict)


def test_the_claims_are_about_what_was_asked_for() -> None:
    assert [claim.id for claim in DEFAULT_CLAIMS] == list("jklmn")
    assert (len(set(REAL)), len(CURVES), len(FIVE)) == (18, 6, 5)
    assert set(FIVE) <= set(REAL)
    assert {runs.seeds for claim in DEFAULT_CLAIMS for runs in claim.runs} == {10}
    assert claims.choose(["l", "m"]) == list(DEFAULT_CLAIMS[2:4])


@pytest.mark.parametrize("method", ["imabo", "imoss-random", "imoss-tpe", "imoss-mutate"])
def test_a_short_run_is_the_beginning_of_a_long_one(method: str) -> None:
    """Claim l reads 1,000 rounds from runs of 5,000."""
    short, long = (play(Toy("gaussian"), method, 3, rounds) for rounds in (40, 64))
    assert short["regret"][-1] == long["regret"][long["checkpoints"].index(40)]
