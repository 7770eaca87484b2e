"""Tables from rows: printed, and put into a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from imabo import cli
from imabo.errors import InvalidSetting
from imabo_bench.summary import BEGIN, END, fill_table
from tests.bench.report import synthetic


def test_a_table_is_filled_in_again_and_again(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"Before.\n\n{BEGIN}\nold\n{END}\n\nAfter.\n")
    for table in ("| a |", "| b |"):
        fill_table(page, table)
        assert page.read_text() == f"Before.\n\n{BEGIN}\n\n{table}\n\n{END}\n\nAfter.\n"


@pytest.mark.parametrize("text", ["nothing", BEGIN, f"{END} {BEGIN}"])
def test_a_page_without_both_marks_is_left_alone(tmp_path: Path, text: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(InvalidSetting, match="no place"):
        fill_table(page, "| a |")
    assert page.read_text() == text


def test_the_command_takes_one_length_and_instant_feedback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lists = {name: [0] for name in ("average", "rho_regret", "simple", "arms", "rewards")}
    made = [
        synthetic.row("toy/sin1", method, seed, checkpoints=[1], regret=[value + seed], **lists)
        | {"rounds": rounds, "delay": delay}
        for method, value, rounds, delay in (
            ("imabo", 10.0, 5000, None),
            ("random", 70.0, 5000, None),
            ("imabo", 55.0, 50_000, None),
            ("imabo", 99.0, 5000, {"feedback_freq": 0.2}),
        )
        for seed in (0, 2)
    ]
    folder = synthetic.write(tmp_path / "rows", made)
    page = tmp_path / "page.md"
    page.write_text(f"{BEGIN}{END}")
    arguments = ["bench", "table", str(folder), "--method", "random", "imabo", "--into", str(page)]
    assert cli.main(arguments) == 0
    line = "| `toy/sin1` | 71 ± 1 | **11 ± 1** |"
    assert line in capsys.readouterr().out.splitlines()
    assert line in page.read_text()


def test_the_command_draws_a_picture(tmp_path: Path) -> None:
    folder = synthetic.write(tmp_path / "rows", [synthetic.row("toy/sin1", "imabo", 0)])
    out = tmp_path / "regret.svg"
    arguments = ["bench", "picture", str(folder), "--problem", "toy/sin1", "--out", str(out)]
    assert cli.main([*arguments, "--rounds", "10000"]) == 0
    assert out.read_text().startswith("<svg")
    assert cli.main(arguments) == 1


def test_a_table_of_another_length_says_what_there_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = [
        synthetic.row("toy/sin1", "imabo", 0) | {"rounds": rounds, "delay": delay}
        for rounds, delay in ((200, None), (300, {"feedback_freq": 0.2}))
    ]
    folder = synthetic.write(tmp_path / "rows", made)
    assert cli.main(["bench", "table", str(folder)]) == 1
    done = capsys.readouterr()
    assert "has 5000 rounds and instant feedback" in done.err
    assert "1 runs of --rounds 200, 1 runs of --rounds 300 with late feedback" in done.err
    assert "pass --rounds 200" in done.err
    assert done.out == ""
    assert cli.main(["bench", "table", str(folder), "--rounds", "200"]) == 0
    table = ["bench", "table", str(folder), "--rounds", "200", "--method", "imbo"]
    assert cli.main(table) == 1
    assert "write 'imabo'" in capsys.readouterr().err
