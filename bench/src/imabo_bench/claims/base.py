"""A claim: what to run, and the comparisons that decide it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from imabo.arms import Floats
from imabo_bench.play import Row
from imabo_bench.sweep import DelaySettings

DELAYED = "@delay"  # after a method's name: its runs with late and lost feedback


@dataclass(frozen=True)
class Runs:
    """Runs that a claim rests on; ``fewer`` gives slow methods fewer seeds."""

    problems: tuple[str, ...]
    methods: tuple[str, ...]
    rounds: int
    seeds: int
    delay: DelaySettings | None = None
    fewer: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Finding:
    """What one comparison gave, in words with figures; None is shown and decides nothing."""

    holds: bool | None
    words: str


class Evidence:
    """Rows at hand, by problem and method."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows: dict[tuple[str, str], dict[int, Row]] = {}
        for row in rows:
            label = row["method"] + (DELAYED if row["delay"] else "")
            self._rows.setdefault((row["problem"], label), {})[row["seed"]] = row

    def rows(self, problem: str, method: str) -> dict[int, Row]:
        """Rows by seed."""
        return self._rows[problem, method]

    def values(self, problem: str, method: str, metric: str) -> dict[int, float]:
        """A metric by seed: a field, ``field@t`` at a checkpoint, or ``rewards_per_arm``."""
        return {
            seed: _metric(row, metric) for seed, row in sorted(self.rows(problem, method).items())
        }


def _metric(row: Row, metric: str) -> float:
    if metric == "rewards_per_arm":
        return float(row["rewards"][-1] / row["arms"][-1])
    name, _, at = metric.partition("@")
    value = row[name]
    if isinstance(value, list):
        place = row["checkpoints"].index(int(at)) if at else -1
        value = value[place]
    return float(value)


class Comparison(ABC):
    """One thing that a claim says, decided from rows."""

    @abstractmethod
    def check(self, evidence: Evidence) -> list[Finding]:
        """What the rows say, one finding a line."""


@dataclass(frozen=True)
class Claim:
    """One claim, of the paper or of ours."""

    id: str
    text: str
    source: str
    runs: tuple[Runs, ...]
    parts: tuple[Comparison, ...]
    comment: str = ""


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard error (NaN for a single value)."""
    found: Floats = np.array(values, dtype=np.float64)
    error = found.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
    return float(found.mean()), float(error)
