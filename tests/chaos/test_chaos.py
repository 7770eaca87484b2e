"""Nothing is lost and nothing counts twice, whatever dies; the long version is ``__main__``.

These need the wheel with the PostgreSQL server and fail without it: a proof that was not made is
no proof.
"""

from __future__ import annotations

import pytest

from tests.chaos.driver import Chaos, run

SHORT = [
    # Each decision of this one is made again by the audit.
    Chaos(
        "postgres", servers=2, rewards=900, kills=3, crashes=1, cuts=3, hangs=1,
        studies=("by the index",), options=("--no-proposals",), limit_s=240.0,
    ),
    # With the model's process beside the server.
    Chaos("sqlite", servers=1, rewards=500, kills=2, limit_s=240.0),
]  # fmt: skip


@pytest.mark.parametrize("chaos", [pytest.param(chaos, id=chaos.store) for chaos in SHORT])
def test_what_was_acknowledged_is_there_exactly_once(chaos: Chaos) -> None:
    report = run(chaos)
    assert report.violations == [], str(report)
    assert report.deeds == {kind: n for kind, n in chaos.deeds.items() if n}
    counts = report.counts
    assert counts["rewards acknowledged"] >= chaos.rewards
    # It can only show something of what happened.
    for what in (
        "rewards repeated", "asks repeated", "conflicts", "answers lost", "retries",
        "signals acknowledged", "signals repeated", "signal conflicts",
    ):  # fmt: skip
        assert counts[what] > 0, what
