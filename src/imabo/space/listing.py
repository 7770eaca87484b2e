"""Every allowed configuration of a finite space, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from imabo.space.conditions import Requirement, matches
from imabo.space.scalars import Config, Scalar
from imabo.space.validation import Plan


def walk(
    plan: Plan, names: tuple[str, ...], clauses: Sequence[tuple[Requirement, ...]]
) -> Iterator[Config]:
    """Yield each allowed configuration once, depth first, without holding the product in memory.

    Args:
        plan: The parameters, parents before children.
        names: The names in declared order.
        clauses: The forbidden combinations.
    """
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
