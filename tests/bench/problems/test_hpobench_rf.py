"""HPOBench's random-forest files, on a small one in the same format."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import pytest

from imabo.errors import MissingData, MissingExtra
from imabo.space import Config
from imabo_bench.problems import open_problem, problem_names

DEPTHS, FEATURES, LEAVES, SPLITS = (1, 50), (0.0, 0.5, 1.0), (1, 3, 5, 7, 9, 20), (2, 128)
SEEDS = (665, 1319)
BEST: Config = {
    "max_depth": 50,
    "max_features": 1.0,
    "min_samples_leaf": 20,
    "min_samples_split": 128,
}


def accuracy(depth: int, features: float, leaf: int, split: int, trees: int, seed: int) -> float:
    """Rises with every parameter; the two seeds lie 0.01 around what it says."""
    base = 0.5 + depth / 500 + features / 10 + leaf / 1000 + split / 10_000
    return base + (0.01 if seed == SEEDS[0] else -0.01) - (0.3 if trees < 512 else 0.0)


def rows() -> list[dict[str, Any]]:
    grid = itertools.product(DEPTHS, FEATURES, LEAVES, SPLITS, (16, 512), (0.1, 1.0), SEEDS)
    made = []
    for depth, features, leaf, split, trees, share, seed in grid:
        score = accuracy(depth, features, leaf, split, trees, seed) - (0.2 if share < 1 else 0.0)
        scores = {"acc": score, "bal_acc": 0.0, "f1": 0.0, "precision": 0.0}
        info = {
            "train_loss": 0.0,
            "val_loss": 1 - score,
            "model_cost": 1.5,
            "train_scores": dict.fromkeys(scores, 1.0),
            "val_scores": scores,
            "test_scores": dict.fromkeys(scores, 0.0),
        }
        made.append(
            {
                "max_depth": float(depth),
                "max_features": features,
                "min_samples_leaf": float(leaf),
                "min_samples_split": float(split),
                "n_estimators": trees,
                "subsample": share,
                "seed": seed,
                "result": {"function_value": 1 - score, "cost": 1.5, "info": info},
            }
        )
    return made


def write(folder: Path, task: str, made: list[dict[str, Any]]) -> Path:
    """A file where HPOBench puts it; the numbers are single precision, as HPOBench's are."""
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow writes the file")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.Table.from_pylist(made)
    for name in ("max_depth", "max_features", "min_samples_leaf", "min_samples_split", "subsample"):
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, table[name].cast(pyarrow.float32()))
    path = folder / "rf" / task / f"rf_{task}_data.parquet.gzip"
    path.parent.mkdir(parents=True)
    parquet.write_table(table, path, compression="gzip")
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write(tmp_path, "31", rows())
    return tmp_path


def test_a_mean_is_the_accuracy_at_full_fidelity_averaged_over_seeds(data: Path) -> None:
    problem = open_problem("hpobench-rf/31", data=data)
    config: Config = {**BEST, "max_depth": 1, "max_features": 0.5}
    assert problem.mean(config) == pytest.approx(0.5 + 0.002 + 0.05 + 0.02 + 0.0128)
    assert problem.optimum == problem.mean(BEST) == pytest.approx(0.5 + 0.1 + 0.1 + 0.02 + 0.0128)
    assert all(problem.mean(c) <= problem.optimum for c in problem.space.configs())


def test_the_papers_grid_keeps_five_values_of_the_last_two_axes(data: Path) -> None:
    """Of six values, evenly by rank: 0, 1.25, 2.5, 3.75 and 5 are rounded to 0, 1, 2, 4, 5."""
    space = open_problem("hpobench-rf/31", data=data).space
    assert list(space.parameters["min_samples_leaf"].values()) == [1, 3, 5, 9, 20]
    assert space.n_configs == 2 * 3 * 5 * 2
    full = open_problem("hpobench-rf/31:full", data=data)
    assert full.name == "hpobench-rf/31:full"
    assert full.space.n_configs == 2 * 3 * 6 * 2
    assert full.mean({**BEST, "min_samples_leaf": 7}) < full.optimum


def test_plain_hides_the_order(data: Path) -> None:
    problem = open_problem("hpobench-rf/31:plain", data=data)
    assert problem.name == "hpobench-rf/31:plain"
    assert all(parameter.unordered for parameter in problem.space.parameters.values())


def test_the_files_that_are_there_are_listed(data: Path) -> None:
    names = [name for name in problem_names(data) if name.startswith("hpobench-rf/")]
    assert names == ["hpobench-rf/31"]


def test_another_task_says_what_to_get(data: Path) -> None:
    with pytest.raises(MissingData, match=r"task 53.*rf/53/rf_53_data.parquet.gzip"):
        open_problem("hpobench-rf/53", data=data)


def test_a_file_with_gaps_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "31", rows()[8:])  # without the first configuration
    with pytest.raises(MissingData, match="59 of 60 configurations"):
        _ = open_problem("hpobench-rf/31", data=tmp_path).optimum


def test_a_file_without_full_forests_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "31", [row for row in rows() if row["n_estimators"] < 512])
    with pytest.raises(MissingData, match="0 of 0 configurations"):
        _ = open_problem("hpobench-rf/31", data=tmp_path).optimum


def test_without_pyarrow_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rf" / "31" / "rf_31_data.parquet.gzip"
    path.parent.mkdir(parents=True)
    path.touch()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match="pyarrow is not installed"):
        _ = open_problem("hpobench-rf/31", data=tmp_path).optimum
