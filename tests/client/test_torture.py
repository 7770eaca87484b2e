"""The short version of ``torture``; ``make chaos`` runs the long one."""

from __future__ import annotations

import pytest

from tests.client.torture import Plan, run

SHORT = [
    Plan(
        "sqlite", 200, clients=2, seed=1, pace_s=0.1, limit_s=300.0, told_between=100,
        # The first needs a disk of its own, which only root has; the second is there always.
        faults=("disk full", "no room for files"),
    ),
    Plan(
        "postgres", 200, clients=2, seed=1, pace_s=0.1, limit_s=300.0, told_between=100,
        faults=("database crashed", "database hung"),
    ),
]  # fmt: skip


@pytest.mark.parametrize("plan", [pytest.param(plan, id=plan.store) for plan in SHORT])
def test_every_tell_that_returned_is_there_exactly_once(plan: Plan) -> None:
    report = run(plan)
    assert report.violations == [], str(report)
    assert report.n_told >= plan.rewards
    # It can only show something of what happened.
    assert {*plan.faults} - {"disk full"} <= {*report.faults}
    assert report.most_waiting > 0
    assert report.faults["signals told"] > 0
