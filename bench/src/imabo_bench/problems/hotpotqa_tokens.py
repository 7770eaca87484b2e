"""The assistant of ``hotpotqa`` with half of the tokens that its best configuration reads.

The shipped table has no token counts, so they are estimated: four characters are a token, as is
usual for English text. A passage of the questions has 569 characters on average, a question 95; the
three prompts of ``examples/rag`` have about 720, 300 and 45. The extractive reader reads no tokens
of a language model. What one request reads varies as the passages do.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Final

import numpy as np

from imabo.arms import Floats, Ints
from imabo.objective import Objective, Signal
from imabo.space import Config, Space
from imabo_bench.problems.budgets import BudgetProblem, Outcome
from imabo_bench.problems.hotpotqa import (
    MOST_PASSAGES,
    PROMPTS,
    READER,
    TEMPERATURES,
    WRITER,
    HotpotQA,
)

FAMILY: Final = "hotpotqa-tokens"
_A_TOKEN: Final = 4.0  # characters
_PASSAGE: Final = 569.0 / _A_TOKEN
_QUESTION: Final = 95.0 / _A_TOKEN
_PROMPT: Final = {
    "few_shot": 720.0 / _A_TOKEN, "zero_shot": 300.0 / _A_TOKEN, "naive": 45.0 / _A_TOKEN,
}  # fmt: skip
_SPREAD: Final = 0.3  # of the log of what the passages of a request have
_PART: Final = 0.5  # of the tokens of the best configuration


class HotpotTokens(BudgetProblem):
    """See above.

    Args:
        fifth: Which fifth of the questions is kept apart, from ``"1"`` to ``"5"``.

    Example:
        >>> problem = HotpotTokens("1")
        >>> 0.0 < problem.mix() < problem.plain.optimum
        True
    """

    def __init__(self, fifth: str) -> None:
        self.plain = HotpotQA(fifth)
        self.name = f"{FAMILY}/{fifth}"
        self.signals = {"tokens": Signal(low=0.0)}

    @cached_property
    def objective(self) -> Objective:  # type: ignore[override]  # found when it is needed
        """Half of the tokens of the best configuration."""
        best = max(_grid(), key=self.plain.mean)
        return Objective(budgets={"tokens": _PART * tokens(best)})

    @property
    def space(self) -> Space:
        """That of the assistant."""
        return self.plain.space

    def mean(self, config: Config) -> float:
        """Over the questions of the stream."""
        return self.plain.mean(config)

    def request(self, config: Config, rng: np.random.Generator) -> Outcome:
        """One question of the stream."""
        length = math.exp(_SPREAD * rng.normal() - 0.5 * _SPREAD**2)
        return Outcome(self.plain.draw(config, rng), {"tokens": tokens(config, length)})

    def table(self, numbers: Ints | None = None) -> tuple[Floats, Floats]:
        """Of all configurations."""
        del numbers
        return self._table

    @cached_property
    def _table(self) -> tuple[Floats, Floats]:
        grid = _grid()
        means = np.array([self.mean(config) for config in grid])
        return means, np.array([[tokens(config) for config in grid]])

    def __getstate__(self) -> dict[str, Any]:
        """Leave the table behind: another process reads it again when it needs it."""
        kept = ("plain", "name", "signals")
        return {name: self.__dict__[name] for name in kept}


def tokens(config: Config, length: float = 1.0) -> float:
    """What a language model reads for a request, with passages of so many times the usual length.

    Example:
        >>> tokens({"model": READER, "top_k": 3})
        0.0
        >>> tokens({"model": WRITER, "prompt": "naive", "top_k": 2, "temperature": 0.0})
        319.5
    """
    if config["model"] == READER:
        return 0.0
    passages = length * _PASSAGE * float(np.array(config["top_k"]))
    return passages + _QUESTION + _PROMPT[str(config["prompt"])]


def _grid() -> list[Config]:
    copied: list[Config] = [{"model": READER, "top_k": k} for k in range(1, MOST_PASSAGES + 1)]
    heats = np.linspace(0.0, 1.0, TEMPERATURES).round(2).tolist()
    return copied + [
        {"model": WRITER, "prompt": prompt, "top_k": k, "temperature": heat}
        for prompt in PROMPTS
        for k in range(1, MOST_PASSAGES + 1)
        for heat in heats
    ]
