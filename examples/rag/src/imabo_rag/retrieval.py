"""Finding passages: exact search by inner product over vectors of length one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from imabo_rag.cache import Cache
from imabo_rag.embedding import MiniLM, Vectors
from imabo_rag.questions import Passage


class Embedder:
    """MiniLM behind a cache: the model is read only when a new text comes.

    Args:
        cache: Where vectors are kept.
    """

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._model: MiniLM | None = None

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """One row a text, each of length one."""
        return self._cache.vectors(MiniLM.name, texts, self._embed)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        if self._model is None:
            self._model = MiniLM()
        return self._model.embed(texts)


class Index:
    """Passages that can be searched.

    Args:
        passages: At least one.
        embedder: Makes vectors of length one.
    """

    def __init__(self, passages: Sequence[Passage], embedder: Embedder) -> None:
        self.passages = tuple(passages)
        self._embedder = embedder
        self._vectors = embedder([passage.text for passage in self.passages])

    def search(self, question: str, top_k: int) -> list[Passage]:
        """The passages nearest to a question, the nearest first; of equals the first.

        Args:
            question: What is asked.
            top_k: How many, at least 1; all when there are fewer.
        """
        return [self.passages[place] for place in self.nearest(question, top_k)]

    def nearest(self, question: str, top_k: int) -> list[int]:
        """The places of those passages."""
        scores = self._vectors @ self._embedder([question])[0]
        order: list[int] = np.argsort(-scores, kind="stable")[:top_k].tolist()
        return order
