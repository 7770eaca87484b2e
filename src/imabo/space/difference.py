"""What sets two spaces apart, in words, a line for each difference."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from imabo.space.scalars import show

_ENDS = ("low", "high")


def space_difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """A line for each thing that another space has, lacks or has otherwise.

    Args:
        old: The space as ``Space.to_dict`` writes it.
        new: The other one.

    Example:
        >>> from imabo import Choice, Float, Space
        >>> old = Space(model=Choice("small", "large"), temperature=Float(0.0, 1.0))
        >>> new = Space(model=Choice("small", "huge"), top_p=Float(0.5, 1.0))
        >>> for line in space_difference(old.to_dict(), new.to_dict()):
        ...     print(line)
        parameter 'model': the choice 'huge' is added
        parameter 'model': the choice 'large' is removed
        parameter 'temperature' is removed
        parameter 'top_p' is added: float, 0.5 to 1.0
    """
    before = {one["name"]: one for one in old["parameters"]}
    after = {one["name"]: one for one in new["parameters"]}
    lines: list[str] = []
    for name, parameter in before.items():
        if name not in after:
            lines.append(f"parameter {show(name)} is removed")
        elif _text(after[name]) != _text(parameter):
            said = _parameter_difference(parameter, after[name])
            lines += [f"parameter {show(name)}: {line}" for line in said]
    for name, parameter in after.items():
        if name not in before:
            lines.append(f"parameter {show(name)} is added: {_in_words(parameter)}")
    if not lines and list(before) != list(after):
        lines.append(f"the parameters have another order: {', '.join(map(show, after))}")
    lines += _clause_difference(old.get("forbid") or [], new.get("forbid") or [])
    return lines


def _parameter_difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    if old["type"] != new["type"]:
        return [f"{_in_words(old)} becomes {_in_words(new)}"]
    lines: list[str] = []
    if old["type"] == "choice" and _text(old["values"]) != _text(new["values"]):
        added = [value for value in new["values"] if not _has(old["values"], value)]
        removed = [value for value in old["values"] if not _has(new["values"], value)]
        lines += [f"the choice {show(value)} is added" for value in added]
        lines += [f"the choice {show(value)} is removed" for value in removed]
        if not added and not removed:
            lines.append(f"its choices have another order: {', '.join(map(show, new['values']))}")
    if any(old.get(end) != new.get(end) for end in _ENDS):
        lines.append(f"its range {_range(old)} becomes {_range(new)}")
    for setting in sorted({*old, *new} - {"name", "type", "values", *_ENDS}):
        if old.get(setting) != new.get(setting):
            lines.append(f"{setting} {show(old.get(setting))} becomes {show(new.get(setting))}")
    return lines or ["it is written otherwise"]


def _text(value: object) -> str:
    # True is 1 for Python, but another choice.
    return json.dumps(value, sort_keys=True)


def _has(values: list[Any], value: object) -> bool:
    return any(type(one) is type(value) and one == value for one in values)


def _clause_difference(old: list[Any], new: list[Any]) -> list[str]:
    lines = [f"forbidden now: {show(clause)}" for clause in new if clause not in old]
    return lines + [f"no longer forbidden: {show(clause)}" for clause in old if clause not in new]


def _in_words(parameter: Mapping[str, Any]) -> str:
    if parameter["type"] == "choice":
        return f"choice, {', '.join(map(show, parameter['values']))}"
    return f"{parameter['type']}, {_range(parameter)}"


def _range(parameter: Mapping[str, Any]) -> str:
    return f"{show(parameter.get('low'))} to {show(parameter.get('high'))}"
