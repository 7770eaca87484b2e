"""The share of traffic by the values of a parameter, against what the pulls themselves say."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from imabo import Choice, Float, Space, insight
from imabo.errors import InvalidSetting
from imabo.insight import StudySnapshot
from imabo.insight.traffic_shares import MOST_VALUES
from imabo.testing.study.base import ManualClock
from tests.insight.story import SPACE, by_model, eventful, go_on, instant


def test_shares_add_up_to_all_pulls_for_every_parameter(any_snapshot: StudySnapshot) -> None:
    for name in any_snapshot.space.names:
        model = insight.traffic(any_snapshot, name)
        columns = np.array([share.counts for share in model.shares], dtype=float)
        assert (columns >= 0).all()
        assert columns.sum() == any_snapshot.totals.n_pulls
        assert len(model.shares) <= MOST_VALUES + 2
        if len(columns):
            assert columns.sum(axis=0).tolist() == model.totals


def test_shares_between_points_are_those_of_the_pulls_in_between() -> None:
    study, pulls = instant(150, by_model)
    model = insight.traffic(insight.read(study))
    assert model.parameter == "model"
    ends = [0, *(int(n or 0) for n in model.pulls)]
    assert [share.label for share in model.shares] == list(SPACE.parameters["model"].choices)  # type: ignore[attr-defined]
    for share in model.shares:
        assert share.counts == [
            sum(pull.config["model"] == share.label for pull in pulls[start:end])
            for start, end in pairwise(ends)
        ]


def test_traffic_of_arms_that_are_gone_still_counts() -> None:
    study = eventful()
    assert any(arm.state == "retired" for arm in study.arms())
    snapshot = insight.read(study)
    name = insight.traffic(snapshot).parameter
    for share in insight.traffic(snapshot).shares:
        served = sum(
            arm.n_pulls for arm in study.arms() if str(arm.config.get(name)) == share.label
        )
        assert share.place is None or sum(n or 0.0 for n in share.counts) == served


def test_a_value_keeps_its_colour_when_others_go_and_come() -> None:
    clock = ManualClock(1e9)
    study, _ = instant(60, clock=clock)
    before = {share.label: share.place for share in insight.traffic(insight.read(study)).shares}
    study.update_space(Space({**SPACE.parameters, "model": Choice("new", "<b>&amp;", "large")}))
    go_on(study, clock, 60, lambda pull: 0.5)
    after = {share.label: share.place for share in insight.traffic(insight.read(study)).shares}
    assert after.items() > before.items()
    assert after["new"] == len(before)
    made = insight.figure("traffic", insight.read(study))
    assert len({trace["line"]["color"] for trace in made["data"]}) == len(after)


def test_without_a_choice_the_first_number_is_told_apart_by_ranges() -> None:
    study, _ = instant(120, lambda pull: 0.5, space=Space(x=Float(0, 1), y=Float(0, 1)))
    snapshot = insight.read(study)
    model = insight.traffic(snapshot)
    assert (model.parameter, model.is_range) == ("x", True)
    assert insight.traffic(snapshot, "y").parameter == "y"
    with pytest.raises(InvalidSetting, match="'x', 'y'"):
        insight.traffic(snapshot, "z")
