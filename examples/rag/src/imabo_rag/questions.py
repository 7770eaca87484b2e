"""Questions with their answers and the passages to answer them from: HotpotQA's, or our own."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from imabo.errors import MissingData

VARIABLE: Final = "IMABO_HOTPOTQA"
DEFAULT_FILE: Final = Path("../shared/data/hotpotqa/dev_distractor_100.json")
_END_OF_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text with the title of the document it is from."""

    title: str
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """The whole passage, its title first: what is embedded and what a model reads.

        Example:
            >>> Passage("Tea", ("It is a drink.", "It is hot.")).text
            'Tea: It is a drink. It is hot.'
        """
        return f"{self.title}: {' '.join(self.sentences)}"


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the answer that is right, and the titles of the passages that say so."""

    text: str
    answer: str
    titles: frozenset[str]


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions and the passages of all of them together, where the answers are looked for."""

    name: str
    questions: tuple[Question, ...]
    passages: tuple[Passage, ...]


def split_sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text.

    Example:
        >>> split_sentences("Ice floats. Does iron?  No!")
        ('Ice floats.', 'Does iron?', 'No!')
    """
    return tuple(part for part in _END_OF_SENTENCE.split(text.strip()) if part)


def own_questions() -> QuestionSet:
    """A dozen questions of our own about everyday things, for where HotpotQA is not at hand.

    Example:
        >>> len(own_questions().questions)
        12
    """
    place = files("imabo_rag").joinpath("data/own_questions.json")
    document = json.loads(place.read_text(encoding="utf-8"))
    questions = tuple(
        Question(one["question"], one["answer"], frozenset(one["titles"]))
        for one in document["questions"]
    )
    passages = tuple(
        Passage(title, split_sentences(text)) for title, text in document["passages"].items()
    )
    return QuestionSet("our own questions", questions, passages)


def load_hotpotqa(path: str | os.PathLike[str], count: int | None = None) -> QuestionSet:
    """Read a HotpotQA distractor file, in the layout of its authors or in that of the data hub.

    Args:
        path: The JSON file.
        count: How many of its questions, from the first; all when None. The passages of the
            questions read are the ones that are searched.
    """
    place = Path(path)
    try:
        records = json.loads(place.read_text(encoding="utf-8"))[:count]
        questions = tuple(_question(record) for record in records)
        passages = _distinct(passage for record in records for passage in _passages(record))
        if not questions or not passages:
            raise ValueError("it has no questions, or no passages")
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise MissingData(
            f"cannot read HotpotQA questions from {str(place)!r}",
            f"{type(error).__name__}: {error}",
            "name the JSON file of the HotpotQA distractor set",
        ) from error
    return QuestionSet(f"HotpotQA, {place.name}", questions, passages)


def find_questions(
    path: str | os.PathLike[str] | None = None, count: int | None = None
) -> QuestionSet:
    """The questions to stream: of a file that is named or found, else our own.

    Args:
        path: A HotpotQA file; by default the one that the variable ``IMABO_HOTPOTQA`` names, then
            the one in the shared data beside the project, where it exists.
        count: How many, from the first; all when None.
    """
    named = path or os.environ.get(VARIABLE)
    if named:
        return load_hotpotqa(named, count)
    if DEFAULT_FILE.is_file():
        return load_hotpotqa(DEFAULT_FILE, count)
    own = own_questions()
    return QuestionSet(own.name, own.questions[:count], own.passages)


def _distinct(passages: Iterable[Passage]) -> tuple[Passage, ...]:
    """Each passage once, in order: questions share some."""
    return tuple(dict.fromkeys(passages))


def _question(record: Mapping[str, Any]) -> Question:
    facts = record["supporting_facts"]
    titles = facts["title"] if isinstance(facts, Mapping) else [fact[0] for fact in facts]
    return Question(record["question"], record["answer"], frozenset(titles))


def _passages(record: Mapping[str, Any]) -> Iterable[Passage]:
    context = record["context"]
    if isinstance(context, Mapping):
        pairs: Iterable[Sequence[Any]] = zip(context["title"], context["sentences"], strict=True)
    else:
        pairs = context
    for title, sentences in pairs:
        yield Passage(title, tuple(kept for one in sentences if (kept := one.strip())))
