"""What a flag of a type may resolve to."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from imabo.space import Choice, Float, Int
from imabo.space.scalars import Scalar, show

Kind: TypeAlias = Literal["boolean", "string", "integer", "float", "object"]
SCALARS: Final = frozenset({"boolean", "string", "integer", "float"})


def fitted(kind: Kind, value: Scalar) -> Any:
    """A parameter's value as one of the flag's type; ``TypeError`` when it is none.

    Example:
        >>> fitted("float", 3), fitted("integer", 3), fitted("boolean", True)
        (3.0, 3, True)
        >>> fitted("integer", True)
        Traceback (most recent call last):
        TypeError: the parameter's value is True, which is no integer
    """
    match value:
        case bool():
            fits = kind == "boolean"
        case int():
            if kind == "float":
                return float(value)
            fits = kind == "integer"
        case float():
            fits = kind == "float"
        case str():
            fits = kind == "string"
        case _:
            fits = False
    if not fits:
        raise TypeError(f"the parameter's value is {show(value)}, which is no {kind}")
    return value


def can_fit(kind: Kind, parameter: object) -> bool:
    """Whether some value of a parameter is of the flag's type.

    Example:
        >>> can_fit("string", Float(0.0, 1.0)), can_fit("float", Int(1, 10))
        (False, True)
    """
    if isinstance(parameter, Float):
        return kind == "float"
    if isinstance(parameter, Int):
        return kind in ("integer", "float")
    if isinstance(parameter, Choice):
        return any(_fits(kind, value) for value in parameter.choices)
    return True


def _fits(kind: Kind, value: Scalar) -> bool:
    try:
        fitted(kind, value)
    except TypeError:
        return False
    return True
