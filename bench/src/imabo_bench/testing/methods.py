"""What holds for every method, whatever it is, for imabo's own and for yours."""
# ruff: noqa: S101

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from imabo.space import Config
from imabo_bench.methods.base import Method
from imabo_bench.problems.base import Problem
from imabo_bench.problems.toy import Toy
from imabo_bench.testing.small import BRANCHES, FENCED, PAIR

ROUNDS = 140  # of a run
TOY = Toy("gaussian")
on_every_problem = pytest.mark.parametrize(
    "problem", [TOY, BRANCHES, FENCED, PAIR], ids=lambda problem: problem.name
)


@dataclass
class Run:
    """What a method did in a run."""

    configs: list[Config]
    recommended: list[Config | None]
    n_arms: int
    n_proposals: int
    ended: bool


def run(
    method: Method, problem: Problem, rounds: int, seed: int = 0, *, probes: bool = False
) -> Run:
    """Play some rounds with instant feedback; with ``probes``, look into it now and then."""
    player = method.start(problem, rounds=rounds, seed=seed)
    noise, probe_rng = np.random.default_rng(seed), np.random.default_rng(99)
    made = Run([], [player.recommend()], 0, 0, ended=False)
    keys = set()
    for t in range(1, rounds + 1):
        player.advance(float(t))
        served = player.ask()
        if served is None:
            made.ended = True
            break
        keys.add(served.key)
        made.configs.append(dict(served.config))
        player.tell(served.key, problem.draw(served.config, noise))
        if t % 20 == 1:
            made.recommended.append(player.recommend())
            if probes:
                assert all(problem.space.allows(c) for c in player.probe(2, probe_rng))
    made.recommended.append(player.recommend())
    made.n_arms, made.n_proposals = player.n_arms, player.n_proposals
    assert len(keys) == len(made.configs)
    return made


class _Suite:
    """What the suites have in common."""

    @pytest.fixture
    def method(self) -> Method:
        """Override it: the method to check."""
        raise NotImplementedError("a subclass of the suite must provide the method fixture")

    def rounds(self, method: Method, problem: Problem) -> int:
        """Override it for a method that would take long."""
        del method, problem
        return ROUNDS


class MethodContract(_Suite):
    """Checks that a method serves valid configurations, counts them and can be repeated.

    Use it for a method of your own: subclass it and override the fixture ``method``.

    Example:
        >>> import pytest
        >>> from imabo_bench.methods import StudyMethod
        >>> class TestMine(MethodContract):
        ...     @pytest.fixture
        ...     def method(self):
        ...         return StudyMethod("mine", "the default of imabo")
    """

    warmup: ClassVar[int] = 10  # arms that no oracle proposed, at most

    def ends(self, method: Method) -> bool:
        """Override it for a method whose own schedule is over before the run is."""
        del method
        return False

    def refuses(self, method: Method, problem: Problem) -> bool:
        """Override it for a method that cannot play every kind of space."""
        del method, problem
        return False

    def test_it_has_a_name_and_a_summary(self, method: Method) -> None:
        """``imabo bench list`` shows both."""
        assert isinstance(method, Method)
        assert method.name
        assert method.summary

    @on_every_problem
    def test_a_run_is_valid_repeatable_and_counted(self, method: Method, problem: Problem) -> None:
        """Mixed, conditional, forbidden and tiny spaces; looking into a run changes nothing."""
        if self.refuses(method, problem):
            pytest.skip("the method refuses such a space")
        rounds = self.rounds(method, problem)
        made = run(method, problem, rounds)
        space = problem.space
        assert all(space.validate(config) == config for config in made.configs)
        assert made.ended == self.ends(method)
        first, *later = made.recommended
        assert first is None
        assert later
        assert all(c is not None and space.allows(c) for c in later)
        assert made.n_arms == len({space.identity(config) for config in made.configs})
        assert made.n_proposals >= made.n_arms - self.warmup
        assert run(method, problem, rounds, probes=True) == made

    def test_another_seed_is_another_run(self, method: Method) -> None:
        """Its chance comes from the seed."""
        first, second = (run(method, TOY, self.rounds(method, TOY), seed) for seed in (1, 2))
        assert first.configs != second.configs


class LateFeedbackContract(_Suite):
    """Checks that a method takes rewards late, in any order, and copes with lost ones.

    Use it beside ``MethodContract`` for a method that promises it, with the same fixture.
    """

    @on_every_problem
    def test_a_run_with_late_and_lost_feedback_is_repeatable(
        self, method: Method, problem: Problem
    ) -> None:
        """Every third reward is lost, and the others come up to 9 rounds later, in any order."""
        configs, recommended = self.play(method, problem)
        assert all(problem.space.allows(config) for config in configs)
        assert recommended in configs
        assert self.play(method, problem) == (configs, recommended)

    def play(self, method: Method, problem: Problem) -> tuple[list[Config], Config | None]:
        """One such run."""
        rounds = self.rounds(method, problem)
        player = method.start(problem, rounds=rounds, seed=0, window=8.0)
        rng = np.random.default_rng(0)
        out: list[tuple[int, str, float]] = []
        configs = []
        for t in range(rounds):
            player.advance(float(t))
            for due in [item for item in out if item[0] <= t]:
                out.remove(due)
                player.tell(*due[1:])
            served = player.ask()
            assert served is not None
            configs.append(served.config)
            if t % 3:
                reward = problem.draw(served.config, rng)
                out.append((t + int(rng.integers(10)) + 1, served.key, reward))
        return configs, player.recommend()
