"""Settings of policies and oracles: checking them, and writing them down as JSON."""

from __future__ import annotations

import dataclasses
import json
import math
import numbers
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard, TypeVar

import numpy as np

from imabo.errors import InvalidSetting
from imabo.space.scalars import show

T = TypeVar("T")


def unfit(name: str, value: object, why: str, fix: str) -> InvalidSetting:
    """The refusal of a setting, with the value that it has."""
    return InvalidSetting(f"{name} is {show(value)}", why, fix)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is an int or a float, finite and not a bool.

    Example:
        >>> is_number(2), is_number(True), is_number(10**400)
        (True, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond the largest float
        return False


def real(value: object) -> float | None:
    """A finite number as a float, as rewards and signals are taken: NumPy's too, and True as 1.0.

    Example:
        >>> real(np.float32(0.5)), real(True), real("1"), real(float("nan"))
        (0.5, 1.0, None, None)
    """
    if not isinstance(value, numbers.Real | np.bool_):
        return None
    try:
        found = float(value)
    except OverflowError:  # an integer beyond the largest float
        return None
    return found if math.isfinite(found) else None


def check_number(name: str, value: object, low: float, high: float, *, closed: bool) -> None:
    """Refuse anything but a finite number in (low, high), or in [low, high] when closed."""
    if is_number(value):
        inside = low <= value <= high if closed else low < value < high
        if inside:
            return
    ends = f"[{low}, {high}]" if closed else f"({low}, {high})"
    raise unfit(name, value, f"it must be a number in {ends}", f"pass another {name}")


def check_fraction(name: str, value: object) -> None:
    """Refuse anything but a number strictly between 0 and 1."""
    check_number(name, value, 0.0, 1.0, closed=False)


def check_positive(name: str, value: object) -> None:
    """Refuse anything but a finite number above 0."""
    check_number(name, value, 0.0, math.inf, closed=False)


def check_count(name: str, value: object, *, least: int = 0) -> None:
    """Refuse anything but a whole number of at least ``least``."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        why = f"it must be a whole number of at least {least}"
        raise unfit(name, value, why, f"pass another {name}")


def check_flag(name: str, value: object) -> None:
    """Refuse anything but True and False."""
    if not isinstance(value, bool):
        raise unfit(name, value, "it must be True or False", "pass one")


def check_one_of(name: str, value: object, allowed: Iterable[str]) -> None:
    """Refuse anything but one of the allowed words."""
    allowed = list(allowed)
    if value not in allowed:
        why = f"it must be one of {', '.join(map(repr, allowed))}"
        raise unfit(name, value, why, "pass one of these")


def describe(part: object) -> dict[str, Any]:
    """A policy or an oracle as JSON: its class's name and its fields, nested parts included.

    Example:
        >>> from imabo import policies
        >>> describe(policies.UCBAIR(beta=0.4))
        {'type': 'UCBAIR', 'beta': 0.4}
    """
    if not dataclasses.is_dataclass(part) or isinstance(part, type):
        why = "a policy or an oracle is a frozen dataclass whose fields are JSON-safe"
        fix = "make it one, or pass one from imabo.policies or imabo.oracles"
        raise InvalidSetting(f"{part!r} cannot be stored with a study", why, fix)
    written: dict[str, Any] = {"type": type(part).__name__}
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        written[field.name] = describe(value) if dataclasses.is_dataclass(value) else value
    try:
        plain: dict[str, Any] = json.loads(json.dumps(written, allow_nan=False))
    except (TypeError, ValueError) as error:
        why = f"its fields must be JSON-safe ({error})"
        fix = "use numbers, texts, lists and dicts for its fields"
        raise InvalidSetting(f"{show(part)} cannot be stored with a study", why, fix) from error
    return plain


def restore(description: Mapping[str, Any], classes: Mapping[str, type[T]], argument: str) -> T:
    """The policy or oracle that ``describe`` wrote down; ``argument`` is what Study calls it."""
    fields = dict(description)
    name = fields.pop("type", None)
    if name not in classes:
        why = f"imabo itself knows {', '.join(sorted(classes))}"
        fix = f"pass your own with Study.open(..., {argument}=...)"
        raise InvalidSetting(f"the study's {argument} is a {name!r}", why, fix)
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
