"""What every parameter has in common: its conditions, and its cells in the unit interval."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from imabo.errors import InvalidConfig, InvalidSpace
from imabo.space.scalars import Scalar, plain, show, sort_key, value_key

Floats: TypeAlias = NDArray[np.float64]

# More equal cells than this cannot be told apart in a float64 unit coordinate.
MOST_CELLS = 2**50


class Parameter(ABC):
    """One decision of a space: `Float`, `Int` or `Choice`.

    Parameters are values: immutable, equal when they mean the same, and their ``repr`` can be
    pasted back. A uniform ``u`` in [0, 1] pushed through `from_unit` is a draw from P0.

    Attributes:
        when: Parent name to the values for which this parameter is active; empty: always active.
        n_values: How many values there are, or ``None`` for a continuum.
        n_cells: Number of equally wide cells of the unit interval, ``None`` if there are none.
    """

    __slots__ = ("n_cells", "n_values", "when")

    type_name: ClassVar[str]
    when: Mapping[str, tuple[Scalar, ...]]
    n_values: int | None
    n_cells: int | None

    @property
    def unordered(self) -> bool:
        """Whether no value is nearer to one value than to another."""
        return False

    @abstractmethod
    def to_unit(self, value: Any) -> float:
        """Map a valid value to its position in [0, 1]."""

    @abstractmethod
    def from_unit(self, u: float) -> Scalar:
        """Map any position in [0, 1] to the value whose cell holds it."""

    @abstractmethod
    def validate(self, value: object) -> Scalar:
        """Return the canonical form of a value, or raise `InvalidConfig` with the reason."""

    @abstractmethod
    def values(self) -> Iterator[Scalar]:
        """Yield every value lazily, in order; a continuum raises `InvalidSpace`."""

    @abstractmethod
    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the positional and the non-default keyword arguments that rebuild this."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return every setting as JSON-safe values."""

    def cells(self, u: Floats) -> tuple[Floats, Floats]:
        """Return the edges, in unit coordinates, of the cell that each position lies in.

        Args:
            u: Positions in [0, 1], any shape.

        Returns:
            Lower and upper edges; both equal ``u`` where the parameter is a continuum.
        """
        u = np.asarray(u, dtype=np.float64)
        if self.n_cells is None:
            return u, u
        return equal_cells(u, self.n_cells)

    def with_when(self, when: Mapping[str, Any]) -> Parameter:
        """Return the same parameter under other conditions."""
        args, kwargs = self.arguments()
        return type(self)(*args, **{**kwargs, "when": when})

    def _conditions(self) -> dict[str, Any]:
        """Return `when` the way a person would write it, as keyword arguments."""
        if not self.when:
            return {}
        return {
            "when": {
                name: values[0] if len(values) == 1 else list(values)
                for name, values in self.when.items()
            }
        }

    def _set(self, **attributes: Any) -> None:
        for name, value in attributes.items():
            object.__setattr__(self, name, value)

    def _identity(self) -> tuple[Any, ...]:
        args, kwargs = self.arguments()
        when = frozenset(
            (name, tuple(map(value_key, values))) for name, values in self.when.items()
        )
        settings = tuple(sorted((k, v) for k, v in kwargs.items() if k != "when"))
        return (type(self), tuple(map(value_key, args)), settings, when)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable; build a new one instead")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable; build a new one instead")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parameter):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        args, kwargs = self.arguments()
        parts = [repr(arg) for arg in args] + [f"{k}={v!r}" for k, v in kwargs.items()]
        return f"{type(self).__name__}({', '.join(parts)})"

    def __reduce__(self) -> tuple[Any, ...]:
        args, kwargs = self.arguments()
        return (functools.partial(type(self), *args, **kwargs), ())


def equal_cells(u: Floats, n_cells: Any) -> tuple[Floats, Floats]:
    """Return the edges of the equally wide cells that hold the positions ``u``.

    Example:
        >>> equal_cells(np.array([0.0, 0.3, 1.0]), 4)
        (array([0.  , 0.25, 0.75]), array([0.25, 0.5 , 1.  ]))
    """
    index = np.clip(np.floor(u * n_cells), 0, n_cells - 1)
    # The minimum and maximum keep u inside its cell where a division rounds past it.
    return np.minimum(index / n_cells, u), np.maximum((index + 1) / n_cells, u)


def refuse(parameter: Parameter, value: object, why: str) -> InvalidConfig:
    """Build the error for a value that a parameter does not take."""
    args, kwargs = parameter.arguments()
    kwargs.pop("when", None)
    bare = ", ".join([*map(repr, args), *(f"{k}={v!r}" for k, v in kwargs.items())])
    if len(bare) > 200:
        bare = bare[:197] + "..."
    return InvalidConfig(
        f"the value {show(value)} is not allowed",
        why,
        f"give a value of {type(parameter).__name__}({bare})",
    )


def flag(owner: str, name: str, value: object) -> bool:
    """Check a setting that must be True or False."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise InvalidSpace(
        f"{owner} got {name}={show(value)}",
        f"{name} is a switch",
        f"pass {name}=True or {name}=False",
    )


def number(owner: str, name: str, value: object) -> int | float:
    """Check a bound or a step: a finite number that is not a bool."""
    try:
        result = plain(value)
    except ValueError as error:
        result, why = None, str(error)
    else:
        why = f"{name} has to be a finite number"
    if isinstance(result, bool) or not isinstance(result, int | float):
        raise InvalidSpace(f"{owner} got {name}={show(value)}", why, f"pass a number as {name}")
    return result


def listed_values(where: str, given: object) -> tuple[Scalar, ...]:
    """Normalise "a value or a list of values": plain, without repeats, in one fixed order.

    Args:
        where: What the values belong to, for the message.
        given: One scalar, or a list, tuple, range, set or frozenset of them.

    Example:
        >>> listed_values("when['k']", [3, 1, 1.0])
        (1, 3)
    """
    items = list(given) if isinstance(given, list | tuple | range | set | frozenset) else [given]
    if not items:
        raise InvalidSpace(
            f"{where} lists no values", "no value could ever match", "list at least one value"
        )
    distinct: dict[Any, Scalar] = {}
    for item in items:
        try:
            value = plain(item)
        except ValueError as error:
            raise InvalidSpace(
                f"{where} has the value {show(item)}",
                str(error),
                "use strings, finite numbers, bools or None",
            ) from None
        distinct.setdefault(value_key(value), value)
    return tuple(sorted(distinct.values(), key=sort_key))


def normalise_when(owner: str, when: object) -> Mapping[str, tuple[Scalar, ...]]:
    """Check the shape of ``when`` and return it read-only, each parent with a tuple of values."""
    if when is None:
        return MappingProxyType({})
    if not isinstance(when, Mapping):
        raise InvalidSpace(
            f"{owner} got when={show(when)}",
            "conditions are a mapping from a parent's name to its value or values",
            'write for instance when={"model": ["large"]}',
        )
    result = {}
    for name, given in when.items():
        clean = parameter_name(name)
        result[clean] = listed_values(f"{owner} with when[{clean!r}]", given)
    return MappingProxyType(result)


def parameter_name(name: object) -> str:
    """Check a parameter's name: a string that is not empty and can be written as UTF-8."""
    try:
        clean = plain(name) if isinstance(name, str) else None
    except ValueError:
        clean = None
    if not isinstance(clean, str) or not clean:
        raise InvalidSpace(
            f"a parameter is named {show(name)}",
            "a name has to be a string that is not empty",
            "rename the parameter",
        )
    return clean
