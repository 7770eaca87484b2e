"""The assistant: find passages, answer from them, grade the answer."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from imabo_rag.cache import Cache, key_of
from imabo_rag.endpoint import Endpoint, ModelFailed
from imabo_rag.metrics import answer_f1, retrieval_f1, reward
from imabo_rag.prompts import STYLES, messages
from imabo_rag.questions import Passage, Question
from imabo_rag.retrieval import Embedder, Index
from imabo_rag.space import EXTRACTIVE

TEMPERATURE_DIGITS: Final = 2  # finer differences change no answer, but would miss the cache


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer and its grades; ``error`` says why there is none, which is worth a reward of 0."""

    text: str
    titles: tuple[str, ...]
    answer_f1: float
    retrieval_f1: float
    reward: float
    error: str | None = None
    is_cached: bool = False


class Pipeline:
    """Question answering over passages, with every setting in a configuration.

    ``answer`` never raises because of a model: what fails is the configuration's failure and has
    the reward 0. Failures are not kept, so they are tried again when they come again.

    Args:
        passages: Where answers are looked for.
        cache: Answers and vectors that are known already.
        endpoint: Of the models that write; None when there is only the extractive reader.
    """

    def __init__(
        self, passages: Sequence[Passage], cache: Cache, endpoint: Endpoint | None = None
    ) -> None:
        self._cache, self._endpoint = cache, endpoint
        self._embedder = Embedder(cache)
        self._index = Index(passages, self._embedder)
        # An answer depends on all of this as well; a change of it must not find old answers.
        settings = None if endpoint is None else endpoint.settings
        self._basis = key_of(
            [passage.text for passage in passages],
            STYLES,
            settings and [settings.max_tokens, settings.seed],
        )

    def answer(self, question: Question, config: Mapping[str, Any]) -> Answer:
        """Answer a question and grade the answer.

        Args:
            question: With its right answer.
            config: From ``rag_space``.
        """
        titles = self.titles(question, int(config["top_k"]))
        kept = self.kept(question, config)
        if kept is not None:
            return _graded(question, kept, titles, is_cached=True)
        try:
            text = self._read(question, config)
        except ModelFailed as error:
            return Answer("", titles, 0.0, 0.0, 0.0, str(error))
        return _graded(question, self.keep(question, config, text), titles)

    def titles(self, question: Question, top_k: int) -> tuple[str, ...]:
        """The titles of the passages that are found for a question, the nearest first."""
        return tuple(passage.title for passage in self._index.search(question.text, top_k))

    def kept(self, question: Question, config: Mapping[str, Any]) -> str | None:
        """The answer that is known already, if there is one."""
        document = self._cache.answer(self._key(question, config))
        return None if document is None else str(document["text"])

    def keep(self, question: Question, config: Mapping[str, Any], text: str) -> str:
        """Keep an answer, unless one is known; the one that is kept."""
        return str(self._cache.keep(self._key(question, config), {"text": text})["text"])

    def chat(self, question: Question, config: Mapping[str, Any]) -> list[dict[str, str]]:
        """What a model that writes is asked."""
        passages = self._index.search(question.text, int(config["top_k"]))
        return messages(str(config["prompt"]), question.text, passages)

    def _key(self, question: Question, config: Mapping[str, Any]) -> str:
        return key_of(self._basis, question.text, dict(config) | _temperature(config))

    def _read(self, question: Question, config: Mapping[str, Any]) -> str:
        if config["model"] == EXTRACTIVE:
            return self._nearest_sentence(question.text, int(config["top_k"]))
        if self._endpoint is None:
            raise ModelFailed(
                f"the model {config['model']!r} did not answer",
                "the pipeline has no endpoint",
                "give it one, or serve only the extractive reader",
            )
        return self._endpoint.chat(
            str(config["model"]),
            self.chat(question, config),
            _temperature(config)["temperature"],
            seed=draw_seed(self._endpoint.settings.seed, question),
        )

    def _nearest_sentence(self, question: str, top_k: int) -> str:
        passages = self._index.search(question, top_k)
        sentences = [sentence for passage in passages for sentence in passage.sentences]
        if not sentences:
            return ""
        scores = self._embedder(sentences) @ self._embedder([question])[0]
        return sentences[int(scores.argmax())]


def draw_seed(seed: int | None, question: Question) -> int | None:
    """The seed of a question's draws: with one for all, every question would have the same luck.

    Example:
        >>> one, other = (Question(text, "", frozenset()) for text in "ab")
        >>> draw_seed(0, one) == draw_seed(0, other), draw_seed(None, one) is None
        (False, True)
    """
    return None if seed is None else zlib.crc32(f"{seed} {question.text}".encode())


def _temperature(config: Mapping[str, Any]) -> dict[str, float]:
    """The temperature as it is sent, where the configuration has one."""
    if "temperature" not in config:
        return {}
    return {"temperature": round(float(config["temperature"]), TEMPERATURE_DIGITS)}


def _graded(
    question: Question, text: str, titles: tuple[str, ...], *, is_cached: bool = False
) -> Answer:
    answered = answer_f1(text, question.answer)
    found = retrieval_f1(titles, question.titles)
    return Answer(text, titles, answered, found, reward(answered, found), is_cached=is_cached)
