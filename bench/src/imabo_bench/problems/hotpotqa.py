"""Question answering over HotpotQA: a real pipeline whose answers were all made ahead.

``examples/rag`` is the pipeline; the table shipped here has the reward of each question with each
configuration, so that a run asks no model. README.md beside the table says how it was made.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from imabo.arms import Floats
from imabo.settings import check_one_of
from imabo.space import Choice, Config, Float, Int, Space
from imabo_bench.problems.base import Problem
from imabo_bench.problems.data import open_table

FAMILY: Final = "hotpotqa"
FIFTHS: Final = ("1", "2", "3", "4", "5")
TABLE: Final = "hotpotqa_smollm2"
WRITER: Final = "smollm2-135m-instruct"
READER: Final = "extractive"
PROMPTS: Final = ("few_shot", "zero_shot", "naive")
MOST_PASSAGES: Final = 10
TEMPERATURES: Final = 101  # the pipeline rounds to hundredths
ANSWER_SHARE: Final = 0.8  # of the reward; the rest is for what was found (sec. hotpotqa)


class Rewards(NamedTuple):
    """Rewards, the questions in the last axis."""

    written: Floats  # prompt, top_k, temperature
    copied: Floats  # top_k, of the extractive reader


def read_rewards() -> Rewards:
    """The shipped table.

    Example:
        >>> rewards = read_rewards()
        >>> rewards.written.shape, rewards.copied.shape
        ((3, 10, 101, 100), (10, 100))
    """
    stored = open_table(TABLE)
    found = (1.0 - ANSWER_SHARE) * stored["title_f1"]
    return Rewards(
        ANSWER_SHARE * stored["written_f1"] + found[None, :, None, :],
        ANSWER_SHARE * stored["copied_f1"] + found,
    )


class HotpotQA(Problem):
    """An assistant that answers questions; a pull is one question and the reward its grade.

    The questions of one fifth are kept apart: the stream never asks them, and recommendations are
    judged on them as well. The optimum is the best of all configurations on the stream's questions.

    Args:
        fifth: Which fifth is kept apart, from ``"1"`` to ``"5"``.

    Example:
        >>> problem = HotpotQA("1")
        >>> good = {"model": WRITER, "prompt": "few_shot", "top_k": 1, "temperature": 0.3}
        >>> problem.mean({"model": READER, "top_k": 10}) < problem.mean(good) < problem.optimum
        True
        >>> 0.0 <= problem.unseen_regret(good) < 0.2
        True
    """

    def __init__(self, fifth: str) -> None:
        check_one_of("fifth", fifth, FIFTHS)
        self.fifth = fifth
        self.name = f"{FAMILY}/{fifth}"

    @cached_property
    def space(self) -> Space:
        """What the pipeline's settings may be."""
        writes = {"model": [WRITER]}
        return Space(
            model=Choice(READER, WRITER),
            prompt=Choice(*PROMPTS, when=writes),
            top_k=Int(1, MOST_PASSAGES),
            temperature=Float(0.0, 1.0, when=writes),
        )

    @cached_property
    def _parts(self) -> tuple[Rewards, Rewards]:
        """The questions of the stream, and those kept apart."""
        whole = read_rewards()
        n_questions = whole.copied.shape[-1]
        is_apart = np.arange(n_questions) % len(FIFTHS) == FIFTHS.index(self.fifth)
        asked, apart = (
            Rewards(*(table[..., among] for table in whole)) for among in (~is_apart, is_apart)
        )
        return asked, apart

    @cached_property
    def _means(self) -> tuple[Rewards, Rewards]:
        asked, apart = (Rewards(*(table.mean(axis=-1) for table in part)) for part in self._parts)
        return asked, apart

    def mean(self, config: Config) -> float:
        """Over the questions of the stream."""
        return float(_cell(self._means[0], config))

    @cached_property
    def optimum(self) -> float:
        """The highest mean over the questions of the stream."""
        return _highest(self._means[0])

    def draw(self, config: Config, rng: np.random.Generator) -> float:
        """The reward of one question of the stream."""
        return float(rng.choice(_cell(self._parts[0], config)))

    def unseen_regret(self, config: Config) -> float:
        """What a configuration loses on the questions that were kept apart."""
        return _highest(self._means[1]) - float(_cell(self._means[1], config))

    def __getstate__(self) -> dict[str, Any]:
        """Leave the table behind: another process reads it again when it needs it."""
        return {"fifth": self.fifth, "name": self.name}


def _cell(tables: Rewards, config: Config) -> Floats:
    """What a table has for a configuration."""
    depth = np.array(config["top_k"]).item() - 1
    if config["model"] == READER:
        return np.asarray(tables.copied[depth])
    heat = round(np.array(config["temperature"]).item() * (TEMPERATURES - 1))
    return np.asarray(tables.written[PROMPTS.index(str(config["prompt"])), depth, heat])


def _highest(means: Rewards) -> float:
    return max(float(table.max()) for table in means)
