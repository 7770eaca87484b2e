"""The demonstration and the command line, run as a user would."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from imabo import Study, cli, demo


def command(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "imabo.cli", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_demo_tells_its_story_and_leaves_the_database(tmp_path: Path) -> None:
    done = command("demo", "--rounds", "1500", "--seed", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for words in (
        "1500 requests",
        "Best configuration",
        "interval",
        "Arms, the surest first",
        "first 150 requests",
        "last 150 requests",
        "serving at random",
        str(tmp_path / "imabo-demo.db"),
    ):
        assert words in done.stdout
    with Study.open("assistant", store=f"sqlite:///{tmp_path}/imabo-demo.db") as study:
        assert study.n_pulls == 1500
        assert 0 < study.n_rewards < 1500
        assert study.n_expired > 0


def test_a_second_demo_starts_a_second_study(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/d.db"
    for name in ("assistant", "assistant-2"):
        assert cli.main(["demo", "--rounds", "100", "--store", store]) == 0
        with Study.open(name, store=store) as study:
            assert study.n_pulls == 100


def test_learning_pays_in_the_demo(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Seed 3: the last tenth is served far better than at random."""
    demo.run(f"sqlite:///{tmp_path}/d.db", 3000, 3)
    rates = {
        line.split()[0]: float(line.split()[-1].rstrip("%"))
        for line in capsys.readouterr().out.splitlines()
        if line.startswith(("  first", "  last", "  serving"))
    }
    assert rates["last"] > rates["serving"] + 15


def test_most_feedback_is_late_or_lost() -> None:
    users = demo.Users(np.random.default_rng(0))
    for n in range(2000):
        users.see(0.0, str(n), 0.5)
    at_once, later = len(users.ratings(1.0)), len(users.ratings(1e9))
    assert 0.36 < (at_once + later) / 2000 < 0.46  # 59 % never comes
    assert later > at_once


def test_a_store_that_cannot_be_used_is_explained(tmp_path: Path) -> None:
    done = command("demo", "--store", "mysql://x", cwd=tmp_path)
    assert done.returncode == 1
    assert "mysql://x" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
