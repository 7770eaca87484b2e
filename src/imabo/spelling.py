"""Did you mean: the known name that is nearest to one that nobody knows."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

_LONGEST: Final = 100  # of what is compared; the time grows with its square
_MOST: Final = 1000  # names to compare with


def closest(name: object, names: Iterable[str]) -> str | None:
    """The name among ``names`` that looks like ``name``; None where none does.

    Example:
        >>> closest("suport-answers", ["support-answers", "search"]), closest("x", ["search"])
        ('support-answers', None)
        >>> closest("Best", ["best"])
        'best'
    """
    if not isinstance(name, str) or not name or len(name) > _LONGEST:
        return None
    by_text = {one.casefold(): one for one in list(names)[:_MOST] if len(one) <= _LONGEST}
    found = difflib.get_close_matches(name.casefold(), by_text, n=1)
    return by_text[found[0]] if found else None
