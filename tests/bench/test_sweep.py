"""Sweeps: resumed after a kill they give the same rows; Ray gives the same rows, too."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from imabo.errors import InvalidSetting
from imabo_bench.sweep import DelaySettings, Results, run_task, sweep, tasks_of

TASKS = tasks_of(["toy/gaussian", "toy/sin1:d2"], ["random", "imoss-mutate"], range(2), 80)


def comparable(rows: Any) -> list[dict[str, Any]]:
    """Rows without what depends on the machine, in one order."""
    kept = [{k: v for k, v in row.items() if k != "us_per_decision"} for row in rows]
    return sorted(kept, key=lambda row: (row["problem"], row["method"], row["seed"]))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    results = Results(tmp_path_factory.mktemp("whole"))
    sweep(TASKS, results, out=io.StringIO())
    return comparable(results.rows())


def test_every_task_gives_a_row(whole: list[dict[str, Any]]) -> None:
    assert len(whole) == len(TASKS) == 8
    assert all(row["played"] == 80 for row in whole)


def test_a_second_sweep_plays_nothing_again(tmp_path: Path, whole: list[dict[str, Any]]) -> None:
    results = Results(tmp_path)
    sweep(TASKS[:5], results, out=io.StringIO())
    before = results.path.read_text()
    said = io.StringIO()
    sweep(TASKS, results, out=said)
    assert results.path.read_text().startswith(before)
    assert "5 runs are there already" in said.getvalue()
    assert comparable(results.rows()) == whole


def test_a_killed_sweep_goes_on_and_gives_the_same_rows(
    tmp_path: Path, whole: list[dict[str, Any]]
) -> None:
    command = [sys.executable, "-m", "imabo.cli", "bench", "run", "--jobs", "1", "--seeds", "2"]
    command += ["--problem", "toy/gaussian", "toy/sin1:d2", "--method", "random", "imoss-mutate"]
    command += ["--rounds", "80", "--out", str(tmp_path)]
    rows = tmp_path / "rows.jsonl"
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if rows.exists() and rows.read_bytes().count(b"\n") >= 3:
            break
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    # As if the kill had cut a line in two.
    with rows.open("a") as file:
        file.write('{"problem": "toy/gau')
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert comparable(json.loads(line) for line in rows.read_text().splitlines()) == whole
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["versions"]["numpy"]
    assert manifest["sweeps"][0]["seeds"] == 2
    assert len(manifest["sweeps"]) == 1


def test_two_processes_give_the_same_rows(tmp_path: Path, whole: list[dict[str, Any]]) -> None:
    results = Results(tmp_path)
    sweep(TASKS, results, jobs=2, out=io.StringIO())
    assert comparable(results.rows()) == whole


@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_a_real_local_ray_gives_the_same_rows(tmp_path: Path, whole: list[dict[str, Any]]) -> None:
    pytest.importorskip("ray", reason="Ray is not installed (extra ray)")
    results = Results(tmp_path)
    sweep(TASKS[:3], results, ray="local", out=io.StringIO())
    expected = {(task.problem, task.method, task.seed) for task in TASKS[:3]}
    assert comparable(results.rows()) == [
        row for row in whole if (row["problem"], row["method"], row["seed"]) in expected
    ]


def test_a_delayed_task_says_its_window() -> None:
    (task,) = tasks_of(["toy/gaussian"], ["imoss-tpe"], range(1), 200, DelaySettings(0.5, 0.9))
    row = run_task(task)
    assert row["delay"]["feedback_freq"] == 0.5
    assert row["delay"]["window"] > 0
    assert 0 < row["rewards"][-1] < 150
    assert Results.key(row) == task.key


def test_a_method_that_cannot_wait_is_refused_with_delay() -> None:
    (task,) = tasks_of(["toy/gaussian"], ["hier-mab"], range(1), 100, DelaySettings(0.5, 0.9))
    with pytest.raises(InvalidSetting):
        run_task(task)
