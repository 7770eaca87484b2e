"""Plain values: what a configuration may hold, which are equal, and how they are written."""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Mapping
from json.encoder import encode_basestring_ascii
from typing import TypeAlias

import numpy as np

Scalar: TypeAlias = str | int | float | bool | None
Config: TypeAlias = dict[str, Scalar]

# Beyond this an integer has no float neighbour, and JSON readers give up long before.
LARGEST_INT = int(sys.float_info.max)


def plain(value: object) -> Scalar:
    """Turn a value into the plain Python scalar it stands for, or raise ``ValueError`` with why.

    NumPy scalars and subclasses of the plain types are accepted; ``-0.0`` becomes ``0.0``.
    """
    # Nearly all values are these already, and a study that is opened has thousands of them.
    if type(value) is str and value.isascii():
        return value
    if type(value) is float and math.isfinite(value):
        return value + 0.0  # -0.0 + 0.0 is 0.0
    if value is None:
        return None
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str):
        text = str.__str__(value)
        if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
            raise ValueError("half of a surrogate pair cannot be written as UTF-8")
        return text
    if isinstance(value, int | np.integer) and not is_duration(value):
        whole = int(value)
        if abs(whole) > LARGEST_INT:
            raise ValueError("integers beyond the largest float are not supported")
        return whole
    if isinstance(value, float | np.floating):
        number = float(value)
        if not math.isfinite(number):
            raise ValueError("NaN and infinity cannot be written as JSON")
        return number + 0.0
    raise ValueError(
        f"a value of type {type(value).__name__} is not a string, number, bool or None"
    )


def is_duration(value: object) -> bool:
    """Say whether a value is a NumPy duration, which NumPy counts among the integers."""
    return isinstance(value, np.generic) and value.dtype.kind == "m"


def value_key(value: Scalar) -> Hashable:
    """Give a key that is equal for equal values: 1 and 1.0 are one value, True and 1 are two."""
    if value is True or value is False:
        return ("bool", value)
    return value


def sort_key(value: Scalar) -> tuple[int, float | int, str]:
    """Order values of any plain type, so that a set of values has one way to be written."""
    if value is None:
        return (0, 0, "")
    if isinstance(value, bool):
        return (1, value, "")
    if isinstance(value, int | float):
        return (2, value, "")
    return (3, 0, value)


def show(value: object, limit: int = 80) -> str:
    """Write any value for an error message, shortened, without ever failing."""
    try:
        text = repr(value)
    except Exception:  # a message about a bad value must not fail because the value is bad
        text = f"<{type(value).__name__}>"
    return text if len(text) <= limit else text[: limit - 3] + "..."


def text_of(value: Scalar) -> str:
    """Write one plain value as canonical JSON: equal values give equal text."""
    kind = type(value)
    if kind is str:
        return encode_basestring_ascii(value)  # type: ignore[arg-type]
    if kind is float:
        number: float = value  # type: ignore[assignment]
        return str(int(number)) if number.is_integer() else repr(number)
    if kind is int:
        return str(value)
    if value is None:
        return "null"
    return "true" if value else "false"


def identity(config: Mapping[str, Scalar]) -> str:
    """Write a validated configuration as canonical JSON: two equal ones give the same text.

    Keys are sorted, and whole numbers have no ``.0``.
    """
    items = [f"{encode_basestring_ascii(key)}:{text_of(config[key])}" for key in sorted(config)]
    return "{" + ",".join(items) + "}"
