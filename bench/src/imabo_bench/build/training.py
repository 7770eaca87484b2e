"""What both tables share in training: scikit-learn, and the train and validation parts."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from imabo.arms import Floats, Ints
from imabo.errors import MissingExtra
from imabo_bench.build.arff import Examples

VALIDATION_SHARE = 0.33  # as HPOBench splits


def scikit_learn(part: str) -> Any:
    """A module of scikit-learn, imported when a table is rebuilt and never before."""
    try:
        return importlib.import_module(f"sklearn.{part}")
    except ImportError as error:
        raise MissingExtra(
            "the package scikit-learn is not installed",
            "rebuilding a table trains models with it",
            "run pip install imabo-bench",
        ) from error


@dataclass(frozen=True)
class Parts:
    """Examples to train on, and examples that are asked."""

    features: Floats
    labels: Ints
    asked_features: Floats
    asked_labels: Ints

    def right(self, answers: Ints) -> int:
        """How many of the answers to the asked examples are right."""
        return int(np.count_nonzero(answers == self.asked_labels))


def split(examples: Examples, seed: int) -> Parts:
    """A stratified split into two thirds to train on and one third to ask."""
    features, asked_features, labels, asked_labels = scikit_learn(
        "model_selection"
    ).train_test_split(
        examples.features,
        examples.labels,
        test_size=VALIDATION_SHARE,
        stratify=examples.labels,
        random_state=seed,
    )
    return Parts(features, labels, asked_features, asked_labels)
