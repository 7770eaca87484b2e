"""Retrieval with the real weights, against a search that compares everything with everything."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from imabo_rag.cache import Cache
from imabo_rag.embedding import MiniLM, Vectors
from imabo_rag.questions import own_questions
from imabo_rag.retrieval import Embedder, Index
from tests.rag.weights import needs_weights

OWN = own_questions()
TEXTS = ["The tide rises twice a day.", "How often does the sea rise?", "Bread needs yeast."]
# Of these, by the library of the model's authors (sentence-transformers 6.2) from the same file.
COSINES = [[1.0, 0.605734, 0.056195], [0.605734, 1.0, 0.051736], [0.056195, 0.051736, 1.0]]
HEADS = [
    [-0.052282, 0.012263, 0.127959, 0.014467],
    [-0.020793, 0.006564, 0.045458, 0.038572],
    [-0.012835, 0.007547, -0.012895, -0.006278],
]


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM()


@needs_weights
def test_embeddings_are_those_of_the_reference_implementation(model: MiniLM) -> None:
    rows = model.embed(TEXTS)
    np.testing.assert_allclose(rows @ rows.T, COSINES, atol=2e-5)
    np.testing.assert_allclose(rows[:, :4], HEADS, atol=2e-5)


@needs_weights
def test_a_vector_has_length_one_and_does_not_depend_on_its_company(model: MiniLM) -> None:
    texts = [passage.text for passage in OWN.passages] + ["", "word " * 600]
    rows = model.embed(texts)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    alone = np.concatenate([model.embed([text]) for text in texts])
    np.testing.assert_allclose(rows, alone, atol=1e-5)


@needs_weights
def test_search_finds_what_comparing_with_every_passage_finds(model: MiniLM) -> None:
    rows = [model.embed([passage.text])[0] for passage in OWN.passages]  # one by one, no cache
    with Cache(":memory:") as cache:
        index = Index(OWN.passages, Embedder(cache))
        for question in OWN.questions:
            asked = model.embed([question.text])[0]
            products = [
                sum(float(a) * float(b) for a, b in zip(asked, row, strict=True)) for row in rows
            ]
            order = sorted(range(len(rows)), key=lambda place: -products[place])
            for top_k in (1, 3, 10, 100):
                wanted = [OWN.passages[place] for place in order[:top_k]]
                assert index.search(question.text, top_k) == wanted


@needs_weights
def test_the_passage_with_the_answer_is_mostly_the_nearest() -> None:
    with Cache(":memory:") as cache:
        index = Index(OWN.passages, Embedder(cache))
        hits = [index.search(one.text, 1)[0].title in one.titles for one in OWN.questions]
    assert sum(hits) >= 9


def test_a_text_is_embedded_once() -> None:
    seen: list[str] = []

    def embed(texts: Sequence[str]) -> Vectors:
        seen.extend(texts)
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)

    with Cache(":memory:") as cache:
        first = cache.vectors("m", ["a", "bb", "a"], embed)
        again = cache.vectors("m", ["bb", "ccc"], embed)
        cache.vectors("another model", ["a"], embed)
    assert first.tolist() == [[1, 1], [2, 1], [1, 1]]
    assert again.tolist() == [[2, 1], [3, 1]]
    assert seen == ["a", "bb", "ccc", "a"]
