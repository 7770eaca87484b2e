"""Putting arms into groups by their values of one parameter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from imabo.arms import Ints
from imabo.space import Choice, Config
from imabo.space.base import Parameter
from imabo.space.scalars import Scalar, value_key

RANGES: Final = 8  # that the values of a number are put into, at most
ENOUGH: Final = 3  # arms that a range has, on average
MOST_VALUES: Final = 24  # of a choice that are told apart
INACTIVE: Final = "not active"
OTHERS: Final = "others"


@dataclass(frozen=True, slots=True)
class Group:
    """Arms that have one value of a parameter, or values in one range.

    ``value`` is that value; ``low`` and ``high`` the ends of a range, as the arms have them. All
    are None where the parameter is not active, and for rare values of a long choice together.
    """

    label: str
    value: Scalar
    low: float | None
    high: float | None


@dataclass(frozen=True, eq=False)
class Grouping:
    """The groups of a parameter, and the group of each arm."""

    groups: list[Group]
    codes: Ints


def grouping_of(name: str, parameter: Parameter, configs: Sequence[Config]) -> Grouping:
    """Put configurations into groups by their value of a parameter.

    Each value of a choice is a group; of a choice of more than 24 values only those that were
    tried, and rare ones together. A number with more than
    eight different values gets ranges with about as many configurations each, three or more of
    them in a range and at most eight ranges.

    Example:
        >>> grouped = grouping_of("a", Choice("x", "y"), [{"a": "y"}, {}, {"a": "x"}])
        >>> [group.label for group in grouped.groups], grouped.codes.tolist()
        (['x', 'y', 'not active'], [1, 2, 0])
    """
    if isinstance(parameter, Choice):
        return _by_value([config.get(name, _ABSENT) for config in configs], parameter.choices)
    column = np.array([_number(config.get(name)) for config in configs], dtype=np.float64)
    present = np.isfinite(column)
    codes = np.full(len(configs), -1, dtype=np.int64)
    distinct = np.unique(column[present])
    if len(distinct) <= RANGES:
        codes[present] = np.searchsorted(distinct, column[present])
        return _with_inactive([_range(value, value) for value in distinct.tolist()], codes)
    n_ranges = min(max(int(present.sum()) // ENOUGH, 2), RANGES)
    edges = np.quantile(column[present], np.linspace(0.0, 1.0, n_ranges + 1)[1:-1])
    places = np.searchsorted(edges, column[present], side="left")
    used, codes[present] = np.unique(places, return_inverse=True)
    groups = []
    for code in range(len(used)):
        inside = column[codes == code]
        groups.append(_range(float(inside.min()), float(inside.max())))
    return _with_inactive(groups, codes)


def value_text(value: object, digits: int = 4) -> str:
    """A value of a configuration, for people: numbers short, texts as they are.

    Example:
        >>> [value_text(value) for value in (0.1 + 0.2, 12_345, None, True, "a b")]
        ['0.3', '12345', 'null', 'true', 'a b']
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.{digits}g}"
    return "null" if value is None else str(value)


class _Absent:
    """Stands for a parameter that an arm does not have; None is a value like any other."""


_ABSENT: Final = _Absent()


def _number(value: Scalar) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    return np.nan


def _plain(value: float) -> Scalar:
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _range(low: float, high: float) -> Group:
    first, last = (value_text(_plain(end), 3) for end in (low, high))
    if low == high:
        return Group(value_text(_plain(low)), _plain(low), low, high)
    return Group(f"{first} – {last}", None, low, high)


def _by_value(values: Sequence[Scalar | _Absent], choices: Sequence[Scalar]) -> Grouping:
    """Groups of listed values, in the order of the list; then values of earlier spaces."""
    listed = list(choices)
    known = {value_key(choice): i for i, choice in enumerate(listed)}
    codes = np.full(len(values), -1, dtype=np.int64)
    for row, value in enumerate(values):
        if isinstance(value, _Absent):
            continue
        key = value_key(value)
        if key not in known:
            known[key] = len(listed)
            listed.append(value)
        codes[row] = known[key]
    groups = [Group(value_text(value), value, None, None) for value in listed]
    if len(groups) > MOST_VALUES:
        counts = np.bincount(codes[codes >= 0], minlength=len(groups))
        used = int((counts > 0).sum())
        most = used if used <= MOST_VALUES else MOST_VALUES - 1
        kept = np.sort(np.argsort(-counts, kind="stable")[:most])
        places = np.full(len(groups), len(kept))
        places[kept] = np.arange(len(kept))
        codes[codes >= 0] = places[codes[codes >= 0]]
        groups = [groups[i] for i in kept]
        if used > most:
            groups.append(Group(OTHERS, None, None, None))
    return _with_inactive(groups, codes)


def _with_inactive(groups: list[Group], codes: Ints) -> Grouping:
    missing = codes < 0
    if missing.any():
        codes[missing] = len(groups)
        groups = [*groups, Group(INACTIVE, None, None, None)]
    return Grouping(groups, codes)
