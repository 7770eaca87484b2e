"""What a method shows of serving at random and of its arms, held against the truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from imabo.space import Config
from imabo_bench.methods.base import Shown

FIRST: Final = 10  # rows of the table of arms that a person looks at

# Columns of a run, with a value at its round numbers alone.
SHOWN: Final = (
    "random_covered",  # whether the interval of serving at random holds its mean
    "random_error",  # the mean that is shown, less the true one; None while none is shown
    "arms_covered",  # share of all arms with a reward whose interval holds their mean
    "top_covered",  # ... of the first rows of the table, which were chosen for their rewards
    "top_sure",  # share of these whose mean is above what they are surely above
    "top_error",  # their estimates, less their means, on average
)


def held(shown: Shown, p0_mean: float, mean: Callable[[Config], float]) -> dict[str, float | None]:
    """What a checkpoint has of it.

    Example:
        >>> from imabo_bench.methods.base import Estimate
        >>> arms = [Estimate({"x": 1}, 0.2, 0.6, 0.5), Estimate({"x": 2}, 0.1, 0.2, 0.1)]
        >>> values = held(Shown((0.1, 0.4), 0.35, arms, [0.3, 0.05]), 0.3, lambda config: 0.25)
        >>> values["random_covered"], round(values["random_error"], 2), values["arms_covered"]
        (True, 0.05, 0.5)
    """
    true = np.array([mean(arm.config) for arm in shown.arms])
    low, high = (np.array([getattr(arm, end) for arm in shown.arms]) for end in ("low", "high"))
    covered = (low <= true) & (true <= high)
    estimates = np.array([np.nan if arm.mean is None else arm.mean for arm in shown.arms[:FIRST]])
    is_held: bool | None = None
    if shown.at_random is not None:
        is_held = shown.at_random[0] <= p0_mean <= shown.at_random[1]
    error = None if shown.random_mean is None else shown.random_mean - p0_mean
    if not len(true):
        return {"random_covered": is_held, "random_error": error}
    top = true[:FIRST]
    return {
        "random_covered": is_held,
        "random_error": error,
        "arms_covered": float(covered.mean()),
        "top_covered": float(covered[:FIRST].mean()),
        "top_sure": float((top >= np.array(shown.sure[:FIRST])).mean()),
        "top_error": float((estimates - top).mean()),
    }
