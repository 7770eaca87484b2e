"""The typical run of the demonstration, and the picture of one."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from contextlib import closing
from pathlib import Path

import pytest

from imabo.demo.live_study import Embedded
from imabo.demo.picture import POINTS, Moment, draw_rewards
from imabo.demo.running import TYPICAL_SEED
from imabo.demo.summary import answer_lines
from imabo.demo.traffic import Inbox, serve
from imabo.demo.typical import ROUNDS, Ended, main, middle, played
from imabo.demo.world import World

SVG = "{http://www.w3.org/2000/svg}"
ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs/images/demo.svg"
STALE = (
    "the demo decides otherwise than in docs/images/demo.svg. Choose its seed again, draw it, and "
    "write docs/demo.md and the README anew: python -m imabo.demo.typical choose; ... picture"
)
N_SEEN = 4  # points of a line that the fast test makes again


def test_the_middle_run_is_the_median_and_the_lower_one_of_an_even_number() -> None:
    runs = [Ended(seed, rate, None) for seed, rate in enumerate((0.9, 0.6, 0.8, 0.7))]
    assert middle(runs).seed == 3
    assert middle(runs[:3]).seed == 2


def test_seeds_are_played_and_the_one_in_the_middle_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["choose", "--seeds", "3", "--rounds", "40"])
    lines = capsys.readouterr().out.splitlines()
    rates = {line.split(":")[0]: line.split()[2] for line in lines[:3]}
    middle_one = sorted(rates.items(), key=lambda item: item[1])[1]
    assert lines[-1] == f"in the middle: {middle_one[0]} with {middle_one[1]}"


def test_a_run_is_drawn_with_both_lines_and_what_happened(tmp_path: Path) -> None:
    out = tmp_path / "images" / "demo.svg"
    main(["picture", "--seed", "1", "--rounds", "100", "--out", str(out)])
    root = ET.fromstring(out.read_text(encoding="utf-8"))
    assert {line.get("id") for line in root.iter(f"{SVG}polyline")} == {"tuned", "control"}
    words = " ".join("".join(text.itertext()) for text in root.iter(f"{SVG}text"))
    for one in ("seed 1: 100 requests", "a model gets worse", "a new model ships", "as today"):
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


def points(svg: str, name: str) -> list[str]:
    """The points of a line of a picture."""
    (line,) = (one for one in ET.fromstring(svg).iter(f"{SVG}polyline") if one.get("id") == name)
    return str(line.get("points")).split()


def test_the_picture_in_the_readme_begins_as_the_demo_does_today() -> None:
    """Its first requests are played again; what a policy does otherwise shows within them."""
    n = N_SEEN * ROUNDS // POINTS
    inbox = Inbox()
    with closing(Embedded(None, TYPICAL_SEED)) as study:
        replies = [serve(study, visit, inbox) for visit in World(ROUNDS, TYPICAL_SEED).visits[:n]]
    tuned, control = (
        [
            (one.visit.n, one.visit.rate(one.config))
            for one in replies
            if one.is_control == is_control
        ]
        for is_control in (False, True)
    )
    # The axis of the picture ends with its last request.
    drawn = draw_rewards(tuned, [*control, (ROUNDS, 0.0)], [], "")
    text = PICTURE.read_text(encoding="utf-8")
    assert f"seed {TYPICAL_SEED}: {ROUNDS:,} requests" in text
    assert points(drawn, "tuned") == points(text, "tuned")[:N_SEEN], STALE
    assert (
        points(drawn, "control")[:-1]
        == points(text, "control")[: len(points(drawn, "control")) - 1]
    )


@pytest.mark.long
def test_the_picture_in_the_readme_is_the_run_of_today(tmp_path: Path) -> None:
    """All of it, with what docs/demo.md says of it."""
    out = tmp_path / "demo.svg"
    main(["picture", "--out", str(out)])
    assert out.read_text(encoding="utf-8") == PICTURE.read_text(encoding="utf-8"), STALE
    run, key = played(TYPICAL_SEED, ROUNDS)
    said = (ROOT / "docs/demo.md").read_text(encoding="utf-8")
    assert f"Seed {TYPICAL_SEED} ends with {run.final_rate:.3f}" in said, STALE
    shown = said.split("```text")[1].split("```")[0]
    assert " ".join(answer_lines(key["answers"])).split() == shown.split(), STALE
