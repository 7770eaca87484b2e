"""The assistant: find passages, answer from them, grade the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from imabo_rag.cache import Cache, key_of
from imabo_rag.endpoint import Endpoint, ModelFailed
from imabo_rag.metrics import answer_f1, retrieval_f1, reward
from imabo_rag.prompts import STYLES, messages
from imabo_rag.questions import Passage, Question
from imabo_rag.retrieval import Embedder, Index
from imabo_rag.space import EXTRACTIVE


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
        passages = self._index.search(question.text, int(config["top_k"]))
        titles = tuple(passage.title for passage in passages)
        key = key_of(self._basis, question.text, dict(config))
        kept = self._cache.answer(key)
        if kept is not None:
            return _graded(question, kept["text"], titles, is_cached=True)
        try:
            text = self._read(question.text, passages, config)
        except ModelFailed as error:
            return Answer("", titles, 0.0, 0.0, 0.0, str(error))
        return _graded(question, self._cache.keep(key, {"text": text})["text"], titles)

    def _read(self, question: str, passages: Sequence[Passage], config: Mapping[str, Any]) -> str:
        if config["model"] == EXTRACTIVE:
            return self._nearest_sentence(question, passages)
        if self._endpoint is None:
            raise ModelFailed(
                f"the model {config['model']!r} did not answer",
                "the pipeline has no endpoint",
                "give it one, or serve only the extractive reader",
            )
        chat = messages(str(config["prompt"]), question, passages)
        return self._endpoint.chat(str(config["model"]), chat, float(config["temperature"]))

    def _nearest_sentence(self, question: str, passages: Sequence[Passage]) -> str:
        sentences = [sentence for passage in passages for sentence in passage.sentences]
        if not sentences:
            return ""
        scores = self._embedder(sentences) @ self._embedder([question])[0]
        return sentences[int(scores.argmax())]


def _graded(
    question: Question, text: str, titles: tuple[str, ...], *, is_cached: bool = False
) -> Answer:
    answered = answer_f1(text, question.answer)
    found = retrieval_f1(titles, question.titles)
    return Answer(text, titles, answered, found, reward(answered, found), is_cached=is_cached)
