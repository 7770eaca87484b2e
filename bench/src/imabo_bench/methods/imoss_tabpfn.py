"""IMOSS with the oracle TabPFN, whose weights must be had separately."""

from __future__ import annotations

import os
from dataclasses import dataclass

from imabo.oracles import TabPFN
from imabo.policies import IMOSS
from imabo_bench.methods.study import StudyMethod, StudyPlayer
from imabo_bench.problems.base import Problem

VARIABLE = "IMABO_TABPFN_MODEL"


@dataclass(frozen=True)
class TabPFNMethod(StudyMethod):
    """Takes the weights from ``$IMABO_TABPFN_MODEL``, else where the package keeps its own."""

    def start(
        self, problem: Problem, *, rounds: int, seed: int, window: float | None = None
    ) -> StudyPlayer:
        """Begin a run; ``MissingData`` or ``MissingExtra`` where the model cannot be had."""
        oracle = TabPFN(model_path=os.environ.get(VARIABLE) or None)
        oracle.prepare()
        ready = StudyMethod(**{**vars(self), "oracle": oracle})
        return ready.start(problem, rounds=rounds, seed=seed, window=window)


METHODS = (TabPFNMethod("imoss-tabpfn", f"IMOSS, arms ranked by TabPFN (${VARIABLE})", IMOSS()),)
