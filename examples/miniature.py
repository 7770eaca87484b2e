"""The method in one file: IMOSS with the random oracle, for rewards that come late or never.

Written to be read beside the paper. Labels in brackets, such as (moss), are its equations and
algorithms; docs/algorithm.md has the rest of the notation. It needs NumPy alone. The library makes
the same decisions (tests/test_miniature.py plays them against each other), and has what this lacks:
oracles that learn, changes of the space and of the world, stores, a service.

Run it for a small story: python examples/miniature.py
"""
# ruff: noqa: T201

from __future__ import annotations

import heapq
import math
from typing import Any

import numpy as np

# ("real", low, high), ("log", low, high), ("whole", low, high) or ("choice", value, value, ...)
Parameter = tuple[Any, ...]


def value_of(parameter: Parameter, u: float) -> Any:
    """A uniform u gives a draw from P_0: each decision uniform, or log-uniform on a log scale."""
    kind, *rest = parameter
    if kind == "choice":
        return rest[int(u * len(rest))]
    low, high = rest
    if kind == "whole":
        return low + int(u * (high - low + 1))
    return low + u * (high - low) if kind == "real" else low * math.exp(u * math.log(high / low))


class IMOSS:
    """Serve with ``ask()``, report with ``tell()``: at once, later, out of order, or never."""

    def __init__(
        self,
        space: dict[str, Parameter],  # X, by the parameters' names
        seed: int,
        beta: float = 0.5,  # the active set holds about t^beta arms
        alpha: float = 0.1,  # scales the bonus
        n_s: int = 10,  # N_s, arms of the warm-up
        window: float = math.inf,  # rounds after which a reward is given up
    ) -> None:
        self.space, self.seed, self.window = space, seed, window
        self.beta, self.alpha, self.n_s = beta, alpha, n_s
        self.configs: list[dict[str, Any]] = []  # the arms x of the active set M_t
        # Of each arm: its pulls, its rewards and their sum, and its pulls that wait for theirs.
        self.n_pulls = self.n_rew = self.sums = self.n_pend = np.zeros(0)
        self.served: list[int] = []  # the arm of each pull; pull t is that of round t
        self.pending: dict[int, int] = {}  # a pull that waits for its reward -> its arm

    def ask(self) -> tuple[int, dict[str, Any]]:
        """One round of algorithm (imabo): the pull t, and the configuration to serve it with."""
        t = len(self.served) + 1
        self.expire(t)
        # Each round has a stream of its own: from the seed, every decision can be made again.
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(t,)))
        arm = self.admit(self.suggest(rng)) if self.is_due() else self.select(rng)
        self.n_pulls[arm] += 1
        self.n_pend[arm] += 1
        self.pending[t] = arm
        self.served.append(arm)
        return t, self.configs[arm]

    def tell(self, pull: int, reward: float) -> None:
        """The reward of a pull, in [0, 1]; one that was given up on counts all the same."""
        arm = self.served[pull - 1]
        self.n_pend[arm] -= self.pending.pop(pull, None) is not None
        self.n_rew[arm] += 1
        self.sums[arm] += reward

    def is_due(self) -> bool:
        """Algorithm (moss): warm up with N_s arms, then admit one while |M_t| < t^beta."""
        return len(self.configs) < self.n_s or len(self.configs) < self.round() ** self.beta

    def suggest(self, rng: np.random.Generator) -> dict[str, Any]:
        """The oracle O: here a draw from P_0, whatever the past."""
        units = rng.random(len(self.space)).tolist()
        return {x: value_of(self.space[x], u) for x, u in zip(self.space, units, strict=True)}

    def admit(self, config: dict[str, Any]) -> int:
        """A new arm of M_t."""
        self.configs.append(config)
        columns = (self.n_pulls, self.n_rew, self.sums, self.n_pend)
        self.n_pulls, self.n_rew, self.sums, self.n_pend = (np.append(c, 0.0) for c in columns)
        return len(self.configs) - 1

    def select(self, rng: np.random.Generator) -> int:
        """The arm of highest index; ties are broken uniformly at random."""
        scores = self.index()
        best = np.flatnonzero(scores == scores.max())
        return int(best[0] if len(best) == 1 else rng.choice(best))

    def index(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """B_t(x) of every arm, eq. (moss), with the counts of eq. (delayed-feedback)."""
        overall = self.sums.sum() / self.n_rew.sum() if self.n_rew.any() else 0.5
        mean = np.where(self.n_rew > 0, self.sums / np.maximum(self.n_rew, 1.0), overall)
        n = self.n_rew + self.p() * self.n_pend  # n~_x, eq. (delayed-feedback)
        n = np.maximum(n, 0.5 * self.p() * self.n_pulls)  # lost rewards earn no bonus for ever
        log_plus = np.maximum(np.log(self.round() / (len(self.configs) * n)), 0.0)
        return np.asarray(mean + np.sqrt((1.0 + self.alpha) / 2.0 * (log_plus / n)))  # eq. (moss)

    def round(self) -> float:
        """The round t by what is known, N~ + 1: a pull that waits counts for p of a reward."""
        return float(self.n_rew.sum() + self.p() * len(self.pending)) + 1.0  # (delayed-feedback)

    def p(self) -> float:
        """The share of pulls whose reward comes, from the log; without a window, of all pulls."""
        n_due = len(self.served) - (len(self.pending) if self.window < math.inf else 0)
        return float((self.n_rew.sum() + 1.0) / (n_due + 1.0))

    def expire(self, t: int) -> None:
        """Drop pulls from the count that wait for longer than the window."""
        for pull in [pull for pull in self.pending if pull < t - self.window]:
            self.n_pend[self.pending.pop(pull)] -= 1


def main() -> None:
    """A story: an assistant whose users answer up to 60 requests later, and three in ten never."""
    space = {"model": ("choice", "small", "large"), "temperature": ("real", 0.0, 1.0),
             "passages": ("whole", 1, 10), "penalty": ("log", 0.01, 1.0)}  # fmt: skip

    def success(x: dict[str, Any]) -> float:
        fit = 1.0 - abs(x["temperature"] - 0.3) - 0.05 * abs(x["passages"] - 6)
        return float((0.85 if x["model"] == "large" else 0.6) * fit * (1.0 - 0.2 * x["penalty"]))

    learner, world = IMOSS(space, seed=1, window=100.0), np.random.default_rng(1)
    at_random = np.mean([success(learner.suggest(world)) for _ in range(10_000)])
    print(f"success rate of settings that are drawn at random: {at_random:.2f}")
    on_the_way, rates = list[tuple[int, int, float]](), list[float]()
    for t in range(1, 5001):
        while on_the_way and on_the_way[0][0] <= t:
            learner.tell(*heapq.heappop(on_the_way)[1:])
        pull, config = learner.ask()
        rates.append(success(config))
        if world.random() < 0.7:
            due = t + int(world.integers(1, 61))
            heapq.heappush(on_the_way, (due, pull, float(world.random() < rates[-1])))
        if t in (100, 500, 1000, 2000, 5000):
            print(f"after {t:4} requests: {len(learner.configs):2} arms, "
                  f"success rate {np.mean(rates[t // 2:]):.2f} over the last half")  # fmt: skip
    most = int(learner.n_pulls.argmax())
    print(f"served {learner.n_pulls[most]:.0f} times: {learner.configs[most]}")


if __name__ == "__main__":
    main()
