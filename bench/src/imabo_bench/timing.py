"""How ratios are measured and written down, and the space that they are measured in."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from imabo import Choice, Float, Int, Space
from imabo.stores.base import NewArm

SPACE = Space(
    model=Choice("small", "medium", "large"),
    prompt=Choice("plain", "steps", "examples", "strict"),
    reranker=Choice(False, True),
    effort=Choice("low", "medium", "high", ordered=True),
    temperature=Float(0.0, 1.0),
    top_p=Float(0.1, 1.0),
    threshold=Float(1e-4, 1.0, log=True),
    top_k=Int(1, 20),
    chunk=Int(64, 2048, log=True),
    overlap=Float(0.0, 0.5, step=0.05),
)


@dataclass(frozen=True)
class Line:
    """One measured ratio, and the bar it must meet: at least or at most; None is told only."""

    claim: str
    ratio: float
    bar: float | None
    at_least: bool
    detail: str

    @property
    def met(self) -> bool:
        """Whether the ratio is on the right side of its bar."""
        if self.bar is None:
            return True
        return self.ratio >= self.bar if self.at_least else self.ratio <= self.bar

    def __str__(self) -> str:
        verdict = "no bar"
        if self.bar is not None:
            sign = ">=" if self.at_least else "<="
            verdict = f"bar {sign} {self.bar:g}, {'met' if self.met else 'MISSED'}"
        return f"{self.claim:58} {self.ratio:8.2f}  ({verdict}; {self.detail})"


def median_time(action: Callable[[], object], repeats: int, batch: int = 1) -> float:
    """Median seconds of one call, over ``repeats`` batches."""
    samples = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(batch):
            action()
        samples.append((time.perf_counter() - start) / batch)
    return statistics.median(samples)


def new_arms(n: int, rng: np.random.Generator) -> list[NewArm]:
    """Arms of ``SPACE`` to admit, with the ids from 1 on."""
    found: dict[str, NewArm] = {}
    while len(found) < n:
        config = SPACE.sample(rng)
        name = SPACE.identity(config)
        found.setdefault(name, NewArm(len(found) + 1, config, name, "oracle", None, None, 1e9))
    return list(found.values())
