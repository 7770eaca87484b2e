"""The extractive reader as a model of its own: it copies the sentences nearest to the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from imabo_rag.local_model import Said
from imabo_rag.questions import split_sentences
from imabo_rag.retrieval import Embedder

_ASKED = "\n\nQuestion: "


class Reader:
    """Answers chats that ask as ``prompts.messages`` does; what is not in them it does not know.

    Args:
        embedder: Of sentences and questions.
        n_sentences: How many it copies, at least 1.
    """

    def __init__(self, embedder: Embedder, n_sentences: int = 1) -> None:
        self._embedder, self._n_sentences = embedder, n_sentences

    def chat(self, messages: Sequence[Mapping[str, str]], **settings: object) -> Said:
        """Copy the sentences that are nearest to the last question, in their order.

        Args:
            messages: With ``role`` and ``content``.
            settings: Of models that write; a reader has none.
        """
        context, _, question = messages[-1]["content"].rpartition(_ASKED)
        sentences = sentences_of(context)
        text = ""
        if sentences:
            scores = self._embedder(sentences) @ self._embedder([question])[0]
            nearest = sorted(scores.argsort()[::-1][: self._n_sentences])
            text = " ".join(sentences[place] for place in nearest)
        n_read = sum(len(message["content"].split()) for message in messages)
        return Said(text, n_read, len(text.split()))


def sentences_of(context: str) -> list[str]:
    r"""The sentences of a prompt's passages, without their titles.

    Example:
        >>> sentences_of("Context: Tea: It is hot. It is a drink.\nIce: It is cold.")
        ['It is hot.', 'It is a drink.', 'It is cold.']
    """
    passages = context.removeprefix("Context: ").split("\n")
    texts = [passage.partition(": ")[2] for passage in passages]
    return [sentence for text in texts for sentence in split_sentences(text)]
