"""Rows such as a benchmark run writes, with made-up but plausible numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from imabo_bench.report.data import Group, groups_of
from imabo_bench.report.rows import Run, read_run

Row = dict[str, Any]

PROBLEMS = ("toy/sin1:d2", "toy/gaussian", "lcbench/none-such")
METHODS = ("imoss-mutate", "imoss-tpe", "random", "stroquool")
CHECKPOINTS = sorted({*np.geomspace(10, 10_000, 36).round().astype(int).tolist(), 1000, 3000, 5000})
# Exponent of the regret's growth and its size at round 10,000, by method.
GROWTH: dict[str, tuple[float, float]] = {
    "imoss-mutate": (0.62, 700),
    "imoss-tpe": (0.66, 900),
    "random": (1.0, 3000),
}
HOSTILE = (
    "</script><script>document.title='owned'</script>"
    """<img src=x onerror="document.title='owned'">&amp;"""
)


def row(problem: str, method: str, seed: int, **changes: Any) -> Row:
    """One run; the same arguments give the same row."""
    rng = np.random.default_rng([seed, *problem.encode(), *method.encode()])
    is_exact = not problem.startswith("lcbench")
    ends_early = method == "stroquool"
    t = np.array([c for c in CHECKPOINTS if not ends_early or c <= 6000] + [6866] * ends_early)
    exponent, size = GROWTH.get(method, (0.8, 1300))
    size *= rng.uniform(0.75, 1.25) * (1.0 if is_exact else 0.3)
    regret = size * (t / 10_000.0) ** exponent
    simple = 0.25 * rng.uniform(0.6, 1.4) * (10.0 / t) ** rng.uniform(0.25, 0.45)
    if not is_exact and method.startswith("imoss"):
        simple = simple - 0.03  # better than the best of the draws
    arms = np.ceil(t if method == "random" else t**0.5)
    optimum, played = 0.95, int(t[-1])
    gap = float(0.3 * regret[-1] / played)
    means = np.clip(optimum - gap - rng.gamma(1.5, 0.08, size=100), 0.0, 1.0)
    quality = optimum - 0.5 * (30.0 / (t + 30.0)) ** 0.3 - rng.normal(0.0, 0.01, len(t))
    return {
        "problem": problem,
        "method": method,
        "seed": seed,
        "rounds": 10_000,
        "played": played,
        "optimum": optimum,
        "is_exact": is_exact,
        "checkpoints": t.tolist(),
        "regret": regret.tolist(),
        "average": (regret / t).tolist(),
        "rho": 0.05,
        "rho_regret": (0.7 * regret).tolist(),
        "simple": [None, *simple[1:].tolist()],
        "arms": arms.tolist(),
        "rewards": np.floor(0.2 * t).tolist(),
        "proposal_quality": [] if method in ("random", "stroquool") else quality.tolist(),
        "arm_means": means.round(4).tolist(),
        "n_arms": int(arms[-1]),
        "n_proposals": int(arms[-1]) + 3,
        "off_best": 0.6,
        "loss_off_best": float(0.7 * regret[-1] / played / 0.6),
        "best_gap": gap,
        "us_per_decision": float(rng.uniform(20, 900)),
        "delay": None
        if is_exact
        else {"feedback_freq": 0.2, "window_quantile": 0.95, "window": 21.5},
        **changes,
    }


def rows(
    problems: Iterable[str] = PROBLEMS, methods: Sequence[str] = METHODS, n_seeds: int = 6
) -> list[Row]:
    """A whole sweep."""
    return [row(p, m, seed) for p in problems for seed in range(n_seeds) for m in methods]


def write(folder: Path, content: Iterable[Row], **manifest: Any) -> Path:
    """Write a folder as a benchmark run leaves it."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(item) + "\n" for item in content)
    (folder / "rows.jsonl").write_text(text, encoding="utf-8")
    settings = {
        "versions": {"python": "3.11.7", "imabo": "0.1.0"},
        "machine": "Linux x86_64, 2 cores",
        "sweeps": [{"rounds": 10_000, "methods": list(METHODS)}],
        **manifest,
    }
    (folder / "manifest.json").write_text(json.dumps(settings), encoding="utf-8")
    return folder


def run(method: str = "a", seed: int = 0, **changes: Any) -> Run:
    """A run of 100 rounds with two checkpoints, for figures worked out by hand."""
    short = {
        "rounds": 100,
        "played": 100,
        "optimum": 0.9,
        "checkpoints": [10, 100],
        "regret": [4.0, 20.0],
        "average": [0.4, 0.2],
        "rho_regret": [3.0, 10.0],
        "simple": [None, 0.05],
        "arms": [4, 10],
        "rewards": [8, 50],
        "proposal_quality": [],
        "arm_means": [0.5, 0.7],
    }
    return read_run(row("toy/sin1", method, seed, **{**short, **changes}))


def group(*runs: Run) -> Group:
    """Runs of one problem as the group they form."""
    (found,) = groups_of(runs)
    return found
