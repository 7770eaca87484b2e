"""Figures: accepted by Plotly, safe as JSON, bounded, and showing what the read models say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import plotly.graph_objects as go
import pytest

from imabo import Choice, Space, insight, policies
from imabo.errors import InvalidSetting, UnknownArm
from imabo.insight import FIGURES, StudySnapshot
from imabo.insight.structure import MOST_ARMS
from imabo.testing.study.base import ManualClock, letters
from tests.insight.story import SPACE, changed, drawn_often, eventful, go_on, instant, situations


def walk(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Every value in a document, with the keys that lead to it."""
    yield path, value
    if isinstance(value, dict):
        for key, one in value.items():
            yield from walk(one, f"{path}.{key}")
    elif isinstance(value, list):
        for one in value:
            yield from walk(one, path)


@pytest.mark.parametrize("name", FIGURES)
def test_plotly_takes_every_figure_of_every_study(name: str, any_snapshot: StudySnapshot) -> None:
    made = insight.figure(name, any_snapshot)
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    go.Figure(made["data"], made["layout"])
    assert (made["name"], made["title"]) == (name, insight.caption(name).title)
    assert made["about"].startswith(insight.caption(name).about)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_leaves_the_colours_of_text_and_background_to_the_page(
    name: str, any_snapshot: StudySnapshot
) -> None:
    layout = insight.figure(name, any_snapshot)["layout"]
    theme = ("bgcolor", ".font", "template", "gridcolor")
    assert [path for path, _ in walk(layout) if path.endswith(theme)] == []


@pytest.mark.parametrize("name", FIGURES)
def test_text_of_users_is_escaped_in_every_figure(name: str, any_snapshot: StudySnapshot) -> None:
    tags = {"<b>", "</b>", "<br>", "<extra>", "</extra>"}
    for path, value in walk(insight.figure(name, any_snapshot)):
        if isinstance(value, str):
            rest = value
            for tag in tags:
                rest = rest.replace(tag, "")
            assert "<" not in rest, (path, value)


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_stays_small_however_many_arms_there_are(name: str) -> None:
    space = Space(number=Choice(*range(700)), letter=Choice("a", "b"))
    study, _ = instant(620, lambda pull: 0.5, space=space, policy=policies.IMOSS(warmup=600))
    made = insight.figure(name, insight.read(study))
    longest = max(len(value) for _, value in walk(made) if isinstance(value, list))
    assert longest <= 4 * MOST_ARMS  # of which each arm has two values, a mean and a gap


def test_an_unknown_figure_or_option_is_refused() -> None:
    snapshot = insight.read(instant(5)[0])
    with pytest.raises(InvalidSetting, match="rewards"):
        insight.figure("rewards", snapshot)
    with pytest.raises(InvalidSetting, match="baseline"):
        insight.figure("growth", snapshot, baseline=1)
    with pytest.raises(UnknownArm):
        insight.figure("reward", snapshot, baseline=99)


def named(made: dict[str, Any], name: str) -> dict[str, Any]:
    (trace,) = [trace for trace in made["data"] if trace.get("name") == name]
    found: dict[str, Any] = trace
    return found


def test_the_figure_of_the_reward_shows_the_read_model() -> None:
    study, _ = drawn_often(300)
    snapshot = insight.read(study)
    model = insight.reward(snapshot, baseline=1)
    assert model.random.mean is not None
    made = insight.figure("reward", snapshot, baseline=1)
    rolling = named(made, "rolling mean")
    assert rolling["x"] == [1000.0 * at for at in model.times if at is not None]
    assert (rolling["y"], made["layout"]["xaxis"]["type"]) == (model.rolling, "date")
    assert named(made, "serving at random")["y"] == [model.random.mean] * 2
    assert model.baseline is not None
    assert named(made, "configuration 1")["y"] == [model.baseline.mean] * 2
    assert (
        len(named(made, "new configuration")["x"]) == len(model.arrivals) == min(study.n_arms, 200)
    )


def test_the_shares_of_traffic_add_up_to_one() -> None:
    made = insight.figure("traffic", insight.read(instant(200)[0]))
    for shares in zip(*(trace["y"] for trace in made["data"]), strict=True):
        assert sum(shares) == pytest.approx(1.0)


def test_parallel_coordinates_show_each_arm_at_its_values() -> None:
    study, _ = instant(200)
    snapshot = insight.read(study)
    model = insight.parallel(snapshot)
    arms = {arm.id: arm for arm in study.arms()}
    estimates = {row.id: row.estimate for row in insight.arm_table(snapshot, limit=1000).rows}
    axes = {axis.name: axis for axis in model.axes}
    assert tuple(axes) == study.space.names
    for i, arm in enumerate(model.arms):
        config = arms[arm].config
        place = axes["model"].ticks.index(axes["model"].values[i] or 0.0)
        assert axes["model"].labels[place] == config["model"]
        assert axes["temperature"].values[i] == config["temperature"]
        assert 10 ** (axes["rate"].values[i] or 0.0) == pytest.approx(config["rate"])
        is_apart = axes["tokens"].values[i] == axes["tokens"].start
        assert is_apart == ("tokens" not in config)
        assert model.means[i] == estimates[arm]


@pytest.mark.parametrize("kind", ["instant", "eventful", "all alike", "values of any kind"])
def test_the_lines_of_parallel_coordinates_are_the_arms_on_their_axes(kind: str) -> None:
    snapshot = insight.read(situations()[kind]())
    model = insight.parallel(snapshot)
    made = insight.figure("parallel", snapshot)
    width = len(model.axes) + 1
    drawn = {}
    for trace in made["data"]:
        if trace["name"] == "configurations":
            for start in range(0, len(trace["x"]), width + 1):
                assert trace["x"][start : start + width + 1] == [*range(width), None]
                drawn[trace["text"][start]] = trace["y"][start : start + width]
    assert len(drawn) == len(model.arms)
    for i, arm in enumerate(model.arms):
        heights = drawn[f"configuration {arm}"]
        assert all(-1e-9 <= height <= 1 + 1e-9 for height in heights)
        for axis, height in zip(model.axes, heights, strict=False):
            value = axis.start + height * (axis.end - axis.start)
            assert value == pytest.approx(axis.values[i])
    labels = [safe for trace in made["data"] if trace["name"] == "values" for safe in trace["text"]]
    assert len(labels) == sum(len(axis.labels) for axis in model.axes) + 2


def test_descent_leads_from_parents_to_children() -> None:
    study, _ = instant(400)
    model = insight.descent(insight.read(study))
    arms = {arm.id: arm for arm in study.arms()}
    shown = {one.arm: one for one in model.arms}
    assert model.n_children == sum(arm.parent is not None for arm in arms.values()) > 0
    for one in model.arms:
        assert (one.parent, one.n_pulls) == (arms[one.arm].parent, arms[one.arm].n_pulls)
        if one.parent is None:
            assert one.generation == 0
        else:
            assert one.generation == shown[one.parent].generation + 1


@pytest.mark.slow
def test_descent_keeps_all_ancestors_of_what_it_shows() -> None:
    study = eventful(steps=800, policy=policies.IMOSS(beta=0.9, warmup=5))
    assert study.n_arms > MOST_ARMS
    model = insight.descent(insight.read(study))
    shown = {one.arm for one in model.arms}
    assert len(shown) <= MOST_ARMS
    assert all(one.parent in shown for one in model.arms if one.parent is not None)
    most = max(study.arms(), key=lambda arm: (arm.n_pulls, -arm.id))
    assert most.id in shown


def test_changes_of_the_world_and_of_the_space_are_lines_of_different_kinds() -> None:
    study = changed()
    study.update_space(letters("a", "b", "c", "d"))
    drawn = insight.figure("reward", insight.read(study))
    lines = [shape["line"] for shape in drawn["layout"]["shapes"]]
    assert {line["dash"] for line in lines} == {"dash", "dot"}
    assert len({line["color"] for line in lines}) == 2
    (marks,) = [trace for trace in drawn["data"] if trace["name"] == "change noticed"]
    *_, noticed, _ = study.events()
    assert marks["text"] == [str(noticed).replace("of arm ", "of configuration ")]
    assert "noticed that the rewards had changed" in drawn["about"]
    calm = insight.figure("reward", insight.read(instant(50)[0]))
    assert calm["layout"]["shapes"] == []
    assert "noticed" not in calm["about"]


@pytest.mark.parametrize("name", ["reward", "traffic", "growth", "cost"])
def test_figures_of_the_past_are_over_time_or_over_requests(name: str) -> None:
    clock = ManualClock(1e9)
    study, _ = instant(60, clock=clock)
    study.update_space(Space({**SPACE.parameters, "model": Choice("large", "huge")}))
    go_on(study, clock, 20, lambda pull: 0.5)
    snapshot = insight.read(study)
    by_time = insight.figure(name, snapshot)
    by_requests = insight.figure(name, snapshot, axis="requests")
    times = [x for trace in by_time["data"] for x in trace["x"]]
    # All of it within the study's life, marks and levels too.
    assert 1e12 <= min(times) <= max(times) == 1000.0 * snapshot.last_at
    requests = [x for trace in by_requests["data"] for x in trace["x"]]
    assert 0 <= min(requests) <= max(requests) == study.n_pulls
    with pytest.raises(InvalidSetting, match="axis"):
        insight.figure(name, snapshot, axis="days")


def test_a_clock_that_is_no_calendar_counts_from_the_start() -> None:
    study, _ = instant(40, clock=ManualClock(100.0))
    made = insight.figure("reward", insight.read(study))
    assert "type" not in made["layout"]["xaxis"]
    assert max(named(made, "rolling mean")["x"]) == 40.0


def test_effects_of_numbers_lie_on_a_number_line() -> None:
    snapshot = insight.read(instant(300)[0])
    made = insight.figure("effects", snapshot)
    traces = {trace["name"]: trace for trace in made["data"]}
    axes = {trace["name"]: made["layout"][f"xaxis{trace['xaxis'][1:]}"] for trace in made["data"]}
    assert (axes["rate"]["type"], axes["model"]["type"]) == ("log", "category")
    assert axes["rate"]["range"][0] < -4.0 <= axes["rate"]["range"][1] + 4.0
    found = {one.name: one for one in insight.effects(snapshot)}
    for name in ("temperature", "rate", "top_k", "tokens"):
        groups = [one for one in found[name].effects if one.low is not None]
        for x, left, right, one in zip(
            traces[name]["x"], traces[name]["error_x"]["arrayminus"],
            traces[name]["error_x"]["array"], groups, strict=True,
        ):  # fmt: skip
            assert x - left == pytest.approx(one.low)
            assert x + right == pytest.approx(one.high)


def test_the_best_configurations_are_eight_with_names_of_their_own() -> None:
    snapshot = insight.read(instant(300)[0])
    made = insight.figure("arms", snapshot)
    names = [note["text"] for note in made["layout"]["annotations"]]
    assert len(names) == len(set(names)) == 8
    assert len(insight.figure("arms", snapshot, limit=12)["layout"]["annotations"]) == 12
