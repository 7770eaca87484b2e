from __future__ import annotations

from importlib import import_module

import pytest

from imabo_bench.problems import open_problem
from imabo_bench.report.data import Split, curves_of, groups_of
from imabo_bench.report.figures import COLOURS, curve_figure, looks_of, split_figure
from imabo_bench.report.landscape import landscape_of
from imabo_bench.report.rows import read_results
from imabo_bench.report.sections import Drawing, sections_of
from tests.bench.report import synthetic


@pytest.fixture(scope="module")
def drawings(tmp_path_factory: pytest.TempPathFactory) -> list[Drawing]:
    content = synthetic.rows(n_seeds=2)
    groups = groups_of(read_results(synthetic.write(tmp_path_factory.mktemp("rows"), content)).runs)
    landscape = landscape_of(open_problem("toy/sin1:d2"), 0.05)
    looks = looks_of(synthetic.METHODS)
    sections = sections_of(groups, [landscape, "Not known.", "Not known."], looks)
    return [drawing for section in sections for drawing in section.drawings]


def test_every_kind_of_figure_is_drawn_where_there_is_something_to_draw(
    drawings: list[Drawing],
) -> None:
    always = ["regret", "plane", "decomposition", "arms", "proposals"]
    expected = [f"01-toy-sin1-d2-{kind}" for kind in (*always, "cdf", "map")]
    expected += [f"02-toy-gaussian-{kind}" for kind in always]
    expected += [f"03-lcbench-none-such-{kind}" for kind in (*always, "rewards")]
    assert [drawing.name for drawing in drawings] == expected


def test_plotly_knows_every_attribute_of_every_figure(drawings: list[Drawing]) -> None:
    checked = import_module("plotly.graph_objects").Figure
    for drawing in drawings:
        checked(drawing.figure)  # refuses what is not in its schema


def test_axes_are_titled(drawings: list[Drawing]) -> None:
    for drawing in drawings:
        layout = drawing.figure["layout"]
        assert layout["xaxis"]["title"]["text"]
        is_rows = layout["yaxis"].get("type") == "category"
        assert is_rows or layout["yaxis"]["title"]["text"]


def test_a_method_has_one_colour_in_all_figures(drawings: list[Drawing]) -> None:
    looks = looks_of(synthetic.METHODS)
    for drawing in drawings:
        for trace in drawing.figure["data"]:
            if trace.get("name") in looks:
                assert trace["line"]["color"] == looks[trace["name"]].colour
    first, second = (
        trace["marker"]["color"]
        for drawing in drawings
        if drawing.name == "02-toy-gaussian-decomposition"
        for trace in drawing.figure["data"]
    )
    assert first == second
    assert set(first) == {look.colour for look in looks.values()}


def test_more_methods_than_colours_still_look_different() -> None:
    looks = looks_of([f"tpe-{k}" for k in range(4 * len(COLOURS))])
    assert len({(look.colour, look.dash) for look in looks.values()}) == len(looks)


def test_losing_methods_are_drawn_like_winning_ones() -> None:
    group = synthetic.group(
        synthetic.run("winner"), synthetic.run("loser", regret=[90.0, 900.0], average=[9.0, 9.0])
    )
    figure = curve_figure(
        curves_of(group, lambda run: run.regret), looks_of(group.methods), "regret"
    )
    assert [trace["name"] for trace in figure["data"]] == ["loser", "winner"]
    assert all("visible" not in trace for trace in figure["data"])


def test_bars_below_zero_stay_in_the_picture() -> None:
    figure = split_figure([Split("a", -0.1, 0.3, 0.5, 0.6)], looks_of(["a"]))
    low, high = figure["layout"]["xaxis"]["range"]
    assert low < -0.1
    assert high > 0.3


def test_names_are_escaped_in_figures_too() -> None:
    name = '<a href="javascript:alert(1)">x</a>'
    group = synthetic.group(synthetic.run(name))
    figure = curve_figure(curves_of(group, lambda run: run.regret), looks_of([name]), "regret")
    assert "<a" not in str(figure["data"])
