"""Settings of policies and oracles: checking them, and writing them down as JSON."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from imabo.errors import InvalidSetting

T = TypeVar("T")


def check_number(name: str, value: object, low: float, high: float, *, closed: bool) -> None:
    """Refuse anything but a finite number in (low, high), or in [low, high] when closed."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        inside = low <= value <= high if closed else low < value < high
        if inside:
            return
    ends = f"[{low}, {high}]" if closed else f"({low}, {high})"
    raise InvalidSetting(
        f"{name} is {value!r}", f"it must be a number in {ends}", f"pass another {name}"
    )


def check_fraction(name: str, value: object) -> None:
    """Refuse anything but a number strictly between 0 and 1."""
    check_number(name, value, 0.0, 1.0, closed=False)


def check_positive(name: str, value: object) -> None:
    """Refuse anything but a finite number above 0."""
    check_number(name, value, 0.0, math.inf, closed=False)


def check_count(name: str, value: object, *, least: int = 0) -> None:
    """Refuse anything but a whole number of at least ``least``."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidSetting(
            f"{name} is {value!r}",
            f"it must be a whole number of at least {least}",
            f"pass another {name}",
        )


def check_one_of(name: str, value: object, allowed: Iterable[str]) -> None:
    """Refuse anything but one of the allowed words."""
    allowed = list(allowed)
    if value not in allowed:
        raise InvalidSetting(
            f"{name} is {value!r}",
            f"it must be one of {', '.join(map(repr, allowed))}",
            "pass one of these",
        )


def describe(part: object) -> dict[str, Any]:
    """A policy or an oracle as JSON: its class's name and its fields, nested parts included.

    Example:
        >>> from imabo import policies
        >>> describe(policies.UCBAIR(beta=0.4))
        {'type': 'UCBAIR', 'beta': 0.4}
    """
    if not dataclasses.is_dataclass(part) or isinstance(part, type):
        raise InvalidSetting(
            f"{part!r} cannot be stored with a study",
            "a policy or an oracle is a frozen dataclass whose fields are JSON-safe",
            "make it one, or pass one from imabo.policies or imabo.oracles",
        )
    written: dict[str, Any] = {"type": type(part).__name__}
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        written[field.name] = describe(value) if dataclasses.is_dataclass(value) else value
    return written


def restore(description: Mapping[str, Any], classes: Mapping[str, type[T]], argument: str) -> T:
    """The policy or oracle that ``describe`` wrote down; ``argument`` is what Study calls it."""
    fields = dict(description)
    name = fields.pop("type", None)
    if name not in classes:
        raise InvalidSetting(
            f"the study's {argument} is a {name!r}",
            f"imabo itself knows {', '.join(sorted(classes))}",
            f"pass your own with Study.open(..., {argument}=...)",
        )
    for key, value in fields.items():
        if isinstance(value, Mapping) and "type" in value:
            fields[key] = restore(value, classes, argument)
    try:
        return classes[name](**fields)
    except TypeError as error:
        raise InvalidSetting(
            f"the study's {argument} is {dict(description)!r}",
            str(error),
            "check it against the version of imabo that wrote it",
        ) from error
