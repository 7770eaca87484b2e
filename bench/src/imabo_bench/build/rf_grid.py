"""Rebuilds the table of ``rf-grid/credit-g``.

``python -m imabo_bench.build.rf_grid PATH/credit-g.arff --out FOLDER`` trains 11,250 forests
(a quarter of an hour on one core) and writes the table and how it was made. A run that was
stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from imabo.space import Config
from imabo_bench.build.arff import Examples, read
from imabo_bench.build.filling import fill, write
from imabo_bench.build.training import VALIDATION_SHARE, Parts, scikit_learn, split
from imabo_bench.problems.rf_grid import AXES, TABLE

TREES = 64
SEEDS = (0, 1, 2, 3, 4)  # each draws its own split and its own forest


def right_answers(parts: Parts, config: Config, seed: int) -> int:
    """Train one forest and count its right answers.

    Args:
        parts: The examples.
        config: One arm of the grid.
        seed: Randomness of the forest.
    """
    # HPOBench's max_features is an exponent: that power of the number of columns is tried.
    n_tried = round(parts.features.shape[1] ** config["max_features"])
    forest = scikit_learn("ensemble").RandomForestClassifier(
        TREES, **{**config, "max_features": n_tried}, bootstrap=True, random_state=seed, n_jobs=1
    )
    forest.fit(parts.features, parts.labels)
    return parts.right(forest.predict(parts.asked_features))


def settings(examples: Examples) -> dict[str, Any]:
    """How the forests are trained."""
    return {
        "problem": "rf-grid/credit-g",
        "data": examples.source,
        "model": "RandomForestClassifier, max_features = round(columns ** axis value)",
        "trees": TREES,
        "axes": {name: list(values) for name, values in AXES.items()},
        "seeds": list(SEEDS),
        "split": f"stratified, {VALIDATION_SHARE} for validation, one for each seed",
    }


def build(path: Path, out: Path) -> None:
    """Train the whole grid and write the table into ``out``."""
    examples = read(path)
    parts = [split(examples, seed) for seed in SEEDS]
    arms = [dict(zip(AXES, arm, strict=True)) for arm in itertools.product(*AXES.values())]

    def row(index: int) -> list[int]:
        return [right_answers(p, arms[index], s) for p, s in zip(parts, SEEDS, strict=True)]

    out.mkdir(parents=True, exist_ok=True)
    about = settings(examples)
    counts = fill((len(arms), len(SEEDS)), row, out / f"{TABLE}.partial", about)
    shape = (*(len(values) for values in AXES.values()), len(SEEDS))
    write(out, TABLE, np.reshape(counts, shape), len(parts[0].asked_labels), about)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and build."""
    parser = argparse.ArgumentParser(description="Rebuild the table of rf-grid/credit-g.")
    parser.add_argument("path", type=Path, help="credit-g.arff")
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the table")
    given = parser.parse_args(argv)
    build(given.path, given.out)


if __name__ == "__main__":
    main()
