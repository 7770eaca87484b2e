"""The best arms and the table of arms."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from imabo import Choice, Space, Study, insight
from imabo.confidence import bounded_interval
from imabo.errors import InvalidSetting
from imabo.insight import ArmRow, StudySnapshot
from imabo.insight.arm_columns import Arms
from tests.insight.story import eventful, instant

EVENTFUL = eventful()
FACTS = insight.read(EVENTFUL)


def value_of(row: ArmRow, sort: str) -> Any:
    return getattr(row, sort)


def test_rows_are_the_arms_of_the_study_with_their_intervals() -> None:
    study, _ = instant(200)
    table = insight.arm_table(insight.read(study), sort="id", descending=False, limit=1000)
    arms = study.arms()
    assert [row.id for row in table.rows] == [arm.id for arm in arms]
    n = np.array([float(arm.n_rewards) for arm in arms])
    low, high = bounded_interval(n, n * np.array([arm.mean or 0.0 for arm in arms]), 0.95)
    for row, arm, bottom, top in zip(table.rows, arms, low, high, strict=True):
        assert (row.config, row.state, row.n_pulls) == (arm.config, arm.state, arm.n_pulls)
        assert (row.origin, row.parent, row.n_pending) == (arm.origin, arm.parent, arm.n_pending)
        assert row.mean == pytest.approx(arm.mean)
        assert row.share == arm.n_pulls / study.n_pulls
        if arm.n_rewards:
            assert row.low == pytest.approx(bottom)
            assert row.high == pytest.approx(top)
    assert [row.id for row in table.rows if row.is_best] == [study.best().arm]


@settings(max_examples=60)
@given(
    sort=st.sampled_from(insight.SORTS),
    descending=st.booleans(),
    states=st.none() | st.lists(st.sampled_from(["active", "paused", "retired"])),
    text=st.sampled_from(["", "large", "model=large", "MODEL = large", "warmup 1", "no such"]),
    limit=st.integers(1, 7),
)
def test_pages_put_together_are_all_matching_arms_in_order(
    sort: str, descending: bool, states: list[str] | None, text: str, limit: int
) -> None:
    options: dict[str, Any] = {"sort": sort, "descending": descending, "text": text}
    whole = insight.arm_table(FACTS, states=states, limit=1000, **options)
    pages = [
        row
        for offset in range(0, whole.n + limit, limit)
        for row in insight.arm_table(
            FACTS, states=states, offset=offset, limit=limit, **options
        ).rows
    ]
    # A label tells apart those that are shown together, so it may say less on a page.
    assert [replace(row, label="") for row in pages] == [
        replace(row, label="") for row in whole.rows
    ]
    assert len(pages) == whole.n <= whole.n_arms == EVENTFUL.n_arms
    assert states is None or all(row.state in states for row in pages)
    known = [row for row in pages if value_of(row, sort) is not None]
    assert pages[: len(known)] == known
    # Stable sorts: equal ones stay in the order of their ids, whichever way it goes.
    by_id = sorted(known, key=lambda row: row.id)
    assert known == sorted(by_id, key=lambda row: value_of(row, sort), reverse=descending)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("model=large", lambda row: row.config["model"] == "large"),
        ("  Model  =  LARGE ", lambda row: row.config["model"] == "large"),
        ("retired", lambda row: row.state == "retired"),
        ("#1", lambda row: row.id == 1),
        (
            "model=small warmup",
            lambda row: (row.config["model"], row.origin) == ("small", "warmup"),
        ),
    ],
)
def test_text_finds_arms_by_what_they_are(text: str, matches: Any) -> None:
    rows = insight.arm_table(FACTS, limit=1000).rows
    found = insight.arm_table(FACTS, text=text, limit=1000)
    assert 0 < found.n < len(rows)
    assert {row.id for row in found.rows} == {row.id for row in rows if matches(row)}


@pytest.mark.parametrize(
    "options",
    [{"sort": "size"}, {"offset": -1}, {"limit": 0}, {"states": ["gone"]}, {"limit": True}],
)
def test_settings_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidSetting):
        insight.arm_table(FACTS, **options)


def test_the_best_arms_are_those_of_the_highest_lower_end() -> None:
    study, _ = instant(300)
    snapshot = insight.read(study)
    found = insight.arms(snapshot, limit=7)
    by_low = insight.arm_table(snapshot, sort="low", states=["active"], limit=7)
    assert [row.low for row in found.rows] == [row.low for row in by_low.rows]
    assert found.rows[0].is_best
    by_pulls = insight.arms(snapshot, by="n_pulls", limit=3)
    table = insight.arm_table(snapshot, sort="n_pulls", limit=3)
    assert by_pulls.rows == table.rows


def test_arms_out_of_service_come_after_those_in_service(any_snapshot: StudySnapshot) -> None:
    states = [row.state == "active" for row in insight.arms(any_snapshot, limit=50).rows]
    assert states == sorted(states, reverse=True)
    assert len(states) <= 50


@pytest.mark.parametrize("ends", [(0.0, 1.0), (-10.0, 30.0), None])
def test_a_lucky_reward_does_not_lead_the_table(ends: tuple[float, float] | None) -> None:
    """The arm with 45 of 50 is surely better than the one with 1 of 1."""
    low, high = ends or (0.0, 1.0)
    study = Study.create("s", Space(x=Choice("lucky", "good", "bad")), seed=1, reward_range=ends)
    left = {"lucky": [1], "good": [1] * 45 + [0] * 5, "bad": [0, 1] * 20}
    names = {study.add_arm({"x": name}).id: name for name in left}
    while any(left.values()):
        pull = study.ask()
        if left[names[pull.arm]]:
            study.tell(pull.id, low + (high - low) * left[names[pull.arm]].pop())
        else:
            study.pause(pull.arm)
    snapshot = insight.read(study)
    rows = {names[row.id]: row for row in insight.arm_table(snapshot).rows}
    assert next(iter(rows)) == "good"
    by_mean = insight.arm_table(snapshot, sort="mean").rows
    assert names[by_mean[0].id] == "lucky"
    lucky, good = rows["lucky"], rows["good"]
    assert lucky.mean == high
    assert good.mean == pytest.approx(low + 0.9 * (high - low))
    assert lucky.estimate is not None
    assert good.estimate is not None
    assert lucky.sure is not None
    assert good.sure is not None
    assert lucky.estimate < good.estimate < low + 0.9 * (high - low)
    assert lucky.sure < good.sure < good.estimate
    traces = insight.figure("arms", snapshot, limit=3)["data"]
    drawn = {name: x for one in traces for name, x in zip(one["y"], one["x"], strict=True)}
    assert drawn[f"#{lucky.id}"] == lucky.estimate
    assert all(min(one["error_x"]["array"] + one["error_x"]["arrayminus"]) >= 0 for one in traces)
    of_arm = {one.arm: one.mean for one in insight.descent(snapshot).arms}
    lines = insight.parallel(snapshot)
    assert of_arm == dict(zip(lines.arms, lines.means, strict=True))
    assert of_arm[lucky.id] == lucky.estimate, "not the 1 of its only reward"


# --- after a change -----------------------------------------------------------------------------


def test_after_a_change_estimates_and_intervals_are_of_now(fallen: Study) -> None:
    snapshot = insight.read(fallen)
    rows = insight.arm_table(snapshot, limit=1000).rows
    assert {row.config["model"] for row in rows[:5]} == {"b"}
    assert {row.config["model"] for row in insight.arms(snapshot, limit=3).rows} == {"b"}
    of_a = [row for row in rows if row.config["model"] == "a" and row.n_rewards >= 20]
    assert len(of_a) > 3
    for row in of_a:
        assert None not in (row.mean, row.estimate, row.low, row.high)
        assert (row.mean or 0.0) > 0.5  # of all its rewards
        assert (row.estimate or 1.0) < 0.4
        assert (row.low or 0.0) <= 0.2 <= (row.high or 0.0)
    (best,) = (row for row in rows if row.is_best)
    assert best.estimate == pytest.approx(fallen.best().mean)


def test_after_a_change_many_arms_have_the_intervals_of_few(fallen: Study) -> None:
    known = insight.read(fallen).arms
    some = np.array([5, 0, len(known) - 1])
    low, high = Arms(known.records, known.reward_range, known.present)._intervals(some)
    assert (low == known.intervals[0][some]).all()
    assert (high == known.intervals[1][some]).all()


def test_an_arm_that_the_space_no_longer_allows_keeps_what_it_had(fallen: Study) -> None:
    before = insight.read(fallen).arms
    allowed = before.present
    assert allowed is not None
    without = replace(allowed, ids=allowed.ids + len(before))  # of other arms
    known = Arms(before.records, before.reward_range, without)
    assert_array_equal(known.estimates, before.estimates_of_all)
    assert_array_equal(known.intervals, known.intervals_of_all(np.arange(len(known))))
