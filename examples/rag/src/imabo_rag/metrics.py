"""How good an answer and a retrieval were, and the reward made of both."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Collection
from typing import Final

ANSWER_WEIGHT: Final = 0.8  # w in the paper; the rest is the weight of the retrieval
_ARTICLES: Final = frozenset({"a", "an", "the"})
_PUNCTUATION: Final = re.compile(f"[{re.escape(string.punctuation)}]")


def tokens(text: str) -> list[str]:
    """The words that count: lower case, without punctuation and articles.

    Example:
        >>> tokens("The U.S. Navy's  ship")
        ['us', 'navys', 'ship']
    """
    words = _PUNCTUATION.sub("", text.lower()).split()
    return [word for word in words if word not in _ARTICLES]


def answer_f1(given: str, right: str) -> float:
    """The F1 of the words that two answers share, counted as often as both have them.

    Args:
        given: What was answered.
        right: What should have been.

    Example:
        >>> answer_f1("in the city of Paris", "Paris")
        0.4
        >>> answer_f1("Paris.", "paris")
        1.0
    """
    ours, theirs = tokens(given), tokens(right)
    if not ours or not theirs:
        return float(ours == theirs)
    return _f1((Counter(ours) & Counter(theirs)).total(), len(ours), len(theirs))


def retrieval_f1(found: Collection[str], right: Collection[str]) -> float:
    """The F1 of the titles that were found, each counted once.

    Args:
        found: Titles of the passages that were found.
        right: Titles of the passages that hold the answer.

    Example:
        >>> retrieval_f1(["Tea", "Milk"], ["Tea"])
        0.6666666666666666
    """
    ours, theirs = set(found), set(right)
    if not ours or not theirs:
        return float(ours == theirs)
    return _f1(len(ours & theirs), len(ours), len(theirs))


def reward(answer: float, retrieval: float) -> float:
    """One number for both, from 0 to 1.

    Example:
        >>> reward(1.0, 0.5)
        0.9
    """
    return ANSWER_WEIGHT * answer + (1.0 - ANSWER_WEIGHT) * retrieval


def _f1(shared: int, n_ours: int, n_theirs: int) -> float:
    # 2PR / (P + R) with P = shared / ours and R = shared / theirs.
    return 2.0 * shared / (n_ours + n_theirs)
