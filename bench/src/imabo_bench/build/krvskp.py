"""Rebuilds the tables of ``kr-vs-kp/lr`` and ``kr-vs-kp/svm``.

``python -m imabo_bench.build.krvskp PATH/kr-vs-kp.arff --out FOLDER`` trains 961 logistic
regressions and 1,681 support vector machines (a quarter of an hour on one core) and writes the
two tables and how they were made. A run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from imabo.arms import Floats
from imabo_bench.build.arff import Examples, read
from imabo_bench.build.filling import fill, write
from imabo_bench.build.training import VALIDATION_SHARE, Parts, scikit_learn, split
from imabo_bench.problems.krvskp import AXES, table_of

SEED = 0  # of the split, and of the SGD's shuffling
EPOCHS = 1000


class _Grid(NamedTuple):
    """How one model's table is made."""

    size: int  # points an axis; six a decade for lr, two an octave for svm
    model: str
    column: Callable[[Parts, float, Floats], list[int]]


def lr_right(parts: Parts, alpha: float, eta0: float) -> int:
    """Train one logistic regression and count its right answers."""
    model = scikit_learn("linear_model").SGDClassifier(
        loss="log_loss",
        alpha=alpha,
        eta0=eta0,
        learning_rate="adaptive",
        max_iter=EPOCHS,
        tol=None,
        random_state=SEED,
    )
    model.fit(parts.features, parts.labels)
    return parts.right(model.predict(parts.asked_features))


def _lr_column(parts: Parts, eta0: float, alphas: Floats) -> list[int]:
    return [lr_right(parts, alpha, eta0) for alpha in alphas.tolist()]


def svm_column(parts: Parts, gamma: float, costs: Floats) -> list[int]:
    """Train a support vector machine for each C, and count their right answers.

    The kernel depends on gamma alone: computed once it makes the machines five times faster.
    """
    kernel = np.exp(-gamma * _squared_distances(parts.features, parts.features))
    asked = np.exp(-gamma * _squared_distances(parts.asked_features, parts.features))
    svc = scikit_learn("svm").SVC
    models = (svc(C=cost, kernel="precomputed") for cost in costs.tolist())
    return [parts.right(model.fit(kernel, parts.labels).predict(asked)) for model in models]


def _squared_distances(x: Floats, y: Floats) -> Floats:
    distances: Floats = (x * x).sum(axis=1)[:, None] + (y * y).sum(axis=1) - 2.0 * (x @ y.T)
    return distances


GRIDS = {
    "lr": _Grid(
        31,
        f"SGDClassifier, log loss, adaptive rate, {EPOCHS} epochs, no early stopping",
        _lr_column,
    ),
    "svm": _Grid(41, "SVC, RBF kernel", svm_column),
}


def settings(examples: Examples, name: str) -> dict[str, Any]:
    """How the models of a table are trained."""
    first, second, low, high = AXES[name]
    axis = {"low": low, "high": high, "points": GRIDS[name].size, "spacing": "log"}
    return {
        "problem": f"kr-vs-kp/{name}",
        "data": examples.source,
        "model": GRIDS[name].model,
        "axes": {first: axis, second: axis},
        "seed": SEED,
        "split": f"stratified, {VALIDATION_SHARE} for validation",
    }


def build(path: Path, out: Path, name: str) -> None:
    """Train one model's whole grid and write the table into ``out``."""
    examples = read(path)
    parts = split(examples, SEED)
    size, _, column = GRIDS[name]
    _, _, low, high = AXES[name]
    points = np.geomspace(low, high, size)
    out.mkdir(parents=True, exist_ok=True)
    about, table = settings(examples, name), table_of(name)

    def row(index: int) -> list[int]:
        return column(parts, float(points[index]), points)

    counts = fill((size, size), row, out / f"{table}.partial", about)
    # A computed row holds one value of the second axis; tables have the first axis first.
    write(out, table, counts.T, len(parts.asked_labels), about)


def main(argv: Sequence[str] | None = None) -> None:
    """Read the command line and build."""
    parser = argparse.ArgumentParser(description="Rebuild the tables of kr-vs-kp.")
    parser.add_argument("path", type=Path, help="kr-vs-kp.arff")
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the tables")
    parser.add_argument("--model", choices=tuple(GRIDS), help="only this one; otherwise both")
    given = parser.parse_args(argv)
    for name in (given.model,) if given.model else GRIDS:
        build(given.path, given.out, name)


if __name__ == "__main__":
    main()
