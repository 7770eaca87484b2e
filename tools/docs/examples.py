"""What the reference cannot read by itself: examples, facts of ``Study``, both clients' methods."""

from __future__ import annotations

import ast
import copy
import re
from typing import Any

import griffe

_SECTION = re.compile(r"^Example:$", re.MULTILINE)


class Examples(griffe.Extension):
    """Shows examples as code, the words of what ``_fact`` makes, and a shared method of clients."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Look at a function, class, attribute or module as it is loaded."""
        value = str(getattr(obj, "value", ""))
        if value.startswith("_fact("):
            call = ast.parse(value, mode="eval").body
            words = ast.literal_eval(call.args[1]) if isinstance(call, ast.Call) else ""
            obj.docstring = griffe.Docstring(words, parent=obj)
        if obj.docstring is not None:
            obj.docstring.value = _SECTION.sub("Examples:", obj.docstring.value)

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """A generator of steps is called for what it ends with (``imabo.client.steps``)."""
        returns = func.returns
        if isinstance(returns, griffe.ExprSubscript) and str(returns.left) == "Steps":
            func.returns = returns.slice
            func.decorators.clear()

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Give the asyncio side methods that are awaited, without the other side's examples."""
        for name in ("AsyncClient", "AsyncRemoteStudy"):
            if pkg.path == "imabo":
                _await(pkg["client"][name].final_target)


def _await(side: griffe.Class) -> None:
    for name, one in side.inherited_members.items():
        method = one.final_target
        if isinstance(method, griffe.Function) and not name.startswith("_") and name != "study":
            own = copy.copy(method)
            own.labels = method.labels | {"async"}
            own.docstring = copy.copy(method.docstring)
            if own.docstring is not None:
                own.docstring.value = own.docstring.value.partition("\n\nExample")[0]
            side.set_member(name, own)
