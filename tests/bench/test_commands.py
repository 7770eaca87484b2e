"""The benchmark commands run at a small size and print what they promise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from imabo import cli
from imabo_bench import engine, engine_arms, engine_signals, timing
from imabo_bench.play import play
from imabo_bench.problems.toy import Toy


def command(*arguments: str) -> int:
    return cli.main(["bench", *arguments])


def test_run_ends_with_a_table(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ["--method", "random", "imoss-mutate", "--rounds", "120", "--seeds", "2"]
    arguments += ["--jobs", "1", "--dim", "2", "--out", str(tmp_path)]
    assert command("run", "--problem", "toy/sin1", "toy/gaussian", *arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["random", "imoss-mutate"]
    assert [line.split()[0] for line in lines[2:4]] == ["toy/sin1:d2", "toy/gaussian:d2"]
    assert (tmp_path / "rows.jsonl").read_text().count("\n") == 8


def test_run_and_list_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ["--problem", "toy/sin1", "--method", "random", "--rounds", "50", "--seeds", "2"]
    assert command("run", *arguments, "--jobs", "1", "--out", str(tmp_path), "--json") == 0
    done = json.loads(capsys.readouterr().out)
    played = [(row["method"], row["seed"]) for row in done["played"]]
    assert played == [("random", 0), ("random", 1)]
    assert all(row["regret"] > 0 for row in done["played"])
    assert command("list", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    assert "toy/sin1" in listed["problems"]
    assert "random" in listed["methods"]


def test_packed_rows_are_small_and_can_be_reported(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    arguments = ["--method", "random", "imoss-tpe", "--rounds", "600", "--seeds", "2"]
    arguments += ["--problem", "toy/sin1", "--jobs", "1", "--out", str(tmp_path / "rows")]
    assert command("run", *arguments) == 0
    folder = str(tmp_path / "rows")
    assert command("pack", folder, folder, "--out", str(tmp_path / "small")) == 0
    packed = tmp_path / "small" / "rows.jsonl.gz"
    assert "4 rows" in capsys.readouterr().out
    assert packed.stat().st_size < 0.2 * (tmp_path / "rows" / "rows.jsonl").stat().st_size
    assert command("report", str(tmp_path / "small")) == 0
    assert "imoss-tpe" in (tmp_path / "small" / "report.html").read_text()


def test_list_names_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("list") == 0
    out = capsys.readouterr().out
    for name in ("toy/garland", "nasbench201/cifar10", "imoss-tpe", "hier-mab", "tpe-70", "hoo-t"):
        assert name in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--problem", "toy/none", "--method", "random"], "toy/none"),
        (["--problem", "toy/sin1", "--method", "magic"], "magic"),
        (["--problem", "toy/sin1", "--method", "random", "--seeds", "0"], "seeds"),
        (["--problem", "toy/sin1", "--method", "random", "--rounds", "0"], "rounds"),
        (["--problem", "lcbench/167200", "--method", "random", "--data", "nowhere"], "lcbench"),
    ],
)
def test_what_cannot_run_is_told_before_anything_runs(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("run", *arguments, "--out", str(tmp_path / "out")) == 1
    assert words in capsys.readouterr().err
    assert not (tmp_path / "out" / "rows.jsonl").exists()


def test_learning_loses_less_than_serving_at_random() -> None:
    """Gaussian, 1,500 rounds, seeds 0 to 2: far apart, whatever the machine."""
    toy = Toy("gaussian")
    at_random, learned = (
        sum(play(toy, method, seed, 1500)["regret"][-1] for seed in range(3))
        for method in ("random", "imoss-mutate")
    )
    assert learned < 0.75 * at_random


def test_engine_measures_every_claim(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only that it runs: its figures are for a quiet machine, and no test rests on them."""
    for module, name, size in (
        (engine, "_EARLY", 500),
        (engine, "_TRIALS", 100),
        (engine, "_MANY", 120),
        (engine_arms, "_MANY", 200),
        (engine_signals, "_WARM", 10),
    ):
        monkeypatch.setattr(module, name, size)
    engine.main(["--repeats", "1", "--pulls", "1000", "--past", "1000", "--arms", "40"])
    out = capsys.readouterr().out
    for claim in (
        "Optuna's after",
        "1,000 vs t = 500",
        "kl",
        "TPE",
        "Mutate",
        "opening",
        "add_arm",
    ):
        assert claim in out


@pytest.mark.parametrize(
    ("ratio", "bar", "at_least", "verdict"),
    [(2.0, 1.0, True, "met"), (2.0, 1.0, False, "MISSED"), (2.0, None, False, "no bar")],
)
def test_a_line_says_whether_its_bar_is_met(
    ratio: float, bar: float | None, at_least: bool, verdict: str
) -> None:
    line = timing.Line("claim", ratio, bar, at_least, "detail")
    assert verdict in str(line)
    assert line.met == (verdict != "MISSED")
