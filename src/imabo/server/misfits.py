"""What is said of a body or a query that does not fit its model: where, why, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError

from imabo.errors import ImaboError
from imabo.server.problems import invalid_request
from imabo.space.scalars import show
from imabo.spelling import closest

_LONGEST: Final = 200  # characters of a path; what is sent may be anything
_LONGEST_WHY: Final = 300
_MOST: Final = 20  # fields that are named

Place = Sequence[int | str]


def misfit(model: type[BaseModel], error: ValidationError, where: str) -> ImaboError:
    """The refusal of a value; ``where`` names the whole, as in "the body".

    A field that nobody knows is told first: where another is missing, it is mostly the same one.
    """
    found = error.errors(include_url=False)
    first = next((one for one in found if one["type"] == "extra_forbidden"), found[0])
    place: Place = first["loc"]
    ours = first.get("ctx", {}).get("error")
    if isinstance(ours, ImaboError):
        return invalid_request(ours.what, ours.why, ours.fix)  # a model has said why already
    if first["type"] == "extra_forbidden":
        return _unknown(model, place, first["input"], where)
    if first["type"] == "missing":
        name = str(place[-1])
        what = f"{_at(where, place[:-1])} has no {name}"
        return invalid_request(what, "it is needed", f"add {name!r} to it")
    why = first["msg"][:1].lower() + first["msg"][1:]
    what = f"{_at(where, place)} is {show(first['input'])}"
    fix = f"send another {_path(place)}" if place else f"send {where} in the form of this route"
    return invalid_request(what, why[:_LONGEST_WHY], fix)


def _unknown(model: type[BaseModel], place: Place, value: object, where: str) -> ImaboError:
    name, fields = str(place[-1]), _fields(model, place[:-1])
    close = closest(name, fields)
    what = f"{_at(where, place)} is {show(value)}"
    more = f" and {len(fields) - _MOST} more" if len(fields) > _MOST else ""
    why = f"there is no such field, only {', '.join(fields[:_MOST])}{more}"
    if not fields:
        why = "nothing is read here"
    return invalid_request(what, why, f"write {close!r}" if close else f"leave {name[:50]!r} out")


def _fields(model: type[BaseModel], place: Place) -> list[str]:
    """The names of the fields that the model has at a place."""
    models = [model]
    for step in place:
        inner = [
            one
            for known in models
            if step in known.model_fields
            for one in _models(known.model_fields[str(step)].annotation)
        ]
        if inner:
            models = inner
        elif isinstance(step, str):  # which of several models it is: its name or its kind
            models = [one for one in models if _is_named(one, step)] or models
    return list(dict.fromkeys(name for one in models for name in one.model_fields))


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models within an annotation, such as those of the items of a list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


def _is_named(model: type[BaseModel], name: str) -> bool:
    kind = model.model_fields.get("type")
    return name == model.__name__ or (kind is not None and name in get_args(kind.annotation))


def _at(where: str, place: Place) -> str:
    return f"{where}'s {_path(place)}" if place else where


def _path(place: Place) -> str:
    return ".".join(map(str, place))[:_LONGEST]
