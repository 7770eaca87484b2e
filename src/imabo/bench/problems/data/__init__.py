"""The tables shipped with imabo; README.md beside them says how they were made."""

from __future__ import annotations

import importlib.resources

import numpy as np

from imabo.arms import Floats


def shares(name: str) -> Floats:
    """Read a table: right answers of each model, as a share of the examples it was asked.

    Args:
        name: The file's name without its ending.

    Example:
        >>> shares("krvskp_svm").shape
        (41, 41)
    """
    file = importlib.resources.files(__name__) / f"{name}.npz"
    with file.open("rb") as stream, np.load(stream) as stored:
        found: Floats = stored["right"] / float(stored["asked"])
    return found
