"""One run: a method plays a problem, and everything the report needs is written down."""

from __future__ import annotations

import heapq
import math
import time
from functools import cached_property
from typing import Any, Final

import numpy as np

from imabo.space import Config
from imabo_bench.lifted import LiftBook
from imabo_bench.methods import open_method
from imabo_bench.methods.base import ROUND_NUMBERS, Player, Served
from imabo_bench.problems.base import Problem
from imabo_bench.problems.budgets import BudgetProblem, Ledger, Outcome
from imabo_bench.problems.delays import Delay
from imabo_bench.shown import SHOWN, held

RHO: Final = 0.05  # of the rho-regret
FAR: Final = 0.06  # below the best, from which on a round counts as served clearly worse
PROBES: Final = 1  # proposals looked at for their quality, at each checkpoint
_EVERY: Final = 50  # rounds between the further checkpoints of a problem that changes

# Not every run has these.
_SPARSE: Final = (
    "unseen", "proposal_quality", "covered", "width", "error", "lift_covered", "lift_width",
    *SHOWN,
)  # fmt: skip

_CONTROL: Final = "the control"  # beside the identities of what was served

Row = dict[str, Any]


def checkpoints(rounds: int) -> list[int]:
    """About 40 rounds to report at, evenly spaced on a log scale, round numbers included.

    Example:
        >>> checkpoints(20)[-3:]
        [18, 19, 20]
    """
    spaced = np.geomspace(min(10, rounds), rounds, 36).round().astype(int).tolist()
    return sorted({*spaced, *(n for n in ROUND_NUMBERS if n <= rounds)})


def play(problem: Problem, method: str, seed: int, rounds: int, delay: Delay | None = None) -> Row:
    """Play ``rounds`` rounds and return the row.

    The noise of round t is the same for every method of a seed, and the method's own randomness
    comes from the seed alone, so that runs are paired and can be repeated.
    """
    player = open_method(method).start(
        problem, rounds=rounds, seed=seed, window=problem.window if delay is None else delay.window
    )
    run = _Run(problem, player, seed, rounds, delay)
    for t in range(1, rounds + 1):
        if not run.step(t):
            break
    return {"problem": problem.name, "method": method, "seed": seed, "rounds": rounds, **run.row()}


class _Run:
    """The bookkeeping of one run."""

    def __init__(
        self, problem: Problem, player: Player, seed: int, rounds: int, delay: Delay | None
    ) -> None:
        self.problem, self.player, self.delay = problem, player, delay
        self.noise = np.random.default_rng([seed, 1])
        self.lateness = np.random.default_rng([seed, 2])
        self.probing = np.random.default_rng([seed, 3])
        self.lift = LiftBook(player)
        self.ledger = Ledger(problem) if isinstance(problem, BudgetProblem) else None
        self.waiting: list[tuple[float, int, str, Outcome]] = []
        self.target = problem.quantile(RHO)
        self.probed = checkpoints(rounds)
        extra = range(_EVERY, rounds + 1, _EVERY) if problem.is_changing else ()
        self.due = sorted({*self.probed, *extra})
        self.moment = problem.moment(1)
        self.means: dict[Problem, dict[str, float]] = {self.moment: {}}
        self.configs: dict[str, Config] = {}  # what was served, by its identity
        self.best_so_far = -np.inf
        self.played = self.n_rewards = self.n_off_best = self.n_watched = self.n_far = 0
        self.earned = self.attainable = 0.0
        self.regret = self.rho_regret = self.lost_off_best = self.seconds = 0.0
        self.columns: dict[str, list[Any]] = {
            name: []
            for name in (
                "checkpoints",
                "regret",
                "average",
                "rho_regret",
                "earned",
                "attainable",
                "watched",
                "far",
                "simple",
                "unseen",
                "arms",
                "rewards",
                "proposal_quality",
                "covered",
                "width",
                "error",
                "tuned_loss",
                "tuned_regret",
                "lift_covered",
                "lift_width",
                *SHOWN,
            )
        }

    def step(self, t: int) -> bool:
        """One round; False when the method has nothing more to serve."""
        self._enter(self.problem.moment(t))
        self.player.advance(float(t))
        self._deliver(t)
        began = time.perf_counter()
        served = self.player.ask()
        self.seconds += time.perf_counter() - began
        if served is not None:
            self._count(served)
            outcome = self._outcome(served.config)
            lateness = self._lateness(t, served.config)
            if lateness is not None and self.delay is None:
                self._tell(served.key, outcome)
            elif lateness is not None:
                heapq.heappush(self.waiting, (t + lateness, t, served.key, outcome))
            self.played = t
        if served is None or t == self.due[len(self.columns["checkpoints"])]:
            self._report()
        return served is not None

    def _outcome(self, config: Config) -> Outcome:
        moment = self.moment
        if self.ledger is None or not isinstance(moment, BudgetProblem):
            return Outcome(moment.draw(config, self.noise), {})
        outcome = moment.request(config, self.noise)
        self.ledger.add(outcome)
        return outcome

    def _enter(self, moment: Problem) -> None:
        """Go on to the problem as it is now; what was served has other means there."""
        if moment is self.moment:
            return
        self.moment = moment
        self.means.setdefault(moment, {})
        means = [self._mean(name, config) for name, config in self.configs.items()]
        self.best_so_far = max(means, default=-np.inf)

    def _mean(self, name: str, config: Config) -> float:
        means = self.means[self.moment]
        if name not in means:
            means[name] = self.moment.mean(config)
        return means[name]

    def _true_mean(self, config: Config) -> float:
        return self._mean(self.problem.space.identity(config), config)

    @cached_property
    def p0_mean(self) -> float:
        """What serving at random gives: the average of the problem's draws from P0."""
        return float(self.problem.sampled_means.mean())

    def _lateness(self, t: int, config: Config) -> float | None:
        """Rounds until the reward of this round is known; None when it never is."""
        share = self.problem.feedback(t)
        # Drawn by the round alone, so that the methods of a seed lose the same rewards.
        is_sent = share >= 1.0 or self.lateness.random() < share
        lateness = 0.0 if self.delay is None else self.delay.draw(config, self.lateness)
        return lateness if is_sent else None

    def _deliver(self, t: int) -> None:
        while self.waiting and self.waiting[0][0] <= t:
            _, _, key, outcome = heapq.heappop(self.waiting)
            self._tell(key, outcome)

    def _tell(self, key: str, outcome: Outcome) -> None:
        began = time.perf_counter()
        if outcome.signals:
            self.player.tell_all(key, outcome.reward, outcome.signals)
        else:
            self.player.tell(key, outcome.reward)
        self.seconds += time.perf_counter() - began
        self.n_rewards += 1
        self.lift.tell(key)

    def _count(self, served: Served) -> None:
        config = served.config
        name = self.problem.space.identity(config)
        self.configs.setdefault(name, config)
        mean, optimum = self._mean(name, config), self.moment.optimum
        control = self.player.control
        theirs = mean if control is None else self._mean(_CONTROL, control)
        if self.player.is_random and not self.player.is_same:
            theirs = self.p0_mean
        is_compared = served.group is not None
        self.lift.serve(served, mean, theirs if is_compared else None, optimum)
        self.earned += mean
        self.attainable += optimum
        self.n_watched += self.problem.watched(config)
        self.n_far += optimum - mean >= FAR
        self.regret += optimum - mean
        self.rho_regret += max(self.target - mean, 0.0)
        self.best_so_far = max(self.best_so_far, mean)
        if mean < self.best_so_far:
            self.n_off_best += 1
            self.lost_off_best += self.best_so_far - mean

    def _report(self) -> None:
        if not self.played or self.columns["checkpoints"][-1:] == [self.played]:
            return
        best = self.player.recommend()
        # Proposals can cost a model: not at the many further checkpoints of a changing problem.
        is_probed = self.played in self.probed or not self.problem.is_changing
        proposals = self.player.probe(PROBES, self.probing) if is_probed else []
        values = {
            "checkpoints": self.played,
            "regret": self.regret,
            "average": self.regret / self.played,
            "rho_regret": self.rho_regret,
            "earned": self.earned,
            "attainable": self.attainable,
            "watched": self.n_watched,
            "far": self.n_far,
            "simple": None if best is None else self.moment.optimum - self.moment.mean(best),
            "unseen": None if best is None else self.moment.unseen_regret(best),
            "arms": self.player.n_arms,
            "rewards": self.n_rewards,
        }
        values |= self.lift.values(self.played)
        estimate = self.player.estimate()
        if estimate is not None:
            mean = self.moment.mean(estimate.config)
            values["covered"] = estimate.low <= mean <= estimate.high
            width = estimate.high - estimate.low
            values["width"] = width if math.isfinite(width) else None
            if estimate.mean is not None:
                values["error"] = estimate.mean - mean
        if self.played in ROUND_NUMBERS:
            shown = self.player.shown()
            if shown is not None:
                values |= held(shown, self.p0_mean, self._true_mean)
        if proposals:
            means = [self.moment.mean(config) for config in proposals]
            values["proposal_quality"] = float(np.mean(means))
        for name, column in self.columns.items():
            column.append(_short(values.get(name)))

    def row(self) -> Row:
        """Everything that was written down."""
        played = max(self.played, 1)
        # At the last moment, where the problem changes.
        means = [self._mean(name, config) for name, config in self.configs.items()]
        # Methods that draw afresh every round have as many arms as rounds: keep a sample.
        kept = means if len(means) <= 500 else means[:: -(-len(means) // 500)]
        return {
            "played": self.played,
            "optimum": self.problem.optimum,
            "is_exact": self.problem.is_exact,
            "rho": RHO,
            **self.columns,
            # Empty for a problem without unseen requests, or a method without an oracle or an
            # interval; null where there was nothing to judge yet.
            **{name: _known(self.columns[name]) for name in _SPARSE},
            "arm_means": [round(mean, 4) for mean in kept],
            "n_arms": self.player.n_arms,
            "n_proposals": self.player.n_proposals,
            "off_best": self.n_off_best / played,
            "loss_off_best": self.lost_off_best / max(self.n_off_best, 1),
            "best_gap": self.moment.optimum - max(means, default=self.moment.optimum),
            "alarms": self.player.alarms(),
            "lift_wrong": self.lift.n_wrong,
            "rolled_back": self.player.rolled_back(),
            "us_per_decision": 1e6 * self.seconds / played,
            **({} if self.ledger is None else self.ledger.row()),
        }


def _known(column: list[Any]) -> list[Any]:
    return column if any(value is not None for value in column) else []


def _short(value: float | None) -> float | None:
    """Six digits: more would only make the files larger."""
    return float(f"{value:.6g}") if isinstance(value, float) else value
