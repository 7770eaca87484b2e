"""A space as a small table for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from imabo.markup import table
from imabo.space.base import Parameter
from imabo.space.choices import Choice
from imabo.space.scalars import Scalar


def space_html(
    parameters: Mapping[str, Parameter], forbid: Iterable[Mapping[str, tuple[Scalar, ...]]]
) -> str:
    """The parameters, a row each, and what is forbidden."""
    rows = []
    for name, parameter in parameters.items():
        places, named = parameter.arguments()
        is_choice = isinstance(parameter, Choice)
        values = (", " if is_choice else " to ").join(map(str, places))
        words = {"log": "logarithmic", "ordered": "in order", "step": f"step {named.get('step')}"}
        extras = [words[key] for key in named if key in words]
        when = " and ".join(f"{other} is {_either(v)}" for other, v in parameter.when.items())
        kind = type(parameter).__name__
        rows.append([name, kind, "; ".join([values, *extras]), when or "always"])
    text = table("space", ["parameter", "kind", "values", "active when"], rows)
    never = [[" and ".join(f"{n} is {_either(v)}" for n, v in clause.items())] for clause in forbid]
    return text + (table("never", [], never) if never else "")


def _either(values: Iterable[Scalar]) -> str:
    return " or ".join(map(str, values))
