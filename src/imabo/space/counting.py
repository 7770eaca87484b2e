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

from imabo.space.base import Floats, Parameter
from imabo.space.conditions import Requirement
from imabo.space.scalars import value_key

Count: TypeAlias = int | None  # None: infinitely many
Part: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]  # undecided parameters, live clauses

MOST_STEPS = 20_000
INACTIVE = -1


class TooEntangled(Exception):
    """The clauses and conditions are too entangled to count within the bound."""


@dataclass(frozen=True, slots=True, eq=False)
class ValueClass:
    """Values of one parameter that every condition and every clause treats alike."""

    count: Count
    mass: float  # their share of P0
    starts: Floats  # lower ends of the unit intervals that they fill
    widths: Floats
    taken: frozenset[Hashable] | None = None  # of "all that are not mentioned": those that are

    def draw(self, parameter: Parameter, rng: np.random.Generator) -> float:
        """Draw a unit coordinate from P0 restricted to this class."""
        for attempt in range(100):
            i = _pick(self.widths, rng)
            if self.taken is None:  # one value fills the interval, so its middle will do
                return float(self.starts[i] + 0.5 * self.widths[i])
            # The last attempts aim at the middle, away from edges that may round to a neighbour.
            share = rng.random() if attempt < 90 else 0.5
            u = float(self.starts[i] + share * self.widths[i])
            if value_key(parameter.from_unit(u)) not in self.taken:
                break
        return u


def _pick(weights: Floats, rng: np.random.Generator) -> int:
    """Draw an index in proportion to the weights; all zero means all alike."""
    edges = np.cumsum(weights if weights.any() else np.ones_like(weights))
    i = int(np.searchsorted(edges, rng.random() * edges[-1], side="right"))
    return min(i, len(edges) - 1)


def total(counts: Iterable[Count]) -> Count:
    """Add counts, where None stands for infinity."""
    result = 0
    for count in counts:
        if count is None:
            return None
        result += count
    return result


def product(counts: Iterable[Count]) -> Count:
    """Multiply counts, where None stands for infinity and zero times infinity is zero."""
    factors = list(counts)
    if 0 in factors:
        return 0
    return None if None in factors else math.prod(f for f in factors if f is not None)


class Counter:
    """Counts and draws the allowed configurations of a space; ``order`` has parents first."""

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

    def count(self) -> tuple[Count, float]:
        """Return the number of allowed configurations (None: infinite) and their share of P0."""
        try:
            solved = [self._solve(part) for part in self._parts]
            return product([count for count, _ in solved]), math.prod(mass for _, mass in solved)
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
                # Only branches that hold something: P0 mass can be 0 where a count is not.
                options = [option for option in self._branches(part) if option[1] != 0]
                pick = _pick(np.array([mass for _, _, mass, _ in options]), rng)
                chosen, _, _, subparts = options[pick]
                first = part[0][0]
                self._chosen[first] = chosen
                if chosen != INACTIVE:
                    units[first] = self._classes[first][chosen].draw(self._parameters[first], rng)
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


def _classes(
    parameter: Parameter, mentioned: list[frozenset[Hashable]]
) -> tuple[list[ValueClass], dict[Hashable, int]]:
    """Group a parameter's values by the sets that mention them; return groups and their index."""
    groups: dict[tuple[bool, ...], list[Hashable]] = {}
    for key in {key: None for keys in mentioned for key in keys}:
        groups.setdefault(tuple(key in keys for keys in mentioned), []).append(key)
    classes: list[ValueClass] = []
    index: dict[Hashable, int] = {}
    edges: list[Floats] = []
    for keys in groups.values():
        # A key is the value itself, except that bools carry a mark.
        values: list[Any] = [k[1] if isinstance(k, tuple) else k for k in keys]
        lower, upper = parameter.cells(np.array([parameter.to_unit(value) for value in values]))
        edges += [lower, upper]
        index.update(dict.fromkeys(keys, len(classes)))
        width = upper - lower
        classes.append(ValueClass(len(values), float(width.sum()), lower, width))
    rest = None if parameter.n_values is None else parameter.n_values - len(index)
    if rest != 0:
        # What lies between the cells that are mentioned; sorted edges pair up into the gaps.
        gaps = np.sort(np.concatenate([*edges, [0.0, 1.0]])).reshape(-1, 2)
        width = gaps[:, 1] - gaps[:, 0]
        classes.append(ValueClass(rest, float(width.sum()), gaps[:, 0], width, frozenset(index)))
    return classes, index
