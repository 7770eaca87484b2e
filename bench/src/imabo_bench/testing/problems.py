"""What holds for every problem, whatever it is, for imabo's own and for yours."""
# ruff: noqa: S101

from __future__ import annotations

import pickle

import numpy as np
import pytest

from imabo_bench.problems.base import Problem

N_CONFIGS = 200


class ProblemContract:
    """Checks that a problem's means, rewards and optimum fit together, and that it travels.

    Use it for a problem of your own: subclass it and override the fixture ``problem``.

    Example:
        >>> import pytest
        >>> from imabo_bench.problems.toy import Toy
        >>> class TestMine(ProblemContract):
        ...     @pytest.fixture
        ...     def problem(self):
        ...         return Toy("gaussian")
    """

    @pytest.fixture
    def problem(self) -> Problem:
        """Override it: the problem to check."""
        raise NotImplementedError("a subclass of ProblemContract must provide the problem fixture")

    def test_draws_of_p0_are_valid_and_have_a_finite_mean(self, problem: Problem) -> None:
        """Whatever may be served has a mean."""
        rng = np.random.default_rng(1)
        for _ in range(N_CONFIGS):
            config = problem.space.sample(rng)
            assert problem.space.validate(config) == config
            assert np.isfinite(problem.mean(config))

    def test_no_draw_beats_an_exact_optimum(self, problem: Problem) -> None:
        """Else regret would be negative."""
        if problem.is_exact:
            assert problem.sampled_means[-1] <= problem.optimum
        assert problem.quantile(0.05) <= problem.sampled_means[-1]

    def test_rewards_scatter_around_the_mean(self, problem: Problem) -> None:
        """And stay in the range that the problem gives."""
        rng = np.random.default_rng(2)
        config = problem.space.sample(rng)
        rewards = np.array([problem.draw(config, rng) for _ in range(4000)])
        error = max(float(rewards.std()) / np.sqrt(len(rewards)), 1e-3)
        assert abs(rewards.mean() - problem.mean(config)) < 4 * error
        if problem.reward_range is not None:
            assert problem.reward_range[0] <= rewards.min()
            assert rewards.max() <= problem.reward_range[1]

    def test_asking_again_changes_nothing(self, problem: Problem) -> None:
        """One object serves many runs."""
        config = problem.space.sample(np.random.default_rng(3))
        assert problem.mean(config) == problem.mean(dict(config))
        first, again = (problem.draw(config, np.random.default_rng(4)) for _ in range(2))
        assert first == again

    def test_a_problem_travels_to_another_process(self, problem: Problem) -> None:
        """And is small when it does."""
        config = problem.space.sample(np.random.default_rng(5))
        before = problem.mean(config)
        written = pickle.dumps(problem)
        copy: Problem = pickle.loads(written)
        assert copy.name == problem.name
        assert copy.space == problem.space
        assert copy.mean(config) == before
        assert len(written) < 100_000, "tables and sessions stay behind"

    def test_a_moment_is_a_problem_on_the_same_space_and_stays_the_same_object(
        self, problem: Problem
    ) -> None:
        """A problem that changes says so, and what it is at a round."""
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

    def test_runtimes_are_positive_where_they_are_known(self, problem: Problem) -> None:
        """Delays are made from them."""
        runtime = problem.runtime(problem.space.sample(np.random.default_rng(6)))
        assert runtime is None or runtime > 0.0
