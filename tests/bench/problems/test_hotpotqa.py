"""The assistant's table: what a stream asks, and what is kept apart."""

from __future__ import annotations

import numpy as np
import pytest

from imabo.errors import InvalidSetting
from imabo.space import Config
from imabo_bench.play import play
from imabo_bench.problems.data import open_table
from imabo_bench.problems.hotpotqa import (
    FIFTHS,
    PROMPTS,
    READER,
    TABLE,
    WRITER,
    HotpotQA,
    read_rewards,
)

WRITING: Config = {"model": WRITER, "prompt": "zero_shot", "top_k": 3, "temperature": 0.37}


def test_a_reward_is_four_fifths_answer_and_one_fifth_retrieval() -> None:
    stored, whole = open_table(TABLE), read_rewards()
    cell, question = (2, 4, 80), 7
    expected = 0.8 * stored["written_f1"][cell][question] + 0.2 * stored["title_f1"][4, question]
    assert whole.written[cell][question] == pytest.approx(expected)
    expected = 0.8 * stored["copied_f1"][4, question] + 0.2 * stored["title_f1"][4, question]
    assert whole.copied[4, question] == pytest.approx(expected)
    assert 0.0 <= whole.written.min() < whole.written.max() <= 1.0 + 1e-6


def test_every_question_is_kept_apart_once() -> None:
    place = (PROMPTS.index("zero_shot"), 2, 37)
    all_rewards = read_rewards().written[place]
    problems = [HotpotQA(fifth) for fifth in FIFTHS]
    total = float(np.sum([problem.mean(WRITING) for problem in problems]))
    # Each question is in four of the five streams.
    assert total * 80 == pytest.approx(4 * all_rewards.sum())


def test_a_stream_never_asks_what_is_kept_apart() -> None:
    rng = np.random.default_rng(0)
    problem = HotpotQA("3")
    draws = {problem.draw({"model": READER, "top_k": 2}, rng) for _ in range(3000)}
    rewards = read_rewards().copied[1]
    asked = np.delete(rewards, np.arange(2, 100, 5))
    assert draws == set(asked.tolist())


def test_a_temperature_counts_in_hundredths() -> None:
    problem = HotpotQA("1")
    assert problem.mean(WRITING | {"temperature": 0.3749}) == problem.mean(WRITING)
    assert problem.mean(WRITING | {"temperature": 0.3751}) == problem.mean(
        WRITING | {"temperature": 0.38}
    )


def test_a_row_says_what_the_recommendation_loses_on_the_questions_kept_apart() -> None:
    row = play(HotpotQA("2"), "imoss-tpe", 0, 60)
    assert len(row["unseen"]) == len(row["checkpoints"])
    assert all(0.0 <= loss < 1.0 for loss in row["unseen"])


def test_a_sixth_fifth_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="'6'"):
        HotpotQA("6")
