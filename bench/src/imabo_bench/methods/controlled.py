"""The library with a control, for what the lift says and what the control costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from imabo import Control, Guardrail
from imabo.oracles import Mutate, Random
from imabo.policies import IMOSS
from imabo_bench.methods.study import StudyMethod, StudyPlayer, best_by_interval
from imabo_bench.problems.base import Problem

_WARMUP: Final = 10  # of the policies
_NEVER: Final = 10**9  # arms of a warm-up that does not end: every request is a draw from P0


class ControlledPlayer(StudyPlayer):
    """A run of a study that has a control."""

    @property
    def n_proposals(self) -> int:
        """Arms after the first ten, where an endless warm-up or the control draws them."""
        return max(self._n_proposals, self.n_arms - _WARMUP)

    def lift(self) -> tuple[float, float] | None:
        """The ends of ``Study.lift``; None while there is nothing to say."""
        return self.study.lift().interval

    def rolled_back(self) -> int | None:
        """The round in which the guardrail fired."""
        for event in self.study.events():
            if event.kind == "rolled back":
                return round(event.at.timestamp())
        return None


@dataclass(frozen=True)
class Controlled(StudyMethod):
    """A study that compares itself with a draw from P0, which stays the control.

    ``is_same`` is an A/A run: both sides draw from P0.
    """

    share: float = 0.05
    is_same: bool = False
    margin: float | None = None

    def start(
        self, problem: Problem, *, rounds: int, seed: int, window: float | None = None
    ) -> StudyPlayer:
        """Begin a run."""
        del rounds
        player = self.player(ControlledPlayer, problem, seed, window)
        player.is_same = self.is_same
        control = Control.random(self.share)
        if not self.is_same:
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
        recommendation=best_by_interval,
        share=0.05,
    ),
    Controlled(
        "imabo-control-10",
        "the default with 10 % of the requests for a control",
        recommendation=best_by_interval,
        share=0.1,
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
        "same-control-10",
        "an A/A run: P0 on both sides, 10 % of the requests for the control, with a guardrail",
        IMOSS(warmup=_NEVER),
        Random(),
        has_probe=False,
        share=0.1,
        is_same=True,
        margin=0.02,
    ),
)
