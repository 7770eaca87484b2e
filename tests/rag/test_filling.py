"""Answers made ahead: what is in the cache afterwards, and the table of their grades."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from imabo.errors import MissingData
from imabo_bench.problems import hotpotqa
from imabo_rag import Cache, Endpoint, EndpointSettings, Pipeline, own_questions, rag_space
from imabo_rag.filling import even_temperatures, fill
from imabo_rag.local_model import MODEL
from imabo_rag.metrics import answer_f1
from imabo_rag.pipeline import draw_seed
from imabo_rag.prompts import STYLES
from imabo_rag.tabling import grades, write_table
from tests.rag.weights import needs_weights

OWN = own_questions()
ASKED = OWN.questions[:2]
HEATS = even_temperatures(3)
# Nobody listens there: what was made ahead needs no endpoint.
SETTINGS = EndpointSettings("http://127.0.0.1:1/v1", (MODEL,), retries=0, max_tokens=5, seed=9)
WRITING = {"model": MODEL, "prompt": "naive", "top_k": 2, "temperature": 0.5}


class Scribe:
    """Writes down what it was asked, with its heat and luck."""

    def __init__(self) -> None:
        self.n_chats = 0

    def answers(
        self,
        chats: Sequence[Sequence[Mapping[str, str]]],
        temperatures: Sequence[float],
        *,
        seeds: Sequence[int],
        max_tokens: int,
    ) -> list[list[str]]:
        self.n_chats += len(chats)
        return [
            [f"{chat[-1]['content'][-20:]} {heat} {seed} {max_tokens}" for heat in temperatures]
            for chat, seed in zip(chats, seeds, strict=True)
        ]


@needs_weights
def test_every_configuration_is_answered_from_the_cache_after_a_fill() -> None:
    scribe = Scribe()
    with Cache(":memory:") as cache, Endpoint(SETTINGS) as endpoint:
        pipeline = Pipeline(OWN.passages, cache, endpoint)
        assert fill(pipeline, SETTINGS, ASKED, HEATS, scribe) == 2 * 3 * 10 * 3
        answer = pipeline.answer(ASKED[1], WRITING | {"temperature": 0.504})  # rounded to 0.5
        made = grades(pipeline, ASKED, HEATS)
        assert fill(pipeline, SETTINGS, ASKED, HEATS, scribe) == 0
        assert endpoint.n_calls == 0
    assert scribe.n_chats == 2 * 3 * 10
    assert answer.is_cached
    assert answer.text.endswith(f" 0.5 {draw_seed(9, ASKED[1])} 5")
    assert made["written_f1"].shape == (3, 10, 3, 2)
    style = list(STYLES).index("naive")
    expected = np.float32(answer_f1(answer.text, ASKED[1].answer))
    assert made["written_f1"][style, 1, 1, 1] == expected
    assert made["title_f1"][1, 1] == np.float32(answer.retrieval_f1)


@needs_weights
def test_what_a_fill_left_out_is_said_and_not_graded() -> None:
    with Cache(":memory:") as cache, Endpoint(SETTINGS) as endpoint:
        pipeline = Pipeline(OWN.passages, cache, endpoint)
        fill(pipeline, SETTINGS, ASKED[:1], HEATS, Scribe())
        with pytest.raises(MissingData, match="imabo_rag fill"):
            grades(pipeline, ASKED, HEATS)


@needs_weights
def test_a_table_says_how_it_was_made(tmp_path: Path) -> None:
    with Cache(":memory:") as cache, Endpoint(SETTINGS) as endpoint:
        pipeline = Pipeline(OWN.passages, cache, endpoint)
        fill(pipeline, SETTINGS, ASKED, HEATS, Scribe())
        made = grades(pipeline, ASKED, HEATS)
    write_table(made, OWN, SETTINGS, tmp_path / "table")
    document = json.loads((tmp_path / "table.json").read_text(encoding="utf-8"))
    with np.load(tmp_path / "table.npz") as stored:
        assert {name: stored[name].shape for name in document["axes"]} == {
            "written_f1": (3, 10, 3, 2),
            "copied_f1": (10, 2),
            "title_f1": (10, 2),
        }
    assert (document["seed"], document["max_tokens"]) == (9, 5)


def test_the_benchmark_tunes_the_same_space_and_prompts_as_the_pipeline() -> None:
    assert hotpotqa.HotpotQA("1").space == rag_space([MODEL])
    assert list(STYLES) == list(hotpotqa.PROMPTS)
