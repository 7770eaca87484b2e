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

# As turns of the chat, not as text: small models follow what was done before, not what was said.
_EXAMPLES: Final = (
    (
        "Lighthouse: The lighthouse was lit in 1871. Its keeper was Ida Moss.",
        "Who kept the lighthouse that was lit in 1871?",
        "Ida Moss",
    ),
    (
        "Oak: The wood of oaks is hard. Balsa: The wood of balsa trees is soft.",
        "Are the woods of oak and balsa both hard?",
        "no",
    ),
    (
        "Ferry: The ferry takes forty minutes. It leaves at noon.",
        "How long does the ferry take?",
        "forty minutes",
    ),
)


def asked(context: str, question: str) -> dict[str, str]:
    """A question about a context, as a turn of a chat."""
    return {"role": "user", "content": f"Context: {context}\n\nQuestion: {question}"}


def _turns() -> list[dict[str, str]]:
    """The examples as a chat that went before."""
    return [
        turn
        for context, question, answer in _EXAMPLES
        for turn in (asked(context, question), {"role": "assistant", "content": answer})
    ]


# What comes before the question.
STYLES: Final[dict[str, list[dict[str, str]]]] = {
    "few_shot": [{"role": "system", "content": _RULES}, *_turns()],
    "zero_shot": [{"role": "system", "content": _RULES}],
    "naive": [{"role": "system", "content": "Use the context to answer the question."}],
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
    return [*STYLES[style], asked(context, question)]
