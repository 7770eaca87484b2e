"""A stream of questions, served by whoever chooses the configurations."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from imabo.space import Config, Space
from imabo_bench.methods.base import Served
from imabo_bench.methods.hier_mab import HierMABPlayer
from imabo_bench.methods.random import RandomPlayer
from imabo_bench.problems.base import Problem
from imabo_rag.pipeline import Answer, Pipeline
from imabo_rag.questions import Question

TEMPERATURES: Final = 11  # values that Hier-MAB tries, as in the paper


class Chooser(Protocol):
    """Chooses a configuration for each round and learns its reward."""

    def ask(self) -> Served | None:
        """What to serve the next question with; None for the end."""

    def tell(self, key: str, reward: float) -> None:
        """The reward of a round."""


@dataclass(frozen=True, slots=True)
class Round:
    """One question that was served."""

    n: int
    question: Question
    config: Config
    answer: Answer


def endless(questions: Sequence[Question], seed: int) -> Iterator[Question]:
    """The questions in a random order, then all of them again in another one, without end.

    Args:
        questions: At least one.
        seed: Of the orders.

    Example:
        >>> ask = endless([Question(name, "", frozenset()) for name in "abc"], seed=0)
        >>> [sorted(next(ask).text for _ in range(3)) for _ in range(2)]
        [['a', 'b', 'c'], ['a', 'b', 'c']]
    """
    rng = np.random.default_rng(seed)
    while True:
        for place in rng.permutation(len(questions)):
            yield questions[place]


def play(
    chooser: Chooser,
    pipeline: Pipeline,
    questions: Iterator[Question],
    *,
    rounds: int,
    ends_at: float = float("inf"),
    seen: Callable[[Round], None] = lambda _: None,
) -> list[Round]:
    """Serve questions until there were enough, or it is late.

    The configuration is chosen before the question is known, as in a service.

    Args:
        chooser: Chooses the configurations.
        pipeline: Answers.
        questions: In the order in which they come.
        rounds: How many at most.
        ends_at: On the clock ``time.monotonic``; no round starts later.
        seen: Called after each round.
    """
    played: list[Round] = []
    while len(played) < rounds and time.monotonic() < ends_at:
        served = chooser.ask()
        if served is None:
            break
        question = next(questions)
        answer = pipeline.answer(question, served.config)
        chooser.tell(served.key, answer.reward)
        played.append(Round(len(played) + 1, question, served.config, answer))
        seen(played[-1])
    return played


class _Assistant(Problem):
    """The pipeline as a problem of the benchmark, for players that only look at the space."""

    name = "rag"
    is_exact = False

    def __init__(self, space: Space) -> None:
        self._space = space

    @property
    def space(self) -> Space:
        return self._space

    def mean(self, config: Config) -> float:
        raise NotImplementedError("nobody knows the true mean of a configuration")

    @property
    def optimum(self) -> float:
        return 1.0


def hier_mab(space: Space, seed: int) -> HierMABPlayer:
    """Hier-MAB over the space, with the temperature on eleven values."""
    return HierMABPlayer(_Assistant(space), TEMPERATURES, seed)


def at_random(space: Space, seed: int) -> RandomPlayer:
    """A fresh draw for each question."""
    return RandomPlayer(space, seed)
