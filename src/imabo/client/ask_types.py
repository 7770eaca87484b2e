"""The types of ``ask``, which gives one pull or a list of them, now or when it is awaited."""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol, TypeAlias, TypeVar, overload

from imabo.arms import Pull
from imabo.client.steps import SharedMethod, Steps
from imabo.errors import InvalidSetting
from imabo.settings import is_number
from imabo.space.scalars import show

LONGEST_S: Final = 86_400.0  # that anything may be allowed to take

One = TypeVar("One", covariant=True)
Many = TypeVar("Many", covariant=True)
_Awaited: TypeAlias = Coroutine[Any, Any, One]


class _Ask(Protocol[One, Many]):
    """The method ``ask``: one pull, or with a count a list of them."""

    @overload
    def __call__(
        self,
        count: None = None,
        *,
        key: str | None = None,
        context: object = None,
        default: dict[str, Any] | None = None,
        deadline_s: float | None = None,
    ) -> One: ...
    @overload
    def __call__(
        self,
        count: int,
        *,
        key: str | None = None,
        context: object = None,
        default: dict[str, Any] | None = None,
        deadline_s: float | None = None,
    ) -> Many: ...


def asking(
    make: Callable[..., Steps[Pull | list[Pull]]],
) -> SharedMethod[_Ask[Pull, list[Pull]], _Ask[_Awaited[Pull], _Awaited[list[Pull]]]]:
    """The method ``ask`` of both clients, from its steps."""
    return SharedMethod(make)


def checked_deadline(seconds: object) -> float:
    """How long a call may take in all; nothing is left of a time that has passed already."""
    if is_number(seconds):
        return min(max(float(seconds), 0.0), LONGEST_S)
    if isinstance(seconds, float) and seconds == math.inf:
        return LONGEST_S
    raise InvalidSetting(
        f"deadline_s is {show(seconds)}",
        "it must be a number of seconds",
        "pass another deadline_s",
    )
