"""Feedback: delays, what is still out, and what never comes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from imabo import Study, insight
from imabo.insight import StudySnapshot
from imabo.testing.study.base import ManualClock
from tests.insight.story import eventful, instant, make


def delayed(delays: list[float | None], end: float, **settings: Any) -> Study:
    """A pull a second, each with its reward so much later; None stands for one that is lost."""
    clock = ManualClock(1e9)
    study = make(clock=clock, **settings)
    events = [(1e9 + i, i, False) for i in range(len(delays))]
    events += [(1e9 + i + d, i, True) for i, d in enumerate(delays) if d is not None]
    served: dict[int, str] = {}
    for at, i, is_reward in sorted(events, key=lambda event: (event[0], event[2])):
        if at <= 1e9 + end:
            clock.now = at
            if is_reward:
                study.tell(served[i], 0.5)
            else:
                served[i] = study.ask().id
    clock.now = 1e9 + end
    study.expire()
    return study


def test_counts_are_those_of_the_study(any_snapshot: StudySnapshot) -> None:
    found, totals = insight.feedback(any_snapshot), any_snapshot.totals
    assert found.n_rewarded + found.n_pending + found.n_expired == found.n_pulls == totals.n_pulls
    assert found.n_expired == totals.n_expired
    shares = [share for share in found.arrived if share is not None]
    assert shares == sorted(shares)
    assert all(0.0 <= share <= 1.0 for share in shares)
    assert found.delays_s == sorted(found.delays_s, key=lambda delay: delay or 0.0)


def test_rewards_that_come_at_once_have_no_delay() -> None:
    found = insight.feedback(insight.read(instant(100)[0]))
    assert {seconds for _, seconds in found.quantiles} == {0.0}
    assert found.arrived[-1] == pytest.approx(1.0)
    assert set(found.without) == {0.0}


def test_quantiles_are_those_of_the_delays_of_all_pulls() -> None:
    study = eventful()
    delays = [
        (pull.rewarded_at - pull.served_at).total_seconds()
        for pull in study
        if pull.rewarded_at is not None
    ]
    for share, seconds in insight.feedback(insight.read(study)).quantiles:
        assert seconds == pytest.approx(np.quantile(np.maximum(delays, 0.0), share))


def test_the_curve_counts_pulls_that_still_wait() -> None:
    # Each tenth is lost; the others take between 0 and 400 seconds, so late ones are still out.
    delays = [None if i % 10 == 0 else float(i * 61 % 400) for i in range(600)]
    study = delayed(delays, 700.0)
    snapshot = insight.read(study)
    found = insight.feedback(snapshot)
    pulls = list(study)
    waits = np.array(
        [
            snapshot.last_at - pull.served_at.timestamp()
            if pull.rewarded_at is None
            else (pull.rewarded_at - pull.served_at).total_seconds()
            for pull in pulls
        ]
    )
    came = np.array([pull.rewarded_at is not None for pull in pulls])
    curve = stats.ecdf(stats.CensoredData(uncensored=waits[came], right=waits[~came])).cdf
    for at, share in list(zip(found.delays_s, found.arrived, strict=True))[1:]:
        assert at is not None
        assert share == pytest.approx(curve.evaluate([at + 1e-6])[0], abs=0.01)
    # Counting only what has come would say that nine in ten come within 300 seconds.
    assert came.mean() < 0.8
    assert found.arrived[-1] == pytest.approx(0.9, abs=0.05)


def test_young_pulls_have_fewer_rewards_than_old_ones() -> None:
    study = delayed([100.0] * 300, 300.0)
    found = insight.feedback(insight.read(study))
    assert found.ages_s == sorted(found.ages_s, key=lambda age: age or 0.0)
    assert found.without[0] == 1.0
    assert found.without[-1] == 0.0
    assert sum(n or 0.0 for n in found.n_by_age) == 300


def test_expired_pulls_are_told_apart_from_pending_ones() -> None:
    found = insight.feedback(insight.read(delayed([None] * 30 + [0.0], 40.0, window_s=20.0)))
    assert (found.n_rewarded, found.n_expired + found.n_pending) == (1, 30)
    assert found.n_expired > 0
    assert found.n_pending > 0
    assert found.window_s == 20.0


@pytest.mark.parametrize(("window_s", "n_lines"), [(30.0, 2), (4000.0, 0)], ids=["near", "far"])
def test_a_window_far_beyond_all_delays_is_not_drawn(window_s: float, n_lines: int) -> None:
    snapshot = insight.read(delayed([10.0, 20.0] * 30, 40.0, window_s=window_s))
    assert len(insight.figure("feedback", snapshot)["layout"]["shapes"]) == n_lines
