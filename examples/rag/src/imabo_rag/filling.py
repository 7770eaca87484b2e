"""Answers made ahead, many at once: for the evidence, and for whoever has a GPU for an hour."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from imabo_rag.cache import Cache
from imabo_rag.endpoint import Endpoint
from imabo_rag.local_model import MODEL, smollm2
from imabo_rag.pipeline import Pipeline, draw_seed
from imabo_rag.prompts import STYLES
from imabo_rag.questions import Question, find_questions
from imabo_rag.settings import EndpointSettings, read_settings
from imabo_rag.space import EXTRACTIVE, MOST_PASSAGES

_EVERY_S: Final = 10.0
_AT_ONCE: Final = 4096  # answers that grow side by side; prompts are as many as fit


class Writer(Protocol):
    """Answers many chats at many temperatures, as ``LocalModel`` does."""

    def answers(
        self,
        chats: Sequence[Sequence[Mapping[str, str]]],
        temperatures: Sequence[float],
        *,
        seeds: Sequence[int],
        max_tokens: int,
    ) -> list[list[str]]:
        """The answers, one list a chat and one text a temperature."""


def even_temperatures(count: int) -> list[float]:
    """So many temperatures from 0 to 1.

    Args:
        count: At least 2; with 101 or fewer that divide evenly, each is a hundredth.

    Example:
        >>> even_temperatures(5)
        [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    return [round(place / (count - 1), 2) for place in range(count)]


def fill(
    pipeline: Pipeline,
    settings: EndpointSettings,
    questions: Sequence[Question],
    temperatures: Sequence[float],
    model: Writer,
    *,
    seen: Callable[[int, int], None] = lambda done, of: None,
) -> int:
    """Answer every question with every configuration of a grid; how many answers are new.

    What the cache has is not made again, so a fill that was stopped goes on.

    Args:
        pipeline: With the cache.
        settings: Of the endpoint that the pipeline has: the longest answer and the seed.
        questions: At least one.
        temperatures: At least one.
        model: Writes the answers.
        seen: Called with the number of prompts that are done, and of all.
    """
    for question in questions:
        for top_k in range(1, MOST_PASSAGES + 1):
            pipeline.answer(question, {"model": EXTRACTIVE, "top_k": top_k})
    # Prompts of one style and depth are of similar length: little is padded.
    groups = [
        [(question, {"model": MODEL, "prompt": style, "top_k": top_k}) for question in questions]
        for style in STYLES
        for top_k in range(1, MOST_PASSAGES + 1)
    ]
    at_once = max(1, _AT_ONCE // len(temperatures))
    n_new, n_done, n_all = 0, 0, sum(map(len, groups))
    for group in groups:
        for start in range(0, len(group), at_once):
            part = group[start : start + at_once]
            asked = [one for one in part if any(_missing(pipeline, *one, temperatures))]
            if asked:
                made = model.answers(
                    [pipeline.chat(*one) for one in asked],
                    temperatures,
                    seeds=[draw_seed(settings.seed or 0, question) or 0 for question, _ in asked],
                    max_tokens=settings.max_tokens or 64,
                )
                for (question, config), texts in zip(asked, made, strict=True):
                    for temperature, text in zip(temperatures, texts, strict=True):
                        pipeline.keep(question, config | {"temperature": temperature}, text)
                n_new += len(asked) * len(temperatures)
            n_done += len(part)
            seen(n_done, n_all)
    return n_new


def _missing(
    pipeline: Pipeline, question: Question, config: dict[str, Any], temperatures: Sequence[float]
) -> Iterator[bool]:
    for temperature in temperatures:
        yield pipeline.kept(question, config | {"temperature": temperature}) is None


def run_fill(
    questions: Path | None, count: int | None, cache: Path, n_temperatures: int, device: str
) -> None:
    """The command: fill a cache, with a line of progress now and then.

    Args:
        questions: A HotpotQA file; found or our own when None.
        count: How many of them, from the first; all when None.
        cache: The file.
        n_temperatures: Even ones from 0 to 1.
        device: Where to compute.
    """
    found, settings, began = find_questions(questions, count), read_settings("local"), time.time()
    shown_at = began

    def seen(done: int, of: int) -> None:
        nonlocal shown_at
        now = time.time()
        if now - shown_at < _EVERY_S and done < of:
            return
        shown_at = now
        left = (now - began) / done * (of - done)
        sys.stdout.write(f"{done} of {of} prompts, about {left:.0f} s left\n")
        sys.stdout.flush()

    # The endpoint is only a part of what answers are kept under; nothing is sent to it.
    with Cache(cache) as kept, Endpoint(settings) as endpoint:
        pipeline = Pipeline(found.passages, kept, endpoint)
        n_new = fill(
            pipeline,
            settings,
            found.questions,
            even_temperatures(n_temperatures),
            smollm2(device),
            seen=seen,
        )
    sys.stdout.write(f"{n_new} new answers in {cache}\n")
