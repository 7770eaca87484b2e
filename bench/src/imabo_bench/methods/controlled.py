"""The library with a control, for what the lift says and what the control costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from imabo import Control, Guardrail, insight
from imabo.arms import ActiveSet, Floats
from imabo.insight.arm_table import MOST_ROWS
from imabo.insight.estimates import random_estimate
from imabo.oracles import Mutate, Random
from imabo.policies import IMOSS
from imabo.policies.base import Policy
from imabo_bench.methods.base import ROUND_NUMBERS, Estimate, Shown
from imabo_bench.methods.study import StudyMethod, StudyPlayer
from imabo_bench.problems.base import Problem

_WARMUP: Final = 10  # of the policies
_NEVER: Final = 10**9  # arms of a warm-up that does not end: every request is a draw from P0


@dataclass(frozen=True)
class Stay(Policy):
    """Serves the first arm, the control's, and no other: what is served is the control."""

    def growth(self, arms: ActiveSet) -> Literal["warmup", "oracle"] | None:
        """Never."""
        del arms
        return None

    def scores(self, arms: ActiveSet) -> Floats:
        """All alike: there is one arm."""
        return np.zeros(len(arms))


class ControlledPlayer(StudyPlayer):
    """A run of a study that has a control."""

    @property
    def n_proposals(self) -> int:
        """Arms after the first ten, where an endless warm-up or the control draws them."""
        return max(self._n_proposals, self.n_arms - _WARMUP)

    def estimate(self) -> Estimate | None:
        """What ``Study.best`` says, at round numbers: it is dearer than most requests."""
        return super().estimate() if self._clock in ROUND_NUMBERS else None

    def lift(self) -> tuple[float, float] | None:
        """The ends of ``Study.lift``; None while there is nothing to say."""
        return self.study.lift().interval

    def shown(self) -> Shown:
        """What the page shows of serving at random, and its table of arms."""
        snapshot = insight.read(self.study)
        random = random_estimate(snapshot)
        ends = None
        if random.low is not None and random.high is not None:
            ends = random.low, random.high
        rows = insight.arm_table(snapshot, limit=MOST_ROWS).rows
        arms, sure = list[Estimate](), list[float]()
        for row in rows:
            if row.low is not None and row.high is not None and row.sure is not None:
                arms.append(Estimate(row.config, row.low, row.high, row.estimate))
                sure.append(row.sure)
        return Shown(ends, random.mean, arms, sure)

    def rolled_back(self) -> int | None:
        """The round in which the guardrail fired."""
        for event in self.study.events():
            if event.kind == "rolled back":
                return round(event.at.timestamp())
        return None


@dataclass(frozen=True)
class Controlled(StudyMethod):
    """A study that compares itself with a draw from P0, which stays the control.

    ``is_random`` is a control that draws anew for each request. ``is_same`` is an A/A run: both
    sides draw from P0, or, with ``Stay``, both serve the control.
    """

    share: float = 0.05
    is_random: bool = False
    is_same: bool = False
    margin: float | None = None

    def start(
        self, problem: Problem, *, rounds: int, seed: int, window: float | None = None
    ) -> StudyPlayer:
        """Begin a run."""
        del rounds
        player = self.player(ControlledPlayer, problem, seed, window)
        player.is_same, player.is_random = self.is_same, self.is_random
        control = Control.random(self.share)
        if not self.is_random:
            today = problem.space.sample(np.random.default_rng([seed, 4]))
            control = Control(today, self.share)
            player.control = today
        guardrail = None if self.margin is None else Guardrail(margin=self.margin)
        player.study.update_control(control, guardrail=guardrail)
        return player


METHODS = (
    Controlled(
        "imabo-control-5",
        "the default with 5 % of the requests for a control",
        has_probe=False,
        share=0.05,
    ),
    Controlled(
        "imabo-control-10",
        "the default with 10 % of the requests for a control",
        has_probe=False,
        share=0.1,
    ),
    Controlled(
        "imoss-control-5",
        "imoss-mutate with 5 % of the requests for a control",
        IMOSS(),
        Mutate(),
        has_probe=False,
        share=0.05,
    ),
    Controlled(
        "imoss-control-10",
        "IMOSS with Mutate and 10 % of the requests for a control",
        IMOSS(index="kl"),
        Mutate(),
        has_probe=False,
        share=0.1,
    ),
    Controlled(
        "imoss-random-10",
        "IMOSS with Mutate and 10 % of the requests served at random",
        IMOSS(index="kl"),
        Mutate(),
        has_probe=False,
        share=0.1,
        is_random=True,
    ),
    Controlled(
        "same-control-10",
        "an A/A run: P0 on both sides, 10 % of the requests for the control, with a guardrail",
        IMOSS(warmup=_NEVER),
        Random(),
        has_probe=False,
        share=0.1,
        is_random=True,
        is_same=True,
        margin=0.02,
    ),
    Controlled(
        "stay-control-10",
        "an A/A run: the control on both sides, 10 % of the requests for it, with a guardrail",
        Stay(),
        Random(),
        has_probe=False,
        share=0.1,
        is_same=True,
        margin=0.02,
    ),
)
