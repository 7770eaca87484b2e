"""XGBoost on OpenML tasks, a conditional space, by a YAHPO-Gym surrogate (rbv2_xgboost)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from imabo.space import Config
from imabo_bench.problems.yahpo import Surrogate

EXAMPLES = ("12", "1461", "40981", "41143")  # named where no data folder says which tasks exist
_BOOSTER, _IMPUTE = "booster", "num.impute.selected.cpo"
_FULL_FIDELITY = (1.0, 10.0)  # trainsize and repl, the last two inputs
# The surrogate's continuous inputs before those, raw values; 0 where one is inactive.
_INPUTS = (
    "nrounds",
    "eta",
    "gamma",
    "lambda",
    "alpha",
    "subsample",
    "max_depth",
    "min_child_weight",
    "colsample_bytree",
    "colsample_bylevel",
    "rate_drop",
    "skip_drop",
)


class RBv2XGBoost(Surrogate):
    """Accuracy of XGBoost on one task; the booster decides which parameters exist."""

    family: ClassVar[str] = "rbv2-xgboost"
    folder: ClassVar[str] = "rbv2_xgboost"
    task_name: ClassVar[str] = "task_id"
    tuned: ClassVar[tuple[str, ...]] = (_BOOSTER, _IMPUTE, *_INPUTS)
    score: ClassVar[tuple[int, float]] = (0, 1.0)
    seconds: ClassVar[int] = 6

    def rows(self, configs: Iterable[Config]) -> dict[str, NDArray[Any]]:
        """Task, booster and imputation, then the numbers."""
        boosters, imputations = self.encoding[_BOOSTER], self.encoding[_IMPUTE]
        task = self.encoding[self.task_name][self.task]
        categories, numbers = [], []
        for config in configs:
            booster, impute = config[_BOOSTER], config[_IMPUTE]
            categories.append((task, boosters[str(booster)], imputations[str(impute)]))
            numbers.append((*(config.get(name, 0.0) for name in _INPUTS), *_FULL_FIDELITY))
        return {
            "x_cat": np.array(categories, dtype=np.int32),
            "x_cont": np.array(numbers, dtype=np.float32),
        }
