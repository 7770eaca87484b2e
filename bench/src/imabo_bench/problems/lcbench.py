"""LCBench: neural networks on OpenML tasks, seven hyperparameters, by a YAHPO-Gym surrogate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from imabo.space import Choice, Config, Parameter
from imabo_bench.problems.yahpo import Surrogate

PAPER = ("167200", "168868", "189908")  # higgs, APSFailure and Fashion-MNIST
_EPOCHS = 52.0  # full fidelity
# The surrogate's continuous inputs after the epoch, raw values.
_INPUTS = (
    "batch_size",
    "learning_rate",
    "momentum",
    "weight_decay",
    "num_layers",
    "max_units",
    "max_dropout",
)


class LCBench(Surrogate):
    """Validation accuracy after 52 epochs on one task (table lcbench-search-space).

    The number of layers is a category, as in the paper.
    """

    family: ClassVar[str] = "lcbench"
    folder: ClassVar[str] = "lcbench"
    task_name: ClassVar[str] = "OpenML_task_id"
    tuned: ClassVar[tuple[str, ...]] = (
        "num_layers",
        "batch_size",
        "max_units",
        "learning_rate",
        "momentum",
        "weight_decay",
        "max_dropout",
    )
    score: ClassVar[tuple[int, float]] = (1, 100.0)
    seconds: ClassVar[int] = 0

    def parameter(self, entry: dict[str, Any], when: dict[str, Any]) -> Parameter:
        """Read one entry; the layers become a category."""
        if entry["name"] == "num_layers":
            return Choice(*range(entry["lower"], entry["upper"] + 1))
        return super().parameter(entry, when)

    def rows(self, configs: Iterable[Config]) -> dict[str, NDArray[Any]]:
        """Task, then epoch and hyperparameters."""
        values = [[_EPOCHS, *(config[name] for name in _INPUTS)] for config in configs]
        task = self.encoding[self.task_name][self.task]
        return {
            "x_cat": np.full((len(values), 1), task, dtype=np.int32),
            "x_cont": np.array(values, dtype=np.float32),
        }
