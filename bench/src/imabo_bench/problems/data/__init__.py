"""The tables shipped with imabo; README.md beside them says how they were made."""

from __future__ import annotations

import importlib.resources

import numpy as np

from imabo.arms import Floats


def open_table(name: str) -> dict[str, Floats]:
    """Read the arrays of a table.

    Args:
        name: The file's name without its ending.
    """
    file = importlib.resources.files(__name__) / f"{name}.npz"
    with file.open("rb") as stream, np.load(stream) as stored:
        return {key: np.asarray(stored[key], dtype=np.float64) for key in stored.files}


def shares(name: str) -> Floats:
    """Read a table: right answers of each model, as a share of the examples it was asked.

    Args:
        name: The file's name without its ending.

    Example:
        >>> shares("krvskp_svm").shape
        (41, 41)
    """
    stored = open_table(name)
    return np.asarray(stored["right"] / stored["asked"])
