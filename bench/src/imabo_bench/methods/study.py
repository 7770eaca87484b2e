"""Methods that are a study of this library: a policy, an oracle, and how they recommend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from imabo import Study
from imabo.errors import NoRewards
from imabo.oracles.base import Oracle, Proposal
from imabo.policies.base import Policy
from imabo.space import Config
from imabo_bench.methods.base import Estimate, Method, Player, Served
from imabo_bench.problems.base import Problem
from imabo_bench.problems.budgets import BudgetProblem

Recommendation = Callable[[Study], Config | None]


def highest_mean(study: Study) -> Config | None:
    """The active arm with the largest empirical mean; of equals, the one with more rewards."""
    arms = study.view
    rows = np.flatnonzero(arms.servable & (arms.n_rewards > 0))
    if not len(rows):
        return None
    place = np.lexsort((arms.ids[rows], -arms.n_rewards[rows], -arms.means[rows]))[0]
    return dict(arms.configs[int(rows[place])])


def best_by_interval(study: Study) -> Config | None:
    """What ``Study.best`` recommends."""
    try:
        return study.best().config
    except NoRewards:
        return None


AnyPlayer = TypeVar("AnyPlayer", bound="StudyPlayer")


class StudyPlayer(Player):
    """One run of a study in memory, whose clock counts rounds."""

    def __init__(
        self,
        problem: Problem,
        policy: Policy | None,
        oracle: Oracle | None,
        *,
        seed: int,
        window: float | None,
        recommendation: Recommendation,
        has_probe: bool,
    ) -> None:
        self._clock = 0.0
        self._n_proposals = 0
        self._recommendation = recommendation
        self._has_probe = has_probe
        self.study = Study.create(
            "bench",
            problem.space,
            policy=policy,
            oracle=oracle,
            seed=seed,
            reward_range=problem.reward_range,
            window_s=window,
            clock=lambda: self._clock,
            **_goal_of(problem),
        )

    def ask(self) -> Served:
        """The study's next pull; its id is the key."""
        pull = self.study.ask()
        self._n_proposals += pull.reason == "expand"
        return Served(pull.id, pull.config, pull.group)

    def tell(self, key: str, reward: float) -> None:
        """A reward, at once or later, in any order."""
        self.study.tell(key, reward)

    def tell_all(self, key: str, reward: float, signals: Mapping[str, float]) -> None:
        """A reward with its signals."""
        self.study.tell(key, reward, signals=signals)

    def recommend(self) -> Config | None:
        """By the method's rule."""
        return self._recommendation(self.study)

    @property
    def n_arms(self) -> int:
        """Arms admitted: each is served in the round of its admission."""
        return self.study.n_arms

    @property
    def n_proposals(self) -> int:
        """Arms that the oracle proposed (those of the warm-up are drawn from P0)."""
        return self._n_proposals

    def probe(self, count: int, rng: np.random.Generator) -> list[Config]:
        """Proposals of the oracle on the arms as they are; an oracle changes nothing."""
        if not self._has_probe:
            return []
        arms, scores = self.study.view, self.study.policy.scores(self.study.view)
        proposals = (self.study.oracle.propose(arms, scores, rng) for _ in range(count))
        return [made.config for made in proposals if isinstance(made, Proposal)]

    def alarms(self) -> list[int]:
        """Rounds at which the study noticed a change."""
        events = self.study.events()
        return [round(event.at.timestamp()) for event in events if event.kind == "drift"]

    def estimate(self) -> Estimate | None:
        """What ``Study.best`` says; None before the first reward."""
        try:
            best = self.study.best()
        except NoRewards:
            return None
        return Estimate(best.config, *best.interval, mean=best.mean)

    def advance(self, clock: float) -> None:
        """Set the study's clock, in rounds."""
        self._clock = clock


def _goal_of(problem: Problem) -> dict[str, Any]:
    """What a study of a problem with a budget is created with besides."""
    if not isinstance(problem, BudgetProblem):
        return {}
    return {"signals": problem.signals, "objective": problem.objective}


@dataclass(frozen=True)
class StudyMethod(Method):
    """A policy and an oracle of this library; None takes the library's default.

    ``has_probe`` is False for baselines that draw from P0 and have no oracle to look at.

    Example:
        >>> from imabo import oracles, policies
        >>> from imabo_bench.problems.toy import Toy
        >>> method = StudyMethod("wide", "IMOSS that grows faster", policies.IMOSS(beta=0.7))
        >>> player = method.start(Toy("gaussian"), rounds=100, seed=0)
        >>> served = player.ask()
        >>> player.tell(served.key, 1.0)
        >>> player.recommend() == served.config
        True
    """

    name: str
    summary: str
    policy: Policy | None = None
    oracle: Oracle | None = None
    recommendation: Recommendation = highest_mean
    has_probe: bool = True

    def start(
        self, problem: Problem, *, rounds: int, seed: int, window: float | None = None
    ) -> StudyPlayer:
        """Begin a run; the horizon is not used."""
        del rounds
        return self.player(StudyPlayer, problem, seed, window)

    def player(
        self, kind: type[AnyPlayer], problem: Problem, seed: int, window: float | None
    ) -> AnyPlayer:
        """A player of a kind of study."""
        return kind(
            problem,
            self.policy,
            self.oracle,
            seed=seed,
            window=window,
            recommendation=self.recommendation,
            has_probe=self.has_probe,
        )
