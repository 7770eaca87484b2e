"""Every kind of event that there is, and the refusal of one that there is not."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, get_args

from imabo.errors import InvalidSetting
from imabo.events import EventKind
from imabo.space.scalars import show
from imabo.spelling import closest

_OF_THE_SERVICE: Final = (
    "imported", "deleted", "key made", "key revoked",
    "webhook added", "webhook changed", "webhook removed", "webhook tested",
)  # fmt: skip
KINDS: Final[tuple[str, ...]] = (*get_args(EventKind), *_OF_THE_SERVICE)


def checked_kinds(kinds: Iterable[str], *, known: Collection[str] = ()) -> list[str]:
    """Kinds to choose events by, or the refusal of one that no event has.

    A mistyped one would be obeyed, and nobody would ever be told. ``known`` are taken, too: what a
    webhook has already, perhaps from another version.

    Example:
        >>> checked_kinds(["drift", "drft"])
        Traceback (most recent call last):
        imabo.errors.InvalidSetting: the kind of event is 'drft': the kinds are created, state...
    """
    found = list(kinds)
    for kind in found:
        if kind in KINDS or kind in known:
            continue
        close = closest(kind, KINDS)
        raise InvalidSetting(
            f"the kind of event is {show(kind)}",
            f"the kinds are {', '.join(KINDS)}",
            f"write {close!r}" if close else "take one of these, or leave it out for all",
        )
    return found
