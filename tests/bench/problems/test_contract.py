"""The problems of the package keep what every problem promises."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from imabo_bench.problems import Problem, open_problem
from imabo_bench.testing import ProblemContract

SHIPPED = [
    "toy/sin1",
    "toy/garland:d2",
    "toy/rastrigin",
    "toy/gaussian",
    "toy/sin1:d2:grid5",
    "toy/gaussian:noise0.3",
    "toy/garland:d2:flip",
    "hpobench-mlp/credit_g",
    "hpobench-mlp/segment:plain",
    "nasbench201/cifar10",
    "rf-grid/credit-g",
    "kr-vs-kp/lr",
    "kr-vs-kp/svm",
    "hotpotqa/2",
    "situations/few-0",
    "situations/prompts-2",
    "situations/rare-0",
    "situations/wide-0",
    "situations/knobs-0",
    "situations/cliff-0",
    "situations/flat-0",
    "situations/judge-0",
    "situations/beta-0",
    "situations/decoy-0",
    "situations/move-0",
    "situations/fall-0:noise0.1",
    "situations/rise-0",
    "situations/walk-0:grid11",
    "situations/rhythm-0",
    "situations/rate-0",
]
SURROGATES = ["lcbench/167200", "lcbench/189908:uniform-ints", "rbv2-xgboost/12"]


@cache
def opened(name: str, data: Path | None) -> Problem:
    """One object for all tests: its means are drawn once."""
    return open_problem(name, data=data)


class TestEveryProblem(ProblemContract):
    @pytest.fixture(params=SHIPPED + SURROGATES)
    def problem(self, request: pytest.FixtureRequest) -> Problem:
        name: str = request.param
        return opened(name, request.getfixturevalue("yahpo") if name in SURROGATES else None)
