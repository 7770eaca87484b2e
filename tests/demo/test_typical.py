"""The typical run of the demonstration, and the picture of one."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from imabo.demo.picture import Moment, draw_rewards
from imabo.demo.typical import Ended, main, middle

SVG = "{http://www.w3.org/2000/svg}"


def test_the_middle_run_is_the_median_and_the_lower_one_of_an_even_number() -> None:
    runs = [Ended(seed, rate, None) for seed, rate in enumerate((0.9, 0.6, 0.8, 0.7))]
    assert middle(runs).seed == 3
    assert middle(runs[:3]).seed == 2


def test_seeds_are_played_and_the_one_in_the_middle_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["choose", "--seeds", "3", "--rounds", "100"])
    lines = capsys.readouterr().out.splitlines()
    rates = {line.split(":")[0]: line.split()[2] for line in lines[:3]}
    middle_one = sorted(rates.items(), key=lambda item: item[1])[1]
    assert lines[-1] == f"in the middle: {middle_one[0]} with {middle_one[1]}"


def test_a_run_is_drawn_with_both_lines_and_what_happened(tmp_path: Path) -> None:
    out = tmp_path / "images" / "demo.svg"
    main(["picture", "--seed", "1", "--rounds", "200", "--out", str(out)])
    root = ET.fromstring(out.read_text(encoding="utf-8"))
    assert {line.get("id") for line in root.iter(f"{SVG}polyline")} == {"tuned", "control"}
    words = " ".join("".join(text.itertext()) for text in root.iter(f"{SVG}text"))
    for one in ("seed 1: 200 requests", "a model gets worse", "a new model ships", "as today"):
        assert one in words


def test_a_line_is_the_mean_of_each_part_of_the_requests() -> None:
    tuned = [(n, 0.25 if n <= 300 else 0.75) for n in range(1, 601)]
    text = draw_rewards(tuned, [(n, 0.5) for n in range(10, 601, 10)], [Moment(300, "now")], "x")
    (line,) = (one for one in text.splitlines() if 'id="tuned"' in one)
    heights = [
        float(pair.split(",")[1]) for pair in line.split('points="')[1].split('"')[0].split()
    ]
    assert len(heights) == 60
    assert len(set(heights[:30])) == len(set(heights[30:])) == 1
    assert heights[0] > heights[-1]  # from the top
    assert "tuned 75%" in text
    assert "as today 50%" in text
