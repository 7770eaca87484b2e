"""examples/miniature.py decides as the library does, round by round, and stays small."""

from __future__ import annotations

import ast
import heapq
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from imabo import Choice, Float, Int, Space, Study, oracles, policies
from imabo.testing import ManualClock

FILE = Path(__file__).parents[1] / "examples" / "miniature.py"
ROUNDS = 3000
SPACE = Space(
    model=Choice("small", "large", "huge"),
    temperature=Float(0.0, 1.0),
    passages=Int(1, 10),
    penalty=Float(0.01, 10.0, log=True),
)
SAME = {
    "model": ("choice", "small", "large", "huge"),
    "temperature": ("real", 0.0, 1.0),
    "passages": ("whole", 1, 10),
    "penalty": ("log", 0.01, 10.0),
}


@pytest.fixture(scope="module")
def miniature() -> dict[str, Any]:
    return runpy.run_path(str(FILE))


def quality(config: dict[str, Any]) -> float:
    fit: float = 1.0 - abs(config["temperature"] - 0.3) - 0.05 * abs(config["passages"] - 6)
    return 0.9 * fit if config["model"] == "large" else 0.5 * fit


@pytest.mark.parametrize(
    ("window", "lost", "longest", "settings"),
    [
        # A window from 50 to 99 is looked after at every whole second: here, at every round.
        (60.0, 0.3, 90, {}),  # some rewards come after their window
        (60.0, 0.8, 40, {"warmup": 3, "beta": 0.6, "alpha": 1.0}),
        (None, 0.3, 200, {}),
        (None, 0.0, 0, {"beta": 0.4}),  # each reward before the next request
    ],
)
def test_every_decision_is_the_librarys(
    miniature: dict[str, Any],
    window: float | None,
    lost: float,
    longest: int,
    settings: dict[str, Any],
) -> None:
    clock = ManualClock(0.0)
    study = Study.create(
        "same",
        SPACE,
        policy=policies.IMOSS(**settings),
        oracle=oracles.Random(),
        seed=11,
        window_s=window,
        clock=clock,
    )
    named = {"n_s" if name == "warmup" else name: value for name, value in settings.items()}
    small = miniature["IMOSS"](
        SAME, seed=11, **named, **({} if window is None else {"window": window})
    )
    world = np.random.default_rng(5)
    on_the_way: list[tuple[int, int, str, float]] = []
    arms: dict[int, dict[str, Any]] = {}
    for t in range(1, ROUNDS + 1):
        clock.now = float(t)
        while on_the_way and on_the_way[0][0] <= t:
            _, number, pull_id, reward = heapq.heappop(on_the_way)
            study.tell(pull_id, reward)
            small.tell(number, reward)
        pull = study.ask()
        number, config = small.ask()
        assert (number, pull.arm) == (t, small.served[-1] + 1)
        is_new = pull.arm not in arms
        assert is_new == (pull.reason in ("warmup", "expand"))
        if is_new:
            arms[pull.arm] = config
            assert SPACE.validate(config) == pull.config  # to the digits that the library keeps
        assert config is arms[pull.arm]
        if world.random() >= lost:
            # Eighths: their sums are exact, in any order.
            grade = np.floor(8.0 * quality(config) + world.random()) / 8.0
            due = t + int(world.integers(1, longest + 2))
            heapq.heappush(on_the_way, (due, number, pull.id, min(float(grade), 1.0)))
    assert 20 < len(arms) == len(small.configs)
    assert {arm.id: arm.n_pulls for arm in study.arms()} == {
        row + 1: n for row, n in enumerate(small.n_pulls.astype(int).tolist())
    }


def test_the_script_tells_a_story_in_which_it_learns(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(FILE), run_name="__main__")
    first, *rest, last = capsys.readouterr().out.splitlines()
    rates = [float(line.partition("success rate ")[2].split()[0]) for line in rest]
    assert rates[-1] > 1.5 * float(first.rpartition(" ")[2])
    assert "'model': 'large'" in last


def test_it_is_small_and_needs_only_numpy() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert text.count("\n") <= 150
    imported = {
        (node.module or "") if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert imported - sys.stdlib_module_names == {"numpy"}
