"""Exact counts and exact draws under conditions and forbidden combinations.

Values that no condition and no clause tells apart are one class, with a multiplicity and a P0
mass. Parameters are decided one after the other, class by class; whatever falls apart into
independent parts is then solved part by part, and equal parts are solved once. The cost follows
how entangled the conditions and clauses are, not the number of configurations.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from imabo.space.base import Parameter
from imabo.space.conditions import Requirement
from imabo.space.scalars import Scalar, value_key

Count: TypeAlias = int | None  # None: infinitely many
Part: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]  # undecided parameters, live clauses

MOST_STEPS = 50_000
INACTIVE = -1


class TooEntangled(Exception):
    """The clauses and conditions are too entangled to count within the bound."""


@dataclass(frozen=True, slots=True)
class ValueClass:
    """Values of one parameter that every condition and every clause treats alike.

    Attributes:
        values: The values, or None for "all that are not mentioned anywhere".
        count: How many there are (None: infinitely many).
        mass: Their share of P0.
    """

    values: tuple[Scalar, ...] | None
    count: Count
    mass: float


def total(counts: Iterable[Count]) -> Count:
    """Add counts, where None stands for infinity.

    Example:
        >>> total([2, 3]), total([2, None])
        (5, None)
    """
    result = 0
    for count in counts:
        if count is None:
            return None
        result += count
    return result


def product(counts: Iterable[Count]) -> Count:
    """Multiply counts, where None stands for infinity and zero times infinity is zero.

    Example:
        >>> product([2, 3]), product([2, None]), product([None, 0])
        (6, None, 0)
    """
    factors = list(counts)
    if 0 in factors:
        return 0
    return None if None in factors else math.prod(f for f in factors if f is not None)


class Counter:
    """Counts and draws the allowed configurations of a space.

    Args:
        order: Names, parents before children.
        parameters: The parameters by name.
        conditions: For each name, what its parents have to be.
        clauses: The forbidden combinations.
    """

    def __init__(
        self,
        order: Sequence[str],
        parameters: Mapping[str, Parameter],
        conditions: Mapping[str, tuple[Requirement, ...]],
        clauses: Sequence[tuple[Requirement, ...]],
    ) -> None:
        rank = {name: i for i, name in enumerate(order)}
        self._parameters = [parameters[name] for name in order]
        sets: list[list[frozenset[Hashable]]] = [[] for _ in order]
        for requirements in [*conditions.values(), *clauses]:
            for name, keys in requirements:
                sets[rank[name]].append(keys)
        self._classes: list[list[ValueClass]] = []
        class_of: list[dict[Hashable, int]] = []
        for parameter, mentioned in zip(self._parameters, sets, strict=True):
            classes, index = _classes(parameter, mentioned)
            self._classes.append(classes)
            class_of.append(index)

        def ranked(requirements: tuple[Requirement, ...]) -> dict[int, frozenset[int]]:
            return {
                rank[name]: frozenset(class_of[rank[name]][key] for key in keys)
                for name, keys in requirements
            }

        self._parents = [ranked(conditions[name]) for name in order]
        self._clauses = [ranked(clause) for clause in clauses]
        self._chosen: dict[int, int] = {}
        self._solved: dict[Hashable, tuple[Count, float]] = {}
        self._parts = self._split(tuple(range(len(order))), tuple(range(len(clauses))))

    def count(self) -> Count:
        """Return the number of allowed configurations (None: infinitely many).

        Raises:
            TooEntangled: Past the bound on the number of steps.
        """
        try:
            return product([self._solve(part)[0] for part in self._parts])
        except RecursionError:
            raise TooEntangled from None
        finally:
            self._chosen.clear()

    def sample(self, rng: np.random.Generator) -> list[float]:
        """Draw unit coordinates, in the given order of names, from P0 given what is allowed."""
        units: list[float] = rng.random(len(self._parameters)).tolist()
        waiting = list(self._parts)
        try:
            while waiting:
                part = waiting.pop()
                options = list(self._branches(part))
                masses = np.array([mass for _, _, mass, _ in options])
                if masses.sum() > 0:
                    pick = int(rng.choice(len(options), p=masses / masses.sum()))
                else:  # allowed values without P0 mass: any that exist will do
                    pick = next(i for i, option in enumerate(options) if option[1] != 0)
                chosen, _, _, subparts = options[pick]
                first = part[0][0]
                self._chosen[first] = chosen
                if chosen != INACTIVE:
                    units[first] = self._draw(first, self._classes[first][chosen], rng)
                waiting.extend(subparts)
        except RecursionError:
            raise TooEntangled from None
        finally:
            self._chosen.clear()
        return units

    def _solve(self, part: Part) -> tuple[Count, float]:
        undecided, live = part
        holds = tuple(self._active(i) for i in undecided)
        key = (undecided, holds, live)
        if key not in self._solved:
            if len(self._solved) >= MOST_STEPS:
                raise TooEntangled
            counts: list[Count] = []
            masses = 0.0
            for _, count, mass, _ in self._branches(part):
                counts.append(count)
                masses += mass
            self._solved[key] = (total(counts), masses)
        return self._solved[key]

    def _branches(self, part: Part) -> Iterable[tuple[int, Count, float, list[Part]]]:
        """Decide the first parameter of a part each way; its parents are all decided."""
        undecided, live = part
        first, rest = undecided[0], undecided[1:]
        active = self._active(first)
        for chosen in range(len(self._classes[first])) if active else (INACTIVE,):
            alive = []
            for number in live:
                allowed = self._clauses[number].get(first)
                if allowed is None:
                    alive.append(number)
                elif chosen in allowed:
                    if not any(i in rest for i in self._clauses[number]):
                        break  # the clause matches: nothing on this branch is allowed
                    alive.append(number)
            else:
                self._chosen[first] = chosen
                subparts = self._split(rest, tuple(alive))
                solved = [self._solve(subpart) for subpart in subparts]
                del self._chosen[first]
                here = self._classes[first][chosen] if active else None
                count = product([here.count if here else 1, *(c for c, _ in solved)])
                mass = math.prod((m for _, m in solved), start=here.mass if here else 1.0)
                yield chosen, count, mass, subparts

    def _active(self, i: int) -> bool:
        chosen = self._chosen
        return all(chosen[p] in ok for p, ok in self._parents[i].items() if p in chosen)

    def _split(self, undecided: tuple[int, ...], live: tuple[int, ...]) -> list[Part]:
        """Split what is undecided into parts that no condition and no live clause connects."""
        leader = {i: i for i in undecided}

        def find(i: int) -> int:
            while leader[i] != i:
                leader[i] = leader[leader[i]]
                i = leader[i]
            return i

        for i in undecided:
            for parent in self._parents[i]:
                if parent in leader:
                    leader[find(i)] = find(parent)
        for number in live:
            members = [i for i in self._clauses[number] if i in leader]
            for i in members[1:]:
                leader[find(i)] = find(members[0])
        parts: dict[int, tuple[list[int], list[int]]] = {}
        for i in undecided:
            parts.setdefault(find(i), ([], []))[0].append(i)
        for number in live:
            member = next(i for i in self._clauses[number] if i in leader)
            parts[find(member)][1].append(number)
        return [(tuple(members), tuple(numbers)) for members, numbers in parts.values()]

    def _draw(self, i: int, chosen: ValueClass, rng: np.random.Generator) -> float:
        """Draw a unit coordinate from P0 restricted to one class of values."""
        parameter = self._parameters[i]
        if chosen.values is not None:
            widths = np.array([_mass(parameter, value) for value in chosen.values])
            if widths.sum() > 0:
                pick = int(rng.choice(len(widths), p=widths / widths.sum()))
            else:
                pick = int(rng.integers(len(widths)))
            return parameter.to_unit(chosen.values[pick])
        taken = [v for group in self._classes[i] if group.values is not None for v in group.values]
        keys = {value_key(value) for value in taken}
        edges = [0.0]
        for lo, hi in sorted(_cell(parameter, value) for value in taken):
            edges += [lo, hi]
        gaps = np.array([*edges, 1.0]).reshape(-1, 2)
        widths = np.maximum(gaps[:, 1] - gaps[:, 0], 0.0)
        for attempt in range(100):
            gap = int(rng.choice(len(gaps), p=widths / widths.sum()))
            # The last attempts aim at the middle, away from edges that may round to a neighbour.
            share = rng.random() if attempt < 90 else 0.5
            u = float(gaps[gap, 0] + share * widths[gap])
            if value_key(parameter.from_unit(u)) not in keys:
                break
        return u


def _cell(parameter: Parameter, value: Any) -> tuple[float, float]:
    lo, hi = parameter.cells(np.array([parameter.to_unit(value)]))
    return float(lo[0]), float(hi[0])


def _mass(parameter: Parameter, value: Any) -> float:
    lo, hi = _cell(parameter, value)
    return hi - lo


def _classes(
    parameter: Parameter, mentioned: list[frozenset[Hashable]]
) -> tuple[list[ValueClass], dict[Hashable, int]]:
    """Group a parameter's values by the sets that mention them; return groups and their index."""
    groups: dict[tuple[bool, ...], list[Hashable]] = {}
    for key in {key: None for keys in mentioned for key in keys}:
        groups.setdefault(tuple(key in keys for keys in mentioned), []).append(key)
    classes: list[ValueClass] = []
    index: dict[Hashable, int] = {}
    rest, mass_left = parameter.n_values, 1.0
    for keys in groups.values():
        # A key is the value itself, except that bools carry a mark.
        values: tuple[Any, ...] = tuple(k[1] if isinstance(k, tuple) else k for k in keys)
        mass = sum(_mass(parameter, value) for value in values)
        index.update(dict.fromkeys(keys, len(classes)))
        classes.append(ValueClass(values, len(values), mass))
        rest = None if rest is None else rest - len(values)
        mass_left -= mass
    if rest != 0:
        classes.append(ValueClass(None, rest, max(mass_left, 0.0)))
    return classes, index
