"""A choice among listed values."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, ClassVar

from imabo.errors import InvalidSpace
from imabo.space.base import Parameter, flag, normalise_when, refuse
from imabo.space.scalars import Scalar, plain, show, value_key
from imabo.spelling import closest


class Choice(Parameter):
    """One of several listed values, for instance a model's name or a prompt variant.

    Category ``i`` of ``k`` owns the cell [i/k, (i+1)/k] of the unit interval, so P0 is uniform.

    Args:
        *values: At least one string, number, bool or None, all different (1 and 1.0 are one
            value, True and 1 are two).
        ordered: Whether the order of the values means something ("low", "medium", "high").
        when: Parent name to the value, or the list of values, for which this is active.

    Example:
        >>> size = Choice("small", "large")
        >>> size.n_values, size.from_unit(0.9), size.to_unit("small")
        (2, 'large', 0.25)
    """

    __slots__ = ("_index", "choices", "ordered")

    type_name: ClassVar[str] = "choice"
    choices: tuple[Scalar, ...]
    ordered: bool
    n_values: int
    n_cells: int
    _index: dict[Hashable, int]

    def __init__(
        self, *values: Scalar, ordered: bool = False, when: Mapping[str, Any] | None = None
    ) -> None:
        index: dict[Hashable, int] = {}
        choices: list[Scalar] = []
        for value in values:
            try:
                clean = plain(value)
            except ValueError as error:
                raise InvalidSpace(
                    f"Choice got the value {show(value)}",
                    str(error),
                    "list strings, finite numbers, bools or None as separate arguments",
                ) from None
            if value_key(clean) in index:
                raise InvalidSpace(
                    f"Choice lists {show(value)} twice",
                    "equal values are one choice (1 and 1.0 are equal)",
                    "list each value once",
                )
            index[value_key(clean)] = len(choices)
            choices.append(clean)
        if not choices:
            raise InvalidSpace(
                "Choice has no values", "there is nothing to choose", "list at least one value"
            )
        self._set(
            choices=tuple(choices),
            ordered=flag("Choice", "ordered", ordered),
            when=normalise_when("Choice", when),
            n_values=len(choices),
            n_cells=len(choices),
            _index=index,
        )

    @property
    def unordered(self) -> bool:
        """Whether no value is nearer to one value than to another."""
        return not self.ordered

    def to_unit(self, value: Any) -> float:
        """Map a listed value to the centre of its cell."""
        index = self._index.get(value_key(value))
        if index is None:
            index = self._index[value_key(self.validate(value))]
        return (index + 0.5) / self.n_values

    def from_unit(self, u: float) -> Scalar:
        """Map any position in [0, 1] to the value whose cell holds it."""
        index = int(u * self.n_values)
        if index >= self.n_values:
            index = self.n_values - 1
        return self.choices[index if index > 0 else 0]

    def validate(self, value: object) -> Scalar:
        """Return the listed value that equals ``value``, or raise `InvalidConfig`."""
        if type(value) is str and value in self._index:
            return self.choices[self._index[value]]
        try:
            index = self._index.get(value_key(plain(value)))
        except ValueError as error:
            raise refuse(self, value, str(error)) from None
        if index is None:
            close = closest(value, [one for one in self.choices if isinstance(one, str)])
            meant = "" if close is None else f"; did you mean {close!r}?"
            raise refuse(self, value, f"it is not one of the listed values{meant}")
        return self.choices[index]

    def values(self) -> Iterator[Scalar]:
        """Yield the listed values in order."""
        return iter(self.choices)

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the positional and the non-default keyword arguments that rebuild this."""
        return self.choices, {**({"ordered": True} if self.ordered else {}), **self._conditions()}

    def _settings(self) -> dict[str, Any]:
        return {"values": list(self.choices), "ordered": self.ordered}
