"""Random forests on German credit: the paper's grid, trained by us and shipped as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from imabo.arms import Floats
from imabo.space import Scalar
from imabo_bench.problems.data import shares
from imabo_bench.problems.table import TableProblem

NAME, TABLE = "rf-grid/credit-g", "rf_grid_credit_g"
# HPOBench's grid has 9 x 10 x 10 x 10 values. The paper's 2,250 arms are a quarter of it: the
# last two axes keep 5 of 10 values, evenly spaced by rank, both ends included.
AXES: Mapping[str, Sequence[Scalar]] = {
    "max_depth": (1, 2, 3, 5, 8, 13, 20, 32, 50),
    "max_features": tuple(round(i / 9, 4) for i in range(10)),
    "min_samples_leaf": (1, 5, 9, 15, 20),
    "min_samples_split": (2, 5, 12, 50, 128),
}


class RfGrid(TableProblem):
    """2,250 random forests on German credit; a mean is the validation accuracy over five seeds.

    Use it where HPOBench's own files are not at hand. The axes are ordered, equally spaced by
    rank (HPOBench's grid is even on each axis's own scale).

    Args:
        is_plain: Whether the order of the axes is hidden (``rf-grid/credit-g:plain``).

    Example:
        >>> problem = RfGrid()
        >>> problem.space.n_configs
        2250
        >>> stump = {"max_depth": 1, "max_features": 0.0}
        >>> problem.mean({**stump, "min_samples_leaf": 1, "min_samples_split": 2})
        0.7
    """

    def __init__(self, *, is_plain: bool = False) -> None:
        super().__init__(NAME + (":plain" if is_plain else ""), is_plain=is_plain)

    @property
    def axes(self) -> Mapping[str, Sequence[Scalar]]:
        """The grid."""
        return AXES

    def read(self) -> Floats:
        """The shipped accuracies, averaged over the training seeds."""
        means: Floats = shares(TABLE).mean(axis=-1)
        return means
