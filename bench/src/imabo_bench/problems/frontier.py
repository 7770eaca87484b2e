"""Made-up problems whose frontier of reward and use is known."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Final

import numpy as np

from imabo.arms import Floats, Ints
from imabo.objective import Limit, Objective, Signal
from imabo.space import Choice, Config, Float, Int, Space
from imabo_bench.problems.budgets import BudgetProblem, Outcome

FAMILY: Final = "frontier"
INSTANCES: Final = ("slow", "knobs")
_ABOVE: Final = 2.0  # seconds, that a share of the requests may take longer than
_SHARE: Final = 0.05
_SPREAD: Final = 0.5  # of the log of a latency or a cost

# name: reward, median seconds
_MODELS: Final = {
    "tiny": (0.55, 0.2),
    "small": (0.66, 0.5),
    "middle": (0.76, 0.85),
    "large": (0.82, 1.3),
    "huge": (0.85, 2.4),
}
_BASE: Final = {"small": (0.50, 1.0), "middle": (0.62, 2.5), "large": (0.70, 8.0)}


class Slow(BudgetProblem):
    """Five models; the better they are, the more often an answer takes more than two seconds.

    Example:
        >>> round(Slow().mix(), 3)
        0.763
    """

    name = f"{FAMILY}/slow"

    def __init__(self) -> None:
        self.signals = {"latency_s": Signal(low=0.0, unit="s")}
        self.objective = Objective(limits=[Limit("latency_s", above=_ABOVE, share=_SHARE)])

    @cached_property
    def space(self) -> Space:
        """Which model answers."""
        return Space(model=Choice(*_MODELS))

    def mean(self, config: Config) -> float:
        """By the model."""
        return _MODELS[str(config["model"])][0]

    def request(self, config: Config, rng: np.random.Generator) -> Outcome:
        """A coin flip, and a latency whose log is normal."""
        luck, spread = rng.random(), rng.normal()
        seconds = _MODELS[str(config["model"])][1] * math.exp(_SPREAD * spread)
        return Outcome(float(luck < self.mean(config)), {"latency_s": seconds})

    def table(self, numbers: Ints | None = None) -> tuple[Floats, Floats]:
        """Of every model."""
        del numbers
        means = np.array([reward for reward, _ in _MODELS.values()])
        return means, np.array([[_above(median, _ABOVE) for _, median in _MODELS.values()]])


class Knobs(BudgetProblem):
    """A mixed space: a model, how many passages it reads, and a number that costs nothing.

    It has a budget of its cost and a limit of its latency.

    Example:
        >>> 0.6 < Knobs().mix() < 0.9
        True
    """

    name = f"{FAMILY}/knobs"

    def __init__(self) -> None:
        self.signals = {"cost": Signal(low=0.0, unit="$"), "latency_s": Signal(low=0.0, unit="s")}
        limit = Limit("latency_s", above=_ABOVE, share=_SHARE)
        self.objective = Objective(budgets={"cost": 5.0}, limits=[limit])

    @cached_property
    def space(self) -> Space:
        """The knobs."""
        return Space(model=Choice(*_BASE), passages=Int(1, 10), warmth=Float(0.0, 1.0))

    def mean(self, config: Config) -> float:
        """More passages are better, and so is a warmth of 0.35."""
        passages, warmth = _numbers(config)
        base = _BASE[str(config["model"])][0]
        return min(base + 0.025 * passages - 0.3 * (warmth - 0.35) ** 2, 0.99)

    def request(self, config: Config, rng: np.random.Generator) -> Outcome:
        """A coin flip, a cost and a latency whose logs are normal."""
        luck, spreads = rng.random(), rng.normal(size=2)
        cost = _cost(config) * math.exp(_SPREAD * spreads[0] - 0.5 * _SPREAD**2)
        seconds = _seconds(config) * math.exp(_SPREAD * spreads[1])
        reward = float(luck < self.mean(config))
        return Outcome(reward, {"cost": cost, "latency_s": seconds})

    def table(self, numbers: Ints | None = None) -> tuple[Floats, Floats]:
        """Of every model and number of passages, at the best warmth."""
        del numbers
        grid: list[Config] = [
            {"model": model, "passages": passages, "warmth": 0.35}
            for model in _BASE
            for passages in range(1, 11)
        ]
        costs = [_cost(config) for config in grid]
        late = [_above(_seconds(config), _ABOVE) for config in grid]
        return np.array([self.mean(config) for config in grid]), np.array([costs, late])


def open_frontier(instance: str) -> BudgetProblem:
    """The problem of that name."""
    return Slow() if instance == "slow" else Knobs()


def _numbers(config: Config) -> tuple[float, float]:
    return float(np.array(config["passages"])), float(np.array(config["warmth"]))


def _cost(config: Config) -> float:
    return _BASE[str(config["model"])][1] * (0.3 + 0.2 * _numbers(config)[0])


def _seconds(config: Config) -> float:
    return 0.25 + 0.07 * _numbers(config)[0] + 0.05 * _BASE[str(config["model"])][1]


def _above(median: float, limit: float) -> float:
    """The share of a log-normal number above a limit."""
    return 0.5 * math.erfc(math.log(limit / median) / (_SPREAD * math.sqrt(2.0)))
