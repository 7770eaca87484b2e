"""The methods of the benchmark, by name.

Adding one is adding a module to this package that lists its methods in ``METHODS``.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from imabo.errors import InvalidSetting
from imabo.space.scalars import show
from imabo_bench.methods.base import Method, Player, Served

__all__ = ["Method", "Player", "Served", "method_names", "open_method"]


def method_names() -> list[str]:
    """The names that ``open_method`` knows, each family together.

    Example:
        >>> "imoss-tpe" in method_names()
        True
    """
    return list(_methods())


def open_method(name: str) -> Method:
    """The method of that name.

    Args:
        name: One of ``method_names()``; another one is ``InvalidSetting``.

    Example:
        >>> open_method("random").name
        'random'
    """
    found = _methods().get(name) if isinstance(name, str) else None
    if found is None:
        raise InvalidSetting(
            f"the method is {show(name)}",
            "there is no such method",
            f"use one of {', '.join(_methods())}",
        )
    return found


@cache
def _methods() -> dict[str, Method]:
    found: dict[str, Method] = {}
    for module in pkgutil.iter_modules(__path__):
        listed = getattr(import_module(f"{__name__}.{module.name}"), "METHODS", ())
        found |= {method.name: method for method in listed}
    return found
