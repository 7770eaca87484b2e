"""Three ways to ask a model: with rules and examples, with rules alone, and with one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from imabo_rag.questions import Passage

_RULES: Final = """\
You answer questions from the passages you are given, and from nothing else.
- Give the shortest answer that is complete: a name, a date, a number, yes or no.
- Write no sentence around it and no reason for it.
- When the passages do not tell, write: not known"""

_EXAMPLES: Final = """\
Three examples:

Context: Lighthouse: The lighthouse was lit in 1871. Its keeper was Ida Moss.
Question: Who kept the lighthouse that was lit in 1871?
Answer: Ida Moss

Context: Oak: The wood of oaks is hard. Balsa: The wood of balsa trees is soft.
Question: Are the woods of oak and balsa both hard?
Answer: no

Context: Ferry: The ferry takes forty minutes. It leaves at noon.
Question: How long does the ferry take?
Answer: forty minutes"""

STYLES: Final = {
    "few_shot": f"{_RULES}\n\n{_EXAMPLES}",
    "zero_shot": _RULES,
    "naive": "Use the context to answer the question.",
}


def messages(style: str, question: str, passages: Sequence[Passage]) -> list[dict[str, str]]:
    """A chat that asks a question about passages.

    Args:
        style: ``few_shot``, ``zero_shot`` or ``naive``.
        question: The question.
        passages: What was found, the nearest first.

    Example:
        >>> chat = messages("naive", "Is tea hot?", [Passage("Tea", ("It is hot.",))])
        >>> [message["role"] for message in chat]
        ['system', 'user']
        >>> print(chat[1]["content"])
        Context: Tea: It is hot.
        <BLANKLINE>
        Question: Is tea hot?
    """
    context = "\n".join(passage.text for passage in passages)
    return [
        {"role": "system", "content": STYLES[style]},
        {"role": "user", "content": f"Context: {context}\n\nQuestion: {question}"},
    ]
