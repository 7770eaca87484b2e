"""HPOBench's random-forest tables, read from its own files where the user has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from imabo.arms import Floats
from imabo.errors import MissingData, MissingExtra
from imabo.space import Scalar
from imabo_bench.problems.external import find, missing
from imabo_bench.problems.names import Name, check_variants, unknown_instance
from imabo_bench.problems.table import PLAIN, TableProblem, grid_of

FAMILY = "hpobench-rf"
FULL = "full"  # the variant with every configuration of the file
PAPER = ("146822", "31", "167120")  # segment, credit-g and numerai28.6
_AXES = ("max_depth", "max_features", "min_samples_leaf", "min_samples_split")
_FULL = {"n_estimators": 512.0, "subsample": 1.0}  # the fidelities, and their largest values
# The file's grid is 9 x 10 x 10 x 10; the paper's 2,250 arms are a quarter of it. Which quarter it
# does not say; here these two axes keep 5 of 10 values, evenly spaced by rank, ends included.
_THINNED, _THINNED_VALUES = ("min_samples_leaf", "min_samples_split"), 5
_ACCURACY = ("result", "info", "val_scores", "acc")  # where a row holds it
_PLACES = ("rf", "hpobench/rf", "TabularData/rf")  # under the data folder
_SOURCE = "https://ndownloader.figshare.com/files/30469089 (rf.zip, HPOBench's TabularData)"


class HPOBenchRF(TableProblem):
    """Random forests on one OpenML task: 2,250 configurations, 512 trees, all training data.

    A configuration's mean is its validation accuracy averaged over the stored seeds. Needs
    HPOBench's file ``rf_<task>_data.parquet.gzip`` and the package pyarrow.

    Args:
        task: The OpenML task id; the paper's are 146822 (segment), 31 (credit-g) and
            167120 (numerai28.6).
        data: The folder that holds ``rf/<task>/``; None: the one that IMABO_DATA names.
        is_plain: Whether the order of the axes is hidden.
        is_full: Whether all 9,000 configurations of the file are arms.
    """

    def __init__(
        self,
        task: str,
        *,
        data: Path | str | None = None,
        is_plain: bool = False,
        is_full: bool = False,
    ) -> None:
        if not str(task).isdecimal():
            raise unknown_instance(FAMILY, task, PAPER)
        self.task, self.is_full = str(task), is_full
        variants = (f":{PLAIN}" if is_plain else "") + (f":{FULL}" if is_full else "")
        super().__init__(f"{FAMILY}/{task}{variants}", is_plain=is_plain)
        file = f"{task}/rf_{task}_data.parquet.gzip"
        found = find(data, *(f"{place}/{file}" for place in _PLACES))
        if found is None:
            what = f"HPOBench's random-forest table of task {task}"
            raise missing(what, data, _SOURCE, f"rf/{file}")
        self._path = found

    @cached_property
    def _grid(self) -> tuple[dict[str, list[float]], Floats]:
        columns, accuracy = _rows(self._path)
        at_full = np.logical_and.reduce([columns[name] == full for name, full in _FULL.items()])
        axes, means = grid_of({name: columns[name][at_full] for name in _AXES}, accuracy[at_full])
        if means.size and not self.is_full:
            axes, means = _thinned(axes, means)
        n_missing = int(np.isnan(means).sum())
        if n_missing or not means.size:
            raise MissingData(
                f"{self._path.name} has {means.size - n_missing} of {means.size} configurations "
                "with 512 trees and all training data",
                "the optimum is only known when every configuration of the grid is there",
                f"get the whole file from {_SOURCE}",
            )
        return axes, means

    @property
    def axes(self) -> Mapping[str, Sequence[Scalar]]:
        """The values in the file; whole numbers but for the share of features."""
        return {
            name: values if name == "max_features" else [int(value) for value in values]
            for name, values in self._grid[0].items()
        }

    def read(self) -> Floats:
        """The accuracies, averaged over the stored seeds."""
        return self._grid[1]


def _thinned(axes: dict[str, list[float]], means: Floats) -> tuple[dict[str, list[float]], Floats]:
    """The paper's part of the grid."""
    kept = dict(axes)
    for axis, name in enumerate(axes):
        if name in _THINNED:
            ranks = np.linspace(0, len(axes[name]) - 1, _THINNED_VALUES).round().astype(int)
            ranks = np.unique(ranks)
            kept[name] = [axes[name][rank] for rank in ranks]
            means = means.take(ranks, axis=axis)
    return kept, means


def _rows(path: Path) -> tuple[dict[str, Floats], Floats]:
    """Parameters and fidelities of each row, and its validation accuracy.

    A row is one training run; its column ``result`` is a tree of records.
    """
    try:
        from pyarrow import compute, parquet
    except ImportError as error:
        raise MissingExtra(
            "pyarrow is not installed",
            "HPOBench's tables are Parquet files",
            "run pip install imabo-bench",
        ) from error
    names = [*_AXES, *_FULL]
    with parquet.ParquetFile(path) as file:  # reads the one leaf of the tree that is needed
        table = file.read(columns=[*names, ".".join(_ACCURACY)])
    accuracy = compute.struct_field(table[_ACCURACY[0]], list(_ACCURACY[1:]))
    columns = {name: np.asarray(table[name].to_numpy(), dtype=np.float64) for name in names}
    return columns, np.asarray(accuracy.to_numpy(), dtype=np.float64)


def instances(data: Path | str | None) -> Sequence[str]:
    """The tasks whose files are there; the paper's when there are none."""
    folder = find(data, *_PLACES)
    files = [] if folder is None else folder.glob("*/rf_*_data.parquet.gzip")
    return sorted({file.parent.name for file in files}, key=_by_number) or PAPER


def _by_number(text: str) -> tuple[int, str]:
    return (len(text), text)


def open_forest(name: Name, data: Path | str | None) -> HPOBenchRF:
    """Make the table that a name describes; ``plain`` and ``full`` may follow it."""
    variants = check_variants(name, (PLAIN, FULL))
    return HPOBenchRF(
        name.instance, data=data, is_plain=PLAIN in variants, is_full=FULL in variants
    )
