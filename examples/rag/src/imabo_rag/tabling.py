"""The grades of answers made ahead, as the table that imabo's benchmark ships."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from imabo.arms import Floats
from imabo.errors import MissingData
from imabo_rag.cache import Cache
from imabo_rag.endpoint import Endpoint
from imabo_rag.filling import even_temperatures
from imabo_rag.local_model import MODEL
from imabo_rag.metrics import answer_f1, retrieval_f1
from imabo_rag.pipeline import Pipeline
from imabo_rag.prompts import STYLES
from imabo_rag.questions import Question, QuestionSet, find_questions
from imabo_rag.settings import EndpointSettings, read_settings
from imabo_rag.space import EXTRACTIVE, MOST_PASSAGES


def grades(
    pipeline: Pipeline, questions: Sequence[Question], temperatures: Sequence[float]
) -> dict[str, Floats]:
    """The grades of every question with every configuration of the grid that ``fill`` makes.

    Args:
        pipeline: With the cache that was filled.
        questions: The ones that it was filled for; the last axis of each array.
        temperatures: The ones that it was filled for.
    """
    depths = range(1, MOST_PASSAGES + 1)

    def answered(question: Question, config: dict[str, Any]) -> float:
        text = pipeline.kept(question, config)
        if text is None:
            raise MissingData(
                f"the cache has no answer to {question.text!r}",
                f"with the configuration {config}",
                "run python -m imabo_rag fill with the same questions and temperatures first",
            )
        return answer_f1(text, question.answer)

    writing = [
        [
            [
                [
                    answered(
                        question,
                        {"model": MODEL, "prompt": style, "top_k": k, "temperature": heat},
                    )
                    for question in questions
                ]
                for heat in temperatures
            ]
            for k in depths
        ]
        for style in STYLES
    ]
    copying = [
        [answered(one, {"model": EXTRACTIVE, "top_k": k}) for one in questions] for k in depths
    ]
    found = [
        [retrieval_f1(pipeline.titles(one, k), one.titles) for one in questions] for k in depths
    ]
    return {
        "written_f1": np.array(writing, dtype=np.float32),
        "copied_f1": np.array(copying, dtype=np.float32),
        "title_f1": np.array(found, dtype=np.float32),
    }


def write_table(
    made: dict[str, Floats], found: QuestionSet, settings: EndpointSettings, stem: Path
) -> None:
    """Write a table and, beside it, how it was made.

    Args:
        made: By ``grades``.
        found: What was asked.
        settings: Of the endpoint: the longest answer and the seed.
        stem: The files' path without its ending.
    """
    np.savez_compressed(stem.with_suffix(".npz"), **made)  # type: ignore[arg-type]  # array names
    document = {
        "axes": {
            "written_f1": ["prompt", "top_k", "temperature", "question"],
            "copied_f1": ["top_k", "question"],
            "title_f1": ["top_k", "question"],
        },
        "models": {"written_f1": MODEL, "copied_f1": EXTRACTIVE},
        "prompts": list(STYLES),
        "prompts_sha256": _digest(STYLES),
        "max_tokens": settings.max_tokens,
        "seed": settings.seed,
        "questions": found.name,
        "questions_sha256": _digest([one.text for one in found.questions]),
        "passages_sha256": _digest([one.text for one in found.passages]),
        "n_questions": len(found.questions),
        "n_answers": int(made["written_f1"].size + made["copied_f1"].size),
    }
    stem.with_suffix(".json").write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def run_table(
    questions: Path | None, count: int | None, cache: Path, n_temperatures: int, out: Path
) -> None:
    """The command: grade what ``fill`` made.

    Args:
        questions: As for ``fill``.
        count: As for ``fill``.
        cache: The file that was filled.
        n_temperatures: As for ``fill``.
        out: The table's path without its ending.
    """
    found, settings = find_questions(questions, count), read_settings("local")
    with Cache(cache) as kept, Endpoint(settings) as endpoint:
        pipeline = Pipeline(found.passages, kept, endpoint)
        made = grades(pipeline, found.questions, even_temperatures(n_temperatures))
    write_table(made, found, settings, out)
    sys.stdout.write(f"{out}.npz and {out}.json\n")


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
