"""What a space is declared with: parameters, conditions and forbidden combinations, checked."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from imabo.errors import InvalidConfig, InvalidSpace
from imabo.space.base import Parameter, listed_values, parameter_name
from imabo.space.scalars import Scalar, show, value_key
from imabo.spelling import closest

# A requirement: this parameter is active and the key of its value is in this set.
Requirement: TypeAlias = tuple[str, frozenset[Hashable]]
Clause: TypeAlias = dict[str, tuple[Scalar, ...]]

_ABSENT = object()


def matches(config: Mapping[str, Scalar], requirements: Iterable[Requirement]) -> bool:
    """Say whether every requirement holds; a parameter that is not active fulfils none."""
    for name, keys in requirements:
        value: Any = config.get(name, _ABSENT)
        if value is True or value is False:
            value = value_key(value)
        if value not in keys:
            return False
    return True


def requirements_of(listed: Mapping[str, tuple[Scalar, ...]]) -> tuple[Requirement, ...]:
    """Turn lists of values into sets of keys, for fast checks."""
    return tuple((name, frozenset(map(value_key, values))) for name, values in listed.items())


def collect(
    parameters: Mapping[str, Parameter] | None, named: Mapping[str, Parameter]
) -> dict[str, Parameter]:
    """Merge the two ways of naming parameters and check that they are parameters."""
    if parameters is not None and not isinstance(parameters, Mapping):
        raise InvalidSpace(
            f"Space got {show(parameters)}",
            "the parameters are a mapping from names to Float, Int or Choice",
            "pass a dict or keyword arguments",
        )
    collected: dict[str, Parameter] = {}
    for name, parameter in [*(parameters or {}).items(), *named.items()]:
        clean = parameter_name(name)
        if clean in collected:
            raise InvalidSpace(
                f"parameter {clean!r} is declared twice",
                "a name stands for one parameter",
                "remove one of the two",
            )
        if not isinstance(parameter, Parameter):
            raise InvalidSpace(
                f"parameter {clean!r} is {show(parameter)}",
                "a parameter is a Float, an Int or a Choice",
                f"write for instance Choice({show(parameter)})",
            )
        collected[clean] = parameter
    if not collected:
        raise InvalidSpace(
            "the space has no parameters", "there is nothing to tune", "declare at least one"
        )
    return collected


def resolve_conditions(parameters: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """Check every ``when`` against its parents and write its values as the parents do."""
    resolved = {}
    for name, parameter in parameters.items():
        if not parameter.when:
            resolved[name] = parameter
            continue
        when = {}
        for parent, values in parameter.when.items():
            if parent not in parameters:
                raise InvalidSpace(
                    f"parameter {name!r} is active when {parent!r} has a value",
                    f"the space has no parameter {parent!r}",
                    _known(parent, parameters),
                )
            if parameters[parent].n_values is None:
                raise InvalidSpace(
                    f"parameter {name!r} is active when {parent!r} has a value",
                    f"{parent!r} is a continuum, so it almost never equals a listed value",
                    "give the parent a step, or make it an Int or a Choice",
                )
            when[parent] = _canonical(
                f"parameter {name!r} with when[{parent!r}]", parameters[parent], values
            )
        resolved[name] = parameter.with_when(when)
    return resolved


def resolve_forbid(parameters: Mapping[str, Parameter], forbid: object) -> tuple[Clause, ...]:
    """Check the forbidden combinations and write their values as the parameters do."""
    if not isinstance(forbid, Iterable) or isinstance(forbid, Mapping | str | bytes | np.ndarray):
        raise InvalidSpace(
            f"forbid is {show(forbid)}",
            "it has to be a list of mappings from names to values",
            'write for instance forbid=[{"model": "small", "top_k": [9, 10]}]',
        )
    return tuple(_clause(parameters, number, given) for number, given in enumerate(forbid))


def _known(name: object, parameters: Mapping[str, Parameter]) -> str:
    close = closest(name, parameters)
    return f"name one of {show(list(parameters))}" if close is None else f"write {close!r}"


def _clause(parameters: Mapping[str, Parameter], number: int, given: object) -> Clause:
    if not isinstance(given, Mapping) or not given:
        raise InvalidSpace(
            f"forbid[{number}] is {show(given)}",
            "a clause is a mapping of at least one name to a value or values",
            'write for instance {"model": "small", "top_k": [9, 10]}',
        )
    for name in given:
        if not isinstance(name, str) or name not in parameters:
            raise InvalidSpace(
                f"forbid[{number}] names {show(name)}",
                "the space has no such parameter",
                _known(name, parameters),
            )
    return {
        name: _canonical(
            f"forbid[{number}][{name!r}]",
            parameter,
            listed_values(f"forbid[{number}][{name!r}]", given[name]),
        )
        for name, parameter in parameters.items()
        if name in given
    }


def _canonical(where: str, parameter: Parameter, values: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    distinct: dict[Hashable, Scalar] = {}
    for value in values:
        try:
            clean = parameter.validate(value)
        except InvalidConfig as error:
            raise InvalidSpace(
                f"{where} lists {show(value)}, which that parameter cannot take",
                error.why,
                error.fix,
            ) from None
        distinct.setdefault(value_key(clean), clean)
    return tuple(distinct.values())


def parents_first(parameters: Mapping[str, Parameter]) -> tuple[str, ...]:
    """Order the names so that parents come before children, otherwise as declared."""
    order: dict[str, None] = {}
    for start in parameters:
        # A path of names being visited: meeting one of them again is a cycle.
        path: dict[str, None] = {}
        stack = [start]
        while stack:
            name = stack[-1]
            if name in order:
                stack.pop()
                continue
            path[name] = None
            waiting = [parent for parent in parameters[name].when if parent not in order]
            if not waiting:
                order[name] = None
                path.pop(name)
                stack.pop()
            elif waiting[0] in path:
                names = list(path)
                loop = [*names[names.index(waiting[0]) :], waiting[0]]
                raise InvalidSpace(
                    f"the conditions go round in a circle: {' -> '.join(map(repr, loop))}",
                    "none of these parameters could ever be decided first",
                    "remove one of the conditions",
                )
            else:
                stack.append(waiting[0])
    return tuple(order)
