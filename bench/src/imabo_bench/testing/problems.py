"""What holds for every problem, whatever it is."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from imabo_bench.problems import Problem, open_problem

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
N_CONFIGS = 200


@pytest.fixture(scope="module", params=SHIPPED + SURROGATES)
def problem(request: pytest.FixtureRequest) -> Problem:
    name: str = request.param
    data: Path | None = request.getfixturevalue("yahpo") if name in SURROGATES else None
    return open_problem(name, data=data)


def test_draws_of_p0_are_valid_and_have_a_finite_mean(problem: Problem) -> None:
    rng = np.random.default_rng(1)
    for _ in range(N_CONFIGS):
        config = problem.space.sample(rng)
        assert problem.space.validate(config) == config
        assert np.isfinite(problem.mean(config))


def test_no_draw_beats_an_exact_optimum(problem: Problem) -> None:
    if problem.is_exact:
        assert problem.sampled_means[-1] <= problem.optimum
    assert problem.quantile(0.05) <= problem.sampled_means[-1]


def test_rewards_scatter_around_the_mean(problem: Problem) -> None:
    rng = np.random.default_rng(2)
    config = problem.space.sample(rng)
    rewards = np.array([problem.draw(config, rng) for _ in range(4000)])
    error = max(float(rewards.std()) / np.sqrt(len(rewards)), 1e-3)
    assert abs(rewards.mean() - problem.mean(config)) < 4 * error
    if problem.reward_range is not None:
        assert problem.reward_range[0] <= rewards.min()
        assert rewards.max() <= problem.reward_range[1]


def test_asking_again_changes_nothing(problem: Problem) -> None:
    config = problem.space.sample(np.random.default_rng(3))
    assert problem.mean(config) == problem.mean(dict(config))
    assert problem.draw(config, np.random.default_rng(4)) == problem.draw(
        config, np.random.default_rng(4)
    )


def test_a_problem_travels_to_another_process(problem: Problem) -> None:
    config = problem.space.sample(np.random.default_rng(5))
    before = problem.mean(config)
    written = pickle.dumps(problem)
    copy: Problem = pickle.loads(written)
    assert copy.name == problem.name
    assert copy.space == problem.space
    assert copy.mean(config) == before
    assert len(written) < 100_000, "tables and sessions stay behind"


def test_a_moment_is_a_problem_on_the_same_space_and_stays_the_same_object(
    problem: Problem,
) -> None:
    config = problem.space.sample(np.random.default_rng(7))
    first = problem.moment(1)
    assert first is problem.moment(1)
    assert first.mean(config) == problem.mean(config)
    if problem.is_exact:  # others take seconds
        assert first.optimum == problem.optimum
    for t in (1, 3000, 50_000):
        moment = problem.moment(t)
        assert moment is problem.moment(t)
        assert moment.space == problem.space
        assert not moment.is_exact or moment.mean(config) <= moment.optimum
        assert moment is problem or problem.is_changing
        assert 0.0 < problem.feedback(t) <= 1.0
        assert problem.feedback(t) == 1.0 or problem.window is not None
    assert problem.watched(config) in (True, False)
    assert problem.changes_at is None or problem.is_changing


def test_runtimes_are_positive_where_they_are_known(problem: Problem) -> None:
    runtime = problem.runtime(problem.space.sample(np.random.default_rng(6)))
    assert runtime is None or runtime > 0.0
