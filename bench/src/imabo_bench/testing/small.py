"""Small problems that cover what a space can have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from imabo.space import Choice, Config, Float, Int, Space
from imabo_bench.problems.base import Problem

Mean = Callable[[dict[str, Any]], float]


class Small(Problem):
    """A space and a function; the optimum is not asked for."""

    def __init__(self, name: str, space: Space, mean: Mean) -> None:
        self.name = name
        self._space = space
        self._mean = mean

    @property
    def space(self) -> Space:
        """Its space."""
        return self._space

    def mean(self, config: Config) -> float:
        """Its function."""
        return self._mean(config)

    @property
    def optimum(self) -> float:
        """No mean is above it."""
        return 1.0


PAIR = Small("pair", Space(x=Choice("a", "b"), y=Choice("a", "b")), lambda c: 0.5)
BRANCHES = Small(
    "branches",
    Space(
        depth=Int(1, 40, log=True, when={"model": "tree"}),  # declared before its parent
        model=Choice("tree", "line", "none"),
        rate=Float(1e-4, 1.0, log=True, when={"model": ["tree", "line"]}),
        effort=Choice("low", "mid", "high", ordered=True),
        share=Float(0.0, 1.0, step=0.05),
        exact=Choice(1, True, None),
    ),
    lambda c: 0.2 + 0.5 * (c["model"] == "line") + 0.3 * c["share"],
)
FENCED = Small(
    "fenced",
    Space(
        a=Choice("x", "y", "z"),
        b=Int(0, 3),
        c=Float(0.0, 1.0),
        forbid=[{"a": "x", "b": [0, 1]}, {"a": "y", "b": [2, 3]}],
    ),
    lambda c: 0.1 + 0.2 * c["b"] + 0.1 * c["c"],
)
