from __future__ import annotations

import math

import pytest
from scipy import stats

from imabo_bench.report.rows import Run
from imabo_bench.report.tables import notes_of, overview_of, paired_p_value, standings_of
from tests.bench.report.synthetic import group, run


def runs_of(method: str, *ends: float, **changes: object) -> list[Run]:
    """A run for each cumulative regret at the end, seeds 0, 1, ..."""
    return [run(method, seed, regret=[1.0, end], **changes) for seed, end in enumerate(ends)]


def test_the_paired_test_is_the_paired_t_test() -> None:
    one, other = [3.0, 5.0, 4.0, 8.0], [2.0, 4.5, 4.2, 5.0]
    expected = stats.ttest_rel(one, other).pvalue
    found = paired_p_value(dict(enumerate(one)), dict(enumerate(other)))
    assert found == pytest.approx(expected)


def test_the_paired_test_uses_the_seeds_in_common() -> None:
    one, other = {0: 3.0, 1: 5.0, 2: 4.0, 9: 100.0}, {2: 4.2, 1: 4.5, 0: 2.0}
    expected = stats.ttest_rel([3.0, 5.0, 4.0], [2.0, 4.5, 4.2]).pvalue
    assert paired_p_value(one, other) == pytest.approx(expected)


def test_pairs_without_spread_or_without_company_have_no_t_statistic() -> None:
    assert paired_p_value({0: 1.0, 1: 2.0}, {0: 1.0, 1: 2.0}) == 1.0
    assert paired_p_value({0: 2.0, 1: 3.0}, {0: 1.0, 1: 2.0}) == 0.0
    assert paired_p_value({0: 1.0, 1: 2.0}, {0: 1.0, 5: 2.0}) is None


def test_standings_put_the_lowest_regret_first_and_compare_with_it() -> None:
    worse, best = standings_of(group(*runs_of("a", 30.0, 42.0), *runs_of("b", 20.0, 28.0)))[::-1]
    assert (best.method, best.is_best, best.ratio, best.p_value) == ("b", True, 1.0, None)
    assert best.regret.mean == 24.0
    assert best.average.mean == pytest.approx(0.24)
    assert best.regret.error == pytest.approx(4.0)
    assert worse.ratio == pytest.approx(36.0 / 24.0)
    assert worse.p_value == pytest.approx(stats.ttest_rel([30, 42], [20, 28]).pvalue)


def test_a_schedule_that_ended_early_is_compared_by_regret_per_round() -> None:
    ended = run("short", regret=[1.0, 15.0], played=50, checkpoints=[10, 50])
    table = standings_of(group(ended, run("long", regret=[1.0, 20.0])))
    assert [(line.method, line.regret.mean) for line in table] == [("long", 20.0), ("short", 15.0)]
    assert table[1].ratio == pytest.approx(0.3 / 0.2)


def test_there_is_no_ratio_to_a_regret_that_is_not_positive() -> None:
    table = standings_of(group(*runs_of("a", -5.0), *runs_of("b", 5.0)))
    assert [line.ratio for line in table] == [None, None]


def test_the_overview_takes_geometric_means_over_problems() -> None:
    first = standings_of(group(*runs_of("a", 10.0), *runs_of("b", 20.0)))
    second = standings_of(group(*runs_of("a", 80.0), *runs_of("b", 10.0), *runs_of("c", 10.0)))
    overview = overview_of({"one": first, "two": second})
    assert overview.geometric_means["a"] == pytest.approx(math.sqrt(8.0))
    assert overview.geometric_means["b"] == pytest.approx(math.sqrt(2.0))
    assert overview.n_ratios == {"a": 2, "b": 2, "c": 1}
    assert overview.methods == ["c", "b", "a"]
    assert ("one", "c") not in overview.standings


def test_a_problem_without_ratios_does_not_count_in_the_overview() -> None:
    negative = standings_of(group(*runs_of("a", -5.0), *runs_of("b", 5.0)))
    overview = overview_of({"one": negative})
    assert overview.geometric_means == {"a": None, "b": None}


def test_negative_regret_against_an_estimated_optimum_is_noted() -> None:
    (note,) = notes_of(group(*runs_of("a", -5.0, is_exact=False), run("b", is_exact=False)))
    assert "not exact" in note
    assert "a found better" in note
    (plain,) = notes_of(group(run(is_exact=False)))
    assert "found better" not in plain


def test_negative_regret_against_an_exact_optimum_is_called_a_fault() -> None:
    (note,) = notes_of(group(*runs_of("a", -5.0)))
    assert "fault" in note


def test_early_ends_uneven_seeds_and_several_optima_are_noted() -> None:
    assert notes_of(group(run(), run(seed=1))) == []
    odd = [run("a", 0), run("b", 1, played=60, checkpoints=[10, 60], optimum=0.95)]
    ended, uneven, optima = notes_of(group(*odd))
    assert ended.startswith("b stopped when its own schedule ended, after 60 of 100 rounds.")
    assert "seeds in common" in uneven
    assert "disagree on the optimum" in optima
