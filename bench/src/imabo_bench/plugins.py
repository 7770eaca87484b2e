"""Problems and methods of other packages, which announce them by entry points.

The name of an entry point is the name that ``imabo bench`` knows it by, so that names can be listed
and compared without an import of anyone's package.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from importlib import metadata
from typing import Final, TypeVar

from imabo.errors import InvalidSetting
from imabo.space.scalars import show

PROBLEMS: Final = "imabo_bench.problems"  # each a Family of problems
METHODS: Final = "imabo_bench.methods"  # each a Method

_Kind = TypeVar("_Kind")


def offered(group: str, own: Collection[str]) -> Mapping[str, metadata.EntryPoint]:
    """What other packages offer, by name; refuses names that are taken or cannot be written.

    Args:
        group: ``PROBLEMS`` or ``METHODS``.
        own: The names that imabo-bench itself has.
    """
    found: dict[str, metadata.EntryPoint] = {}
    for point in points(group):
        name, package = point.name, package_of(point)
        first = "imabo-bench" if name in own else package_of(found[name]) if name in found else None
        if first is not None:
            raise InvalidSetting(
                f"the packages {first} and {package} both have {show(name)} in {group}",
                "a name stands for one thing",
                f"uninstall {package}, or have its entry point renamed",
            )
        if not name or set(name) & set("/: "):
            raise _broken(point, "its name has a slash, a colon or a space in it")
        found[name] = point
    return found


def load(point: metadata.EntryPoint, kind: type[_Kind]) -> _Kind:
    """What an entry point stands for; says whose it is when that cannot be had."""
    try:
        made = point.load()
    except Exception as error:  # whatever goes wrong in it is of that package
        why = f"loading {point.value} raises {type(error).__name__}: {error}"
        raise _broken(point, why) from error
    if not isinstance(made, kind):
        raise _broken(point, f"{point.value} is a {type(made).__name__}, not a {kind.__name__}")
    return made


def named(point: metadata.EntryPoint, wanted: str, name: object) -> None:
    """Refuse what calls itself otherwise than it is called: its rows could not be found again."""
    if name != wanted:
        raise _broken(point, f"what it makes for {show(wanted)} has the name {show(name)}")


def packages() -> list[str]:
    """The packages that offer problems or methods."""
    return sorted({package_of(point) for group in (PROBLEMS, METHODS) for point in points(group)})


def package_of(point: metadata.EntryPoint) -> str:
    """The package that an entry point belongs to."""
    return point.module if point.dist is None else point.dist.name


@cache
def points(group: str) -> tuple[metadata.EntryPoint, ...]:
    """The entry points of a group, looked for once in a process."""
    return tuple(metadata.entry_points(group=group))


def _broken(point: metadata.EntryPoint, why: str) -> InvalidSetting:
    return InvalidSetting(
        f"{show(point.name)} of the package {package_of(point)} cannot be used",
        f"{why} (entry point of {point.group})",
        f"repair {package_of(point)}, or uninstall it",
    )
