"""How problems are named: ``family/instance``, and variants after colons."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from imabo.errors import InvalidSetting
from imabo.space.scalars import show

ANY = ("grid11", "noise0.1", "flip")  # variants that every problem has: examples
_MOST_SHOWN = 12


class Name(NamedTuple):
    """The parts of a problem's name."""

    family: str
    instance: str
    variants: tuple[str, ...]

    @property
    def text(self) -> str:
        """The whole name."""
        return ":".join((f"{self.family}/{self.instance}", *self.variants))


def split(name: object) -> Name:
    """Take a name apart.

    Example:
        >>> split("toy/sin1:d2")
        Name(family='toy', instance='sin1', variants=('d2',))
    """
    if isinstance(name, str):
        stem, *variants = name.split(":")
        family, slash, instance = stem.partition("/")
        if slash and family and instance and all(variants):
            return Name(family, instance, tuple(variants))
    raise InvalidSetting(
        f"the problem is {show(name)}",
        "a problem's name is family/instance, with variants after colons",
        "write 'toy/sin1' or 'toy/sin1:d2', say",
    )


def unknown_instance(family: str, instance: object, known: Iterable[str]) -> InvalidSetting:
    """The error for an instance that a family does not have."""
    known = list(known)
    near = difflib.get_close_matches(str(instance), known, n=1)
    shown = known if len(known) <= _MOST_SHOWN else [*known[:_MOST_SHOWN], f"{len(known)} in all"]
    return InvalidSetting(
        f"the problem is {show(f'{family}/{instance}')}",
        f"{family} has {', '.join(shown)}",
        f"use {family}/{near[0]}" if near else "use one of these",
    )


def unknown_variant(family: str, variant: str, known: Sequence[str]) -> InvalidSetting:
    """The error for a variant that a family does not have."""
    return InvalidSetting(
        f"the problem's variant is {show(variant)}",
        f"{family} has the variants {', '.join([*known, *ANY])}, each at most once",
        "use one of them, or leave the variant out",
    )


def unknown_family(name: str, known: Sequence[str]) -> InvalidSetting:
    """The error for a family that does not exist."""
    return InvalidSetting(
        f"the problem is {show(name)}",
        f"the families are {', '.join(known)}",
        "start the name with one of them (problem_names() lists them all)",
    )


def check_variants(name: Name, known: Sequence[str]) -> frozenset[str]:
    """The variants of a name; refuses unknown and repeated ones."""
    for position, variant in enumerate(name.variants):
        if variant not in known or variant in name.variants[:position]:
            raise unknown_variant(name.family, variant, known)
    return frozenset(name.variants)
