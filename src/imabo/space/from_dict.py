"""A space from plain JSON-safe values, with a precise message for malformed input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from imabo.errors import InvalidSpace
from imabo.space.base import Parameter, parameter_name
from imabo.space.choices import Choice
from imabo.space.floats import Float
from imabo.space.ints import Int
from imabo.space.scalars import show

_SETTINGS = {
    "float": ({"low", "high"}, {"log", "step", "when"}),
    "int": ({"low", "high"}, {"log", "step", "when"}),
    "choice": ({"values"}, {"ordered", "when"}),
}


def convert(data: object) -> tuple[dict[str, Parameter], list[Any]]:
    """Read what `Space.to_dict` wrote; the clauses are checked by the space itself."""
    if not isinstance(data, Mapping):
        raise _malformed("the space", data, "it has to be an object with the key 'parameters'")
    _check_keys("the space", data, {"parameters"}, {"forbid"})
    entries, forbid = data["parameters"], data.get("forbid", [])
    for key, given in (("'parameters'", entries), ("'forbid'", forbid)):
        if not isinstance(given, list | tuple):
            raise _malformed(key, given, "it has to be a list of objects")
    parameters: dict[str, Parameter] = {}
    for number, entry in enumerate(entries):
        name, parameter = _read_parameter(f"parameters[{number}]", entry)
        if name in parameters:
            raise InvalidSpace(
                f"parameters[{number}] is named {name!r} like one before it",
                "a name stands for one parameter",
                "rename one of the two",
            )
        parameters[name] = parameter
    return parameters, list(forbid)


def _read_parameter(where: str, entry: object) -> tuple[str, Parameter]:
    if not isinstance(entry, Mapping):
        raise _malformed(where, entry, "it has to be an object")
    kind = entry.get("type")
    if not isinstance(kind, str) or kind not in _SETTINGS:
        raise InvalidSpace(
            f"{where} has the type {show(kind)}",
            "there are the types 'float', 'int' and 'choice'",
            "set 'type' to one of them",
        )
    required, optional = _SETTINGS[kind]
    _check_keys(where, entry, {"name", "type"} | required, optional)
    name = parameter_name(entry["name"])
    settings = {key: value for key, value in entry.items() if key not in ("name", "type")}
    try:
        if kind != "choice":
            return name, Float(**settings) if kind == "float" else Int(**settings)
        values = settings.pop("values")
        if not isinstance(values, list | tuple):
            raise _malformed(f"{where}['values']", values, "it has to be a list")
        return name, Choice(*values, **settings)
    except InvalidSpace as error:
        raise InvalidSpace(f"{where} ({name!r}): {error.what}", error.why, error.fix) from None


def _check_keys(
    where: str, data: Mapping[Any, Any], required: set[str], optional: set[str]
) -> None:
    for key in sorted(required):
        if key not in data:
            raise InvalidSpace(f"{where} has no {key!r}", "it is required", f"add {key!r}")
    unknown = [key for key in data if not isinstance(key, str) or key not in required | optional]
    if unknown:
        raise InvalidSpace(
            f"{where} has the key {min(map(show, unknown))}",
            f"it may have {', '.join(sorted(required | optional))}",
            "remove the key or correct its spelling",
        )


def _malformed(where: str, value: object, why: str) -> InvalidSpace:
    return InvalidSpace(f"{where} is {show(value)}", why, "write it the way to_dict() does")
