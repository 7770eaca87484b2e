"""The picture is a sound SVG file whose lines, bands and labels are where the rows say."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from imabo.errors import MissingData
from imabo_bench.report.picture import (
    GAP,
    HEIGHT,
    RIGHT,
    STYLES,
    WIDTH,
    Frame,
    draw,
    write_picture,
)
from tests.bench.report import synthetic

SVG = "{http://www.w3.org/2000/svg}"


def runs(finals: dict[str, list[float]], **changes: Any) -> list[Any]:
    """Runs of 100 rounds: half of the final regret after 10 of them."""
    return [
        synthetic.run(method, seed, regret=[final / 2, final], **changes)
        for method, each in finals.items()
        for seed, final in enumerate(each)
    ]


def parts(svg: str, tag: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(svg).iter(SVG + tag))


def points(element: ElementTree.Element) -> list[tuple[float, float]]:
    return [
        (float(x), float(y)) for x, y in (p.split(",") for p in element.attrib["points"].split())
    ]


def labels(svg: str) -> dict[str, float]:
    """Place from the top of each line's label, by its words."""
    right = [t for t in parts(svg, "text") if float(t.attrib["x"]) > WIDTH - RIGHT]
    return {str(text.text): float(text.attrib["y"]) for text in right}


def test_a_line_goes_through_the_mean_of_the_runs() -> None:
    svg = draw(runs({"imabo": [10.0, 30.0], "random": [80.0, 100.0]}))
    lines = {line.attrib["id"]: points(line) for line in parts(svg, "polyline")}
    assert set(lines) == {"imabo", "random"}
    frame = Frame(100, 0.0, 100.0)
    expected = [(frame.x(t), frame.y(value)) for t, value in ((0, 0), (10, 10), (100, 20))]
    assert lines["imabo"] == [pytest.approx(point, abs=0.06) for point in expected]


def test_a_band_is_one_standard_error_wide_on_either_side() -> None:
    """Finals of 10 and 30: standard deviation 14.14, standard error 10."""
    svg = draw(runs({"imabo": [10.0, 30.0], "random": [100.0, 100.0]}))
    band = [points(polygon) for polygon in parts(svg, "polygon")][-1]  # the lowest is on top
    frame = Frame(100, 0.0, 100.0)
    assert band[2] == pytest.approx((frame.x(100), frame.y(30)), abs=0.06)
    assert band[3] == pytest.approx((frame.x(100), frame.y(10)), abs=0.06)


def test_every_line_has_a_label_with_its_final_regret_and_none_covers_another() -> None:
    finals = {name: [100.0 + 0.1 * k] for k, name in enumerate(STYLES)}
    found = labels(draw(runs(finals)))
    assert set(found) == {
        f"{style.label} {100 + 0.1 * k:.0f}" for k, style in enumerate(STYLES.values())
    }
    places = sorted(found.values())
    assert all(b - a >= GAP - 0.2 for a, b in itertools.pairwise(places))
    assert places[0] > 0
    assert places[-1] < HEIGHT


def test_negative_regret_stays_inside_the_picture() -> None:
    svg = draw(runs({"imabo": [-40.0, -20.0], "random": [70.0, 90.0]}))
    everywhere = [p for tag in ("polyline", "polygon") for e in parts(svg, tag) for p in points(e)]
    assert all(0 < x < WIDTH and 0 < y < HEIGHT for x, y in everywhere)
    assert "imabo (default) -30" in labels(svg)


def test_a_line_far_above_all_others_leaves_and_its_label_says_where_it_ends() -> None:
    """30 and 50 fill the picture; 400 crosses its upper edge at 50, a quarter of the way to 200."""
    svg = draw(runs({"imabo": [30.0], "ucb-air": [50.0], "random": [400.0]}))
    lines = {line.attrib["id"]: points(line) for line in parts(svg, "polyline")}
    frame = Frame(100, 0.0, 50.0)
    assert lines["ucb-air"][-1] == pytest.approx((frame.x(100), frame.y(50)), abs=0.06)
    (label,) = (text for text in parts(svg, "text") if "at random" in str(text.text))
    assert label.text == "↑ serving at random 400"
    assert frame.x(2.5) < float(label.attrib["x"]) < frame.x(2.5) + 20
    assert len(labels(svg)) == 2


def test_names_are_text_and_not_markup() -> None:
    svg = draw(runs({'<b a="1">&': [5.0]}))
    assert any("<b a=" in label for label in labels(svg))


def test_only_the_runs_asked_for_are_drawn(tmp_path: Path) -> None:
    made = [
        synthetic.row("toy/sin1", method, seed, rounds=rounds)
        for method in ("imabo", "random", "tpe-10")
        for seed in range(2)
        for rounds in (10_000, 5000)
    ]
    made.append(synthetic.row("lcbench/none-such", "imabo", 0))
    folder = synthetic.write(tmp_path / "rows", made)
    out = write_picture(folder, tmp_path / "new" / "a.svg", problem="toy/sin1", rounds=10_000)
    assert {line.attrib["id"] for line in parts(out.read_text(), "polyline")} == {"imabo", "random"}
    assert "mean of 2 runs" in out.read_text()
    # These have delayed feedback, which is another picture.
    with pytest.raises(MissingData, match="imabo bench run"):
        write_picture(folder, out, problem="lcbench/none-such", rounds=10_000)
