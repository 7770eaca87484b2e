"""The configurations of a space: what is wrong with one, and all of them in turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from imabo.errors import InvalidConfig
from imabo.space.base import Parameter
from imabo.space.conditions import Requirement, matches
from imabo.space.scalars import Config, Scalar, show
from imabo.spelling import closest

# Column, name, parameter and conditions, parents before children.
Plan: TypeAlias = list[tuple[int, str, Parameter, tuple[Requirement, ...]]]


def canonical_config(config: object, plan: Plan, names: tuple[str, ...]) -> Config:
    """Return plain values of exactly the active parameters in declared order.

    `InvalidConfig` is of the first problem: unknown names, then the parameters in plan order.
    """
    if not isinstance(config, Mapping):
        raise InvalidConfig(
            f"the configuration is {show(config)}",
            f"a {type(config).__name__} does not map names to values",
            "pass a dict",
        )
    _check_names(config, names)
    clean: Config = {}
    for _, name, parameter, conditions in plan:
        if conditions and not matches(clean, conditions):
            if name in config:
                raise InvalidConfig(
                    f"parameter {name!r} was given {show(config[name])}",
                    f"it is not active here: it needs {show(dict(parameter.when), 200)}",
                    f"leave {name!r} out, or change the parameters that it depends on",
                )
            continue
        if name not in config:
            raise InvalidConfig(
                f"parameter {name!r} is missing",
                "every active parameter needs a value",
                f"add a value of {show(parameter, 200)}",
            )
        try:
            clean[name] = parameter.validate(config[name])
        except InvalidConfig as error:
            raise InvalidConfig(
                f"parameter {name!r} was given {show(config[name])}", error.why, error.fix
            ) from None
    return {name: clean[name] for name in names if name in clean}


def check_forbidden(
    config: Config,
    forbid: Iterable[Mapping[str, tuple[Scalar, ...]]],
    clauses: Iterable[tuple[Requirement, ...]],
) -> None:
    """Raise `InvalidConfig` naming the first clause that a canonical configuration matches."""
    for clause, requirements in zip(forbid, clauses, strict=True):
        if matches(config, requirements):
            raise InvalidConfig(
                f"the configuration {show(config, 200)} is forbidden",
                f"it matches the clause {show(clause, 200)}",
                "change one of the parameters that the clause names",
            )


def _check_names(config: Mapping[Any, Any], names: tuple[str, ...]) -> None:
    if all(map(names.__contains__, config)):
        return
    unknown = [name for name in config if not isinstance(name, str) or name not in names]
    known = f"use names among {show(list(names), 200)}"
    odd = sorted(show(name) for name in unknown if not isinstance(name, str))
    if odd:
        raise InvalidConfig(
            f"the configuration has the key {odd[0]}", "names of parameters are strings", known
        )
    name = min(unknown)
    close = closest(name, names)
    raise InvalidConfig(
        f"the configuration names {show(name)}",
        "the space has no such parameter",
        f"write {close!r}" if close else known,
    )


def walk(
    plan: Plan, names: tuple[str, ...], clauses: Sequence[tuple[Requirement, ...]]
) -> Iterator[Config]:
    """Yield each allowed configuration once, depth first, without holding the product in memory."""
    # A clause is settled as soon as the last of its parameters is decided.
    depth_of = {name: depth for depth, (_, name, _, _) in enumerate(plan)}
    settled: list[list[tuple[Requirement, ...]]] = [[] for _ in plan]
    for clause in clauses:
        settled[max(depth_of[name] for name, _ in clause)].append(clause)
    config: Config = {}
    open_values: list[Iterator[Scalar]] = []  # what is still to try at each depth
    while True:
        if len(open_values) == len(plan):
            yield {name: config[name] for name in names if name in config}
        else:
            _, _, parameter, conditions = plan[len(open_values)]
            active = not conditions or matches(config, conditions)
            open_values.append(parameter.values() if active else iter(()))
            if not active:
                continue
        while open_values and not _advance(config, plan, open_values, settled):
            open_values.pop()
        if not open_values:
            return


def _advance(
    config: Config,
    plan: Plan,
    open_values: list[Iterator[Scalar]],
    settled: list[list[tuple[Requirement, ...]]],
) -> bool:
    """Put the next allowed value at the deepest level; without one, clear that level."""
    depth = len(open_values) - 1
    name = plan[depth][1]
    for value in open_values[depth]:
        config[name] = value
        if not any(matches(config, clause) for clause in settled[depth]):
            return True
    config.pop(name, None)
    return False
