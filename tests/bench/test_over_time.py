"""Comparisons of worlds that change, on rows made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from imabo_bench.claims import CLAIMS
from imabo_bench.claims.base import Evidence, Finding
from imabo_bench.claims.over_time import (
    Covers,
    FewAlarms,
    FewLocked,
    FoundRise,
    Share,
    Traffic,
    Unflattered,
)
from imabo_bench.claims.ratios import Ratios
from imabo_bench.claims.situations import SITUATION_CLAIMS
from imabo_bench.methods import open_method
from imabo_bench.pack import thin
from imabo_bench.problems import open_problem

CHECKPOINTS = [100, 150, 200, 250, 300]


def row(seed: int, **columns: Any) -> dict[str, Any]:
    facts = {"problem": "p", "method": "a", "seed": seed, "delay": None, "alarms": []}
    return facts | {"checkpoints": CHECKPOINTS} | columns


def check(part: Any, *rows: dict[str, Any]) -> list[Finding]:
    found: list[Finding] = part.check(Evidence(rows))
    return found


@pytest.mark.parametrize(("least", "holds"), [(0.79, True), (0.81, False)])
def test_a_share_is_of_what_could_be_earned_in_the_stretch(least: float, holds: bool) -> None:
    """40 of 50 in the stretch, though all that came before was lost."""
    lost = row(0, earned=[0, 0, 20, 40, 60], attainable=[50, 75, 100, 125, 150])
    (finding,) = check(Share("a", ("p",), 200, 300, least), lost)
    assert finding.holds is holds
    assert "earns 0.800" in finding.words


@pytest.mark.parametrize(("most", "holds"), [(0.31, True), (0.29, False)])
def test_traffic_of_what_fell_is_averaged_over_runs(most: float, holds: bool) -> None:
    runs = [row(0, watched=[9, 9, 9, 9, 19]), row(1, watched=[9, 9, 9, 9, 29])]
    (finding,) = check(Traffic("a", ("p",), 250, 300, most), *runs)
    assert finding.holds is holds
    assert "0.300 ± 0.100" in finding.words
    assert "highest 0.40" in finding.words


def test_a_rise_is_found_when_most_of_a_stretch_goes_there_in_time() -> None:
    part = FoundRise("a", ("p",), changed=100, within=150, least=0.5)
    late = row(0, watched=[0, 0, 0, 0, 50])
    at_once = row(1, watched=[0, 26, 26, 26, 26])
    half = row(2, watched=[0, 25, 50, 75, 100])  # never most of a stretch
    overall, each = check(part, late, at_once, half)
    assert (overall.holds, each.holds) == (False, None)
    assert "in 0.33 of 3 runs" in overall.words
    assert "1 of 3, after 50 in the middle" in each.words
    assert check(part, at_once, half)[0].holds


def test_a_run_with_any_alarm_is_false_once() -> None:
    part = FewAlarms("a", ("p",), most=0.5)
    runs = [row(0), row(1, alarms=[10, 20]), row(2, alarms=[7])]
    overall, each = check(part, *runs)
    assert not overall.holds
    assert "2 of 3 runs" in overall.words
    assert "[[10, 20], [7]]" in each.words
    (alone,) = check(part, runs[0])
    assert alone.holds


def test_coverage_is_over_all_runs_at_a_round() -> None:
    """Three of four; 0.95 less two errors of four runs is 0.73, of sixteen 0.84."""
    runs = [row(i, covered=[None, True, i % 4 > 0, False, True], width=[None, *[0.1] * 4])
            for i in range(16)]  # fmt: skip
    part = Covers("a", ("p",), (200,), 0.95)
    (few,), (many,) = check(part, *runs[:4]), check(part, *runs)
    assert (few.holds, many.holds) == (True, False)
    assert "3 of 4 runs (0.750; 0.10 wide on average)" in few.words
    (shown,) = check(Covers("a", ("p",), (250,), 0.95, decides=False), *runs)
    assert shown.holds is None
    assert "0 of 16" in shown.words


@pytest.mark.parametrize(("errors", "holds"), [((0.05, -0.02), True), ((-0.04, -0.01), False)])
def test_a_shown_mean_is_judged_on_average(errors: tuple[float, float], holds: bool) -> None:
    runs = [row(seed, error=[9, 9, error, 9, 9]) for seed, error in enumerate(errors)]
    (finding,) = check(Unflattered("a", "p", (200,), 0.02), *runs)
    assert finding.holds is holds
    assert f"off by {np.mean(errors):+.4f}" in finding.words


@pytest.mark.parametrize(("n_far", "holds"), [(15, True), (16, False)])
def test_a_run_is_locked_in_when_it_serves_mostly_what_is_far_from_the_best(
    n_far: int, holds: bool
) -> None:
    part = FewLocked("a", ("p",), rounds=300, most=0.0)
    far = [90, 99, 99, 99, 99 + n_far]
    regret = [90.0, 99.0, 99.0, 99.0, 99.0 + 30 * 0.03]
    made = row(0, far=far, regret=regret, checkpoints=[100, 150, 200, 270, 300])
    (finding,) = check(part, made)
    assert finding.holds is holds
    assert "1 lose 0.03 a round or more" in finding.words


def test_a_ratio_may_be_beyond_its_limit_by_errors() -> None:
    """1.5 ± 0.35: within one error of 1.2, not within a tenth of one."""
    values = {"a": [10.0, 20.0], "b": [10.0, 10.0]}
    rows = [
        row(seed, method=method, regret=[0, 0, 0, 0, value])
        for method, figures in values.items()
        for seed, value in enumerate(figures)
    ]
    for errors, holds in ((1.0, True), (0.1, False), (0.0, False)):
        part = Ratios("regret", "a", ("b",), ("p",), each=1.2, errors=errors)
        assert check(part, *rows)[1].holds is holds


def test_the_claims_of_the_situations_can_be_run() -> None:
    for claim in SITUATION_CLAIMS:
        assert claim in CLAIMS
        for runs in claim.runs:
            assert [open_method(name).name for name in runs.methods] == list(runs.methods)
            for name in runs.problems:
                if name.startswith("situations/"):
                    assert open_problem(name).name == name
                    assert int(name.rpartition("-")[2]) >= 5  # others were looked at


def test_packed_rows_keep_what_a_changing_world_is_judged_by() -> None:
    dense = list(range(50, 6001, 50))
    made = row(0, checkpoints=dense, watched=dense, simple=dense, alarms=[3040])
    assert (thin(made)["checkpoints"], thin(made)["alarms"]) == (dense, [3040])
    assert (thin(made)["watched"], thin(made)["simple"]) == (dense, [])
    assert thin(row(0, regret=[1.0] * 5))["checkpoints"] == [100, 300]


def test_packed_rows_keep_what_the_last_tenth_is_judged_by() -> None:
    (claim,) = (one for one in SITUATION_CLAIMS if one.id == "q")
    (part,) = claim.parts
    assert isinstance(part, FewLocked)
    times = [10_000, 18_000, 19_000, part.rounds]
    columns = {"regret": [1.0, 2.0, 500.0, 900.0], "far": [10, 20, 1000, 1900]}
    made = row(0, checkpoints=times, method=part.method, **columns)
    (found,) = check(part, *(thin(made | {"problem": name}) for name in part.problems))
    assert not found.holds
