"""The methods of the benchmark, by name.

Ours are in the modules of this package, each with a list ``METHODS``; those of other packages are
entry points of the group ``imabo_bench.methods``.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from imabo.errors import InvalidSetting
from imabo.space.scalars import show
from imabo_bench import plugins
from imabo_bench.methods.base import Method, Player, Served
from imabo_bench.methods.study import StudyMethod

__all__ = ["Method", "Player", "Served", "StudyMethod", "method_names", "open_method"]


def method_names() -> list[str]:
    """The names that ``open_method`` knows, each family together.

    Example:
        >>> "imoss-tpe" in method_names()
        True
    """
    return [*_methods(), *plugins.offered(plugins.METHODS, _methods())]


def open_method(name: str) -> Method:
    """The method of that name.

    Args:
        name: One of ``method_names()``; another one is ``InvalidSetting``.

    Example:
        >>> open_method("random").name
        'random'
    """
    if name not in method_names():
        raise InvalidSetting(
            f"the method is {show(name)}",
            "there is no such method",
            f"use one of {', '.join(method_names())}",
        )
    if name in _methods():
        return _methods()[name]
    point = plugins.offered(plugins.METHODS, _methods())[name]
    method = plugins.load(point, Method)  # type: ignore[type-abstract]
    plugins.named(point, name, method.name)
    return method


@cache
def _methods() -> dict[str, Method]:
    found: dict[str, Method] = {}
    for module in pkgutil.iter_modules(__path__):
        listed = getattr(import_module(f"{__name__}.{module.name}"), "METHODS", ())
        found |= {method.name: method for method in listed}
    return found
