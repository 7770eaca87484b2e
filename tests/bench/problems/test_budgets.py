"""Problems with budgets: what a mix could earn, and what a run is judged by."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from imabo import Objective
from imabo_bench.pack import thin
from imabo_bench.play import play
from imabo_bench.problems import open_problem
from imabo_bench.problems.budgets import BudgetProblem, Ledger, Outcome
from imabo_bench.problems.routing import Routing


@pytest.mark.parametrize(
    ("budget", "earned"),
    [("0.0001", 0.810), ("0.0003", 0.869), ("0.0006", 0.926), ("0.002", 0.929)],
)
def test_the_best_mixes_of_the_routing_table(budget: str, earned: float) -> None:
    problem = Routing(f"paretobandit-{budget}")
    assert problem.mix() == pytest.approx(earned, abs=0.0006)
    assert pickle.loads(pickle.dumps(problem)).optimum == problem.optimum


def test_a_ledger_says_what_was_used_and_earned() -> None:
    problem = Routing("paretobandit-0.0006")
    ledger, rng = Ledger(problem), np.random.default_rng(0)
    for _ in range(40):
        ledger.add(problem.request({"model": "google/gemini-2.5-flash"}, rng))
    for _ in range(10):
        ledger.add(Outcome(1.0, {"cost": 0.0012}, 3))
    row = ledger.row(last=10, window=10, after=0)
    assert row["spend"] == pytest.approx([2.0])
    assert max(row["worst_spend"]) >= 2.0  # type: ignore[call-overload]
    assert Ledger(problem).row() == {}
    assert thin({"checkpoints": [50], **row})["spend"] == row["spend"]


def test_the_best_configuration_within_a_budget_is_told_beside_the_best_mix() -> None:
    problem = Routing("paretobandit-0.0003")  # llama alone is within it, a third of mistral is too
    llama = problem.mean({"model": "meta-llama/llama-3.1-8b-instruct"})
    assert problem.single() == pytest.approx(llama)
    ledger = Ledger(problem)
    ledger.add(Outcome(0.5 * problem.single(np.array([3])), {"cost": 0.0}, 3))
    assert ledger.row()["value_single"] == pytest.approx(0.5)
    problem.objective = Objective(budgets={"cost": 1e-9})
    assert np.isnan(problem.single())
    assert ledger.row()["value_single"] is None


@pytest.mark.parametrize("name", ["routing/routerbench-0.0005", "frontier/slow", "frontier/knobs"])
@pytest.mark.parametrize("method", ["pacing-kl", "weighted-kl", "cheapest", "best-kl"])
def test_what_one_would_do_by_hand_is_judged_alike(name: str, method: str) -> None:
    problem = open_problem(name)
    assert isinstance(problem, BudgetProblem)
    row = play(problem, method, 0, 200)
    assert len(row["spend"]) == len(problem.allowed)
    assert 0.2 < row["value"] < 2.0


def test_a_study_keeps_to_a_budget_of_the_suite() -> None:
    row = play(open_problem("routing/paretobandit-0.0006"), "imabo", 0, 1500)
    assert row["spend"][0] < 1.1
    assert row["value_all"] > 0.97
