"""Putting arms into groups by their values of one parameter."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Final

import numpy as np

from imabo.arms import Floats, Ints
from imabo.space import Choice, Config, Space
from imabo.space.base import Parameter
from imabo.space.scalars import Scalar, value_key

RANGES: Final = 8  # that the values of a number are put into, at most
ENOUGH: Final = 3  # arms that a range has, on average
MOST_VALUES: Final = 24  # of a choice that are told apart
INACTIVE: Final = "not active"
OTHERS: Final = "others"


class Absent:
    """Stands for a parameter that an arm does not have; None is a value like any other."""


ABSENT: Final = Absent()
Value = Scalar | Absent


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


class Groupings:
    """The arms' values of each parameter of a space and their groups, found when looked at.

    They depend on nothing else, so they stay the same until an arm comes in or the space changes.
    """

    def __init__(self, space: Space, configs: Sequence[Config]) -> None:
        self._space = space
        self._configs = configs
        self._found: dict[str, Grouping] = {}

    @cached_property
    def values(self) -> dict[str, Sequence[Value]]:
        """The values of each parameter in columns."""
        return values_of(self._space.names, self._configs)

    @cached_property
    def varying(self) -> frozenset[str]:
        """The parameters of which the arms that have them have different values."""
        return frozenset(name for name, column in self.values.items() if _varies(column))

    def of(self, name: str) -> Grouping:
        """The groups of a parameter."""
        if name not in self._found:
            self._found[name] = grouping_by(self._space.parameters[name], self.values[name])
        return self._found[name]


def _varies(values: Sequence[Value]) -> bool:
    present = (value_key(value) for value in values if not isinstance(value, Absent))
    first = next(present, None)
    return any(value != first for value in present)


def grouping_by(parameter: Parameter, values: Sequence[Value]) -> Grouping:
    """Put configurations into groups by their values of a parameter.

    Each value of a choice is a group; of a choice of more than 24 values only those that were
    tried, and rare ones together. A number with more than eight different values gets ranges with
    about as many configurations each, three or more of them in a range and at most eight ranges.

    Example:
        >>> grouped = grouping_by(Choice("x", "y"), ["y", ABSENT, "x"])
        >>> [group.label for group in grouped.groups], grouped.codes.tolist()
        (['x', 'y', 'not active'], [1, 2, 0])
    """
    if isinstance(parameter, Choice):
        return _by_value(values, parameter.choices)
    column = numbers_of(values)
    present = np.isfinite(column)
    codes = np.full(len(values), -1, dtype=np.int64)
    distinct = np.unique(column[present])
    if len(distinct) <= RANGES:
        codes[present] = np.searchsorted(distinct, column[present])
        return _with_inactive([_range(value, value) for value in distinct.tolist()], codes)
    n_ranges = min(max(int(present.sum()) // ENOUGH, 2), RANGES)
    edges = np.quantile(column[present], np.linspace(0.0, 1.0, n_ranges + 1)[1:-1])
    places = np.searchsorted(edges, column[present], side="left")
    is_used = np.bincount(places, minlength=n_ranges) > 0
    codes[present] = (np.cumsum(is_used) - 1)[places]
    # A range goes from the first to the last of the values between two edges.
    starts = np.searchsorted(distinct, edges, side="right")
    lows = distinct[np.append(0, starts)[is_used]]
    highs = distinct[np.append(starts, len(distinct))[is_used] - 1]
    groups = [_range(low, high) for low, high in zip(lows.tolist(), highs.tolist(), strict=True)]
    return _with_inactive(groups, codes)


def values_of(names: Sequence[str], configs: Sequence[Config]) -> dict[str, Sequence[Value]]:
    """The values of some parameters in columns; ``ABSENT`` where a configuration has none."""
    if len(names) > 1 and configs:
        # One pass over all configurations, where all have all parameters.
        with suppress(KeyError):
            columns = zip(*map(itemgetter(*names), configs), strict=True)
            return dict(zip(names, columns, strict=True))
    return {name: [config.get(name, ABSENT) for config in configs] for name in names}


def numbers_of(values: Sequence[Value]) -> Floats:
    """Values of a number in a column, NaN where there is none."""
    if not set(map(type, values)) <= {int, float}:
        is_number = [isinstance(v, int | float) and not isinstance(v, bool) for v in values]
        values = [v if is_it else np.nan for v, is_it in zip(values, is_number, strict=True)]
    return np.array(values, dtype=np.float64)


def value_text(value: object, digits: int = 4) -> str:
    """A value of a configuration, for people: numbers short, texts as they are."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.{digits}g}"
    return "null" if value is None else str(value)


def config_text(config: Mapping[str, object], limit: int = 200) -> str:
    """A configuration on one line, for people."""
    text = ", ".join(f"{name} = {value_text(value)}" for name, value in config.items())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _range(low: float, high: float) -> Group:
    first, last = (
        int(end) if end.is_integer() and abs(end) < 2**53 else end for end in (low, high)
    )
    if low == high:
        return Group(value_text(first), first, low, high)
    return Group(f"{value_text(first, 3)} – {value_text(last, 3)}", None, low, high)


def _by_value(values: Sequence[Value], choices: Sequence[Scalar]) -> Grouping:
    """Groups of listed values, in the order of the list; then values of earlier spaces."""
    listed = list(choices)
    known = {value_key(choice): i for i, choice in enumerate(listed)}
    # Each value is looked up once; where there are several types, they tell True from 1.
    is_mixed = len(set(map(type, values))) > 1
    looked: Sequence[Hashable] = [(type(one), one) for one in values] if is_mixed else values
    found: dict[Hashable, int] = {}
    for look, value in dict(zip(looked, values, strict=True)).items():
        if isinstance(value, Absent):
            found[look] = -1
            continue
        key = value_key(value)
        if key not in known:
            known[key] = len(listed)
            listed.append(value)
        found[look] = known[key]
    codes = np.array([found[look] for look in looked], dtype=np.int64)
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
