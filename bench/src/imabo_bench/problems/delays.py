"""When feedback comes, and whether it does (section on delayed feedback); times in rounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from imabo.arms import Floats
from imabo.settings import check_number
from imabo.space import Config
from imabo_bench.problems.base import Problem

MEDIAN = 6.0  # rounds that the median configuration takes
JITTER = 0.5  # sigma of the log-normal factor on a known runtime
# A production log's delays, for problems that know no runtime: log-normal, in rounds.
PRODUCTION_MU, PRODUCTION_SIGMA = 0.58, 2.32
N_DRAWS = 20_000  # P0 draws that estimate the median runtime and the window


@runtime_checkable
class _InBatches(Protocol):
    def runtimes(self, configs: Sequence[Config]) -> Floats: ...


@dataclass(frozen=True)
class Delay:
    """Log-normal delays around a median that may depend on the configuration.

    Args:
        median: Rounds that a configuration's feedback takes in the middle.
        sigma: Spread of the log-normal factor.
        feedback_freq: Share of the pulls whose feedback is sent at all, in (0, 1].
        window: Rounds after which feedback is lost.

    Example:
        >>> delay = Delay(lambda config: 6.0, 0.0, feedback_freq=1.0, window=10.0)
        >>> delay.draw({}, np.random.default_rng(0))
        6.0
        >>> Delay(lambda config: 6.0, 0.0, feedback_freq=1.0, window=5.0).draw(
        ...     {}, np.random.default_rng(0)
        ... ) is None
        True
    """

    median: Callable[[Config], float]
    sigma: float
    feedback_freq: float
    window: float

    def draw(self, config: Config, rng: np.random.Generator) -> float | None:
        """Rounds until the reward is known; None when it never is."""
        # Both are drawn in any case, so that runs with the same seed share their luck.
        is_sent = rng.random() < self.feedback_freq
        factor = math.exp(self.sigma * float(rng.standard_normal()))
        if not is_sent:
            return None
        rounds = self.median(config) * factor
        return rounds if rounds <= self.window else None


def open_delay(
    problem: Problem, feedback_freq: float = 1.0, window_quantile: float = 0.95
) -> Delay:
    """The delays of a problem: by its own runtime, with a median of 6 rounds, where it knows it.

    Problems that know no runtime get the delays of a production log (mu 0.58, sigma 2.32).

    Args:
        problem: The problem.
        feedback_freq: Share of the pulls whose feedback is sent at all, in (0, 1].
        window_quantile: The window is this quantile of the delays under P0, in (0, 1].

    Example:
        >>> from imabo_bench.problems import open_problem
        >>> round(open_delay(open_problem("toy/sin1")).window)
        80
    """
    for name, share in (("feedback_freq", feedback_freq), ("window_quantile", window_quantile)):
        check_number(name, share, 0.0, 1.0, closed=True)
        check_number(name, share, 0.0, math.inf, closed=False)
    rng = np.random.default_rng(0)
    seconds = _runtimes(problem, rng)
    if seconds is None:
        middle = math.exp(PRODUCTION_MU)
        sigma, medians = PRODUCTION_SIGMA, np.full(N_DRAWS, middle)

        def median(config: Config) -> float:
            del config
            return middle
    else:
        tau = float(np.median(seconds)) / MEDIAN
        sigma, medians = JITTER, seconds / tau

        def median(config: Config) -> float:
            return (problem.runtime(config) or 0.0) / tau

    delays = medians * np.exp(sigma * rng.standard_normal(N_DRAWS))
    window = float(np.quantile(delays, window_quantile))
    return Delay(median, sigma, feedback_freq, window)


def _runtimes(problem: Problem, rng: np.random.Generator) -> Floats | None:
    """Seconds of draws from P0, or None where the problem knows none."""
    configs = [problem.space.sample(rng) for _ in range(N_DRAWS)]
    if isinstance(problem, _InBatches):
        return problem.runtimes(configs)
    seconds = []
    for config in configs:
        known = problem.runtime(config)
        if known is None:
            return None
        seconds.append(known)
    return np.array(seconds)
