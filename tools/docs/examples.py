"""Lets the reference show our ``Example:`` sections as code, as it does with ``Examples:``."""

from __future__ import annotations

import re
from typing import Any

import griffe

_SECTION = re.compile(r"^Example:$", re.MULTILINE)


class Examples(griffe.Extension):
    """Renames the section in every docstring."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Look at a function, class, attribute or module as it is loaded."""
        if obj.docstring is not None:
            obj.docstring.value = _SECTION.sub("Examples:", obj.docstring.value)
