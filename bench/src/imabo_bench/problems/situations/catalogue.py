"""The situations by name: ``situations/<kind>-<number>``."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from imabo.errors import InvalidSetting
from imabo.space.scalars import show
from imabo_bench.problems.base import Problem
from imabo_bench.problems.names import Name, check_variants
from imabo_bench.problems.situations import changing, still

FAMILY = "situations"
LISTED = 5  # instances of a kind that are listed; every other number opens too

_Generator = Callable[[str, int, np.random.Generator], Problem]

# The first number of a kind's random stream stays with it for ever: instances must not change.
_KINDS: dict[str, tuple[int, _Generator]] = {
    "few": (101, still.few),
    "prompts": (102, still.prompts),
    "rare": (103, still.rare),
    "wide": (104, still.wide),
    "knobs": (105, still.knobs),
    "cliff": (106, still.cliff),
    "flat": (107, still.flat),
    "judge": (108, still.judge),
    "beta": (109, still.beta),
    "decoy": (110, still.decoy),
    "move": (201, changing.move),
    "fall": (202, changing.fall),
    "rise": (203, changing.rise),
    "walk": (204, changing.walk),
    "rhythm": (205, changing.rhythm),
    "rate": (206, changing.rate),
}
KINDS = tuple(_KINDS)
INSTANCES = tuple(f"{kind}-{number}" for kind in KINDS for number in range(LISTED))


def open_situation(name: Name) -> Problem:
    """Make the situation that a name describes.

    Example:
        >>> problem = open_situation(Name("situations", "prompts-1", ()))
        >>> problem.name, problem.space.n_configs
        ('situations/prompts-1', 60)
    """
    found = re.fullmatch(r"([a-z]+)-(0|[1-9][0-9]*)", name.instance)
    if found is None or found[1] not in _KINDS:
        raise InvalidSetting(
            f"the problem is {show(f'{FAMILY}/{name.instance}')}",
            f"{FAMILY} has the kinds {', '.join(KINDS)}, each with a number from 0 on",
            f"write {FAMILY}/few-0 or {FAMILY}/{KINDS[-1]}-12, say",
        )
    check_variants(name, ())
    number = int(found[2])
    stream, generator = _KINDS[found[1]]
    return generator(f"{FAMILY}/{name.instance}", number, np.random.default_rng([stream, number]))
