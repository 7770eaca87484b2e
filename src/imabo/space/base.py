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
    def _settings(self) -> dict[str, Any]:
        """Return every setting but the conditions as JSON-safe values."""

    def to_dict(self) -> dict[str, Any]:
        """Return every setting as JSON-safe values."""
        when = {name: list(values) for name, values in self.when.items()}
        return {"type": self.type_name, **self._settings(), "when": when}

    def cells(self, u: Floats) -> tuple[Floats, Floats]:
        """Return the lower and upper edges of the cells that positions in [0, 1] lie in.

        Both equal ``u`` where the parameter is a continuum.
        """
        u = np.asarray(u, dtype=np.float64)
        return (u, u) if self.n_cells is None else equal_cells(u, self.n_cells)

    def with_when(self, when: Mapping[str, Any]) -> Parameter:
        """Return the same parameter under other conditions."""
        args, kwargs = self.arguments()
        return type(self)(*args, **{**kwargs, "when": when})

    def _conditions(self) -> dict[str, Any]:
        """Return `when` the way a person would write it, as keyword arguments."""
        when = {k: v[0] if len(v) == 1 else list(v) for k, v in self.when.items()}
        return {"when": when} if when else {}

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
        self.__setattr__(name, None)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Parameter):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        return _call(self, with_when=True)

    def __reduce__(self) -> tuple[Any, ...]:
        args, kwargs = self.arguments()
        return (functools.partial(type(self), *args, **kwargs), ())


def equal_cells(u: Floats, n_cells: Any) -> tuple[Floats, Floats]:
    """Return the edges of the equally wide cells that hold the positions ``u``."""
    index = np.clip(np.floor(u * n_cells), 0, n_cells - 1)
    # The minimum and maximum keep u inside its cell where a division rounds past it.
    return np.minimum(index / n_cells, u), np.maximum((index + 1) / n_cells, u)


class Scaled(Parameter):
    """What `Float` and `Int` share: two bounds, a scale, and perhaps a grid."""

    __slots__ = ("high", "log", "low", "step")

    no_step: ClassVar[int | None]
    low: float
    high: float
    log: bool
    step: float | None

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the positional and the non-default keyword arguments that rebuild this."""
        log = {"log": True} if self.log else {}
        step = {} if self.step == self.no_step else {"step": self.step}
        return (self.low, self.high), {**log, **step, **self._conditions()}

    def _settings(self) -> dict[str, Any]:
        return {"low": self.low, "high": self.high, "log": self.log, "step": self.step}

    def _number(self, value: object, needed: str) -> int | float:
        """Return a value as a plain number, or say that one is needed."""
        try:
            clean = plain(value)
        except ValueError as error:
            raise refuse(self, value, str(error)) from None
        if isinstance(clean, bool) or not isinstance(clean, int | float):
            raise refuse(self, value, f"{needed} is needed, not a {type(value).__name__}")
        return clean


def check_order(shown: str, low: float, high: float) -> None:
    """Refuse an empty range."""
    if low > high:
        raise InvalidSpace(
            f"{shown} has low {show(low)} above high {show(high)}",
            "the range is empty",
            "swap the bounds",
        )


def unreached(shown: str, high: float, below: float, above: float) -> InvalidSpace:
    """Build the error for a high that is not on the grid."""
    return InvalidSpace(
        f"{shown} has a high of {show(high)} that its steps never reach",
        f"the nearest values on the grid are {show(below)} and {show(above)}",
        "use one of them as high",
    )


def _call(parameter: Parameter, *, with_when: bool) -> str:
    """Write the call that makes a parameter, in at most about 200 letters without ``when``."""
    args, kwargs = parameter.arguments()
    named = [f"{k}={v!r}" for k, v in kwargs.items() if with_when or k != "when"]
    inside = ", ".join([*map(repr, args), *named])
    if len(inside) > 200 and not with_when:
        inside = inside[:197] + "..."
    return f"{type(parameter).__name__}({inside})"


def refuse(parameter: Parameter, value: object, why: str) -> InvalidConfig:
    """Build the error for a value that a parameter does not take."""
    fix = f"give a value of {_call(parameter, with_when=False)}"
    return InvalidConfig(f"the value {show(value)} is not allowed", why, fix)


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
    """Normalise "a value or a list of values": plain, without repeats, in one fixed order."""
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
