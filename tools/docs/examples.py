"""What the reference cannot read by itself: ``Example:`` sections, and the facts of ``Study``."""

from __future__ import annotations

import ast
import re
from typing import Any

import griffe

_SECTION = re.compile(r"^Example:$", re.MULTILINE)


class Examples(griffe.Extension):
    """Renames the section in every docstring, and finds the words of what ``_fact`` makes."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Look at a function, class, attribute or module as it is loaded."""
        value = str(getattr(obj, "value", ""))
        if value.startswith("_fact("):
            call = ast.parse(value, mode="eval").body
            words = ast.literal_eval(call.args[1]) if isinstance(call, ast.Call) else ""
            obj.docstring = griffe.Docstring(words, parent=obj)
        if obj.docstring is not None:
            obj.docstring.value = _SECTION.sub("Examples:", obj.docstring.value)
