"""The load benchmark of the service: its arithmetic, and one tiny run of the real thing."""

from __future__ import annotations

import pytest

from imabo_bench.service import databases
from imabo_bench.service.isolation import isolation
from imabo_bench.service.load import Load, find_tool
from imabo_bench.service.measures import Plan, speed
from imabo_bench.service.sample import rate_line


def test_a_load_is_summed_up_by_its_rate_and_percentiles() -> None:
    load = Load.from_times([i / 1000 for i in range(200, 0, -1)], seconds=0.5, failed=3)
    assert (load.rate, load.failed) == (400.0, 3)
    assert load.p50_ms == pytest.approx(101.0)
    assert load.p99_ms == pytest.approx(199.0)
    assert Load.from_times([], seconds=1.0).n == 0


def test_a_ratio_is_the_median_of_rounds_that_were_measured_side_by_side() -> None:
    def loads(*rates: int) -> list[Load]:
        return [Load(rate, 1.0, 1.0, 1.0, 0) for rate in rates]

    line = rate_line("asks/s", loads(50, 30, 90), loads(100, 100, 100), 0.4)
    assert line.met
    assert not rate_line("asks/s", loads(50, 30, 90), loads(100, 100, 100), 0.6).met


def test_the_tool_is_the_one_that_was_wanted() -> None:
    assert find_tool("loop") == "loop"


def test_a_tiny_run_measures_every_claim_on_a_real_service() -> None:
    plan = Plan(tool="loop", connections=4, seconds=0.3, rounds=1, past=200, long_past=400)
    with databases.sqlite() as database:
        lines = speed(database, plan)
    text = "\n".join(map(str, lines))
    for claim in ("asks/s vs an empty route", "rewards/s vs an empty route", "a bare INSERT's"):
        assert claim in text


def test_a_tiny_run_measures_what_a_stuck_study_costs_another() -> None:
    plan = Plan(tool="loop", connections=4, seconds=0.3, rounds=1, past=200)
    with databases.sqlite() as database:
        (line,) = isolation(database, plan)
    assert "decisions of 1 s in another study vs alone" in str(line)
    assert line.bar == 2.0
