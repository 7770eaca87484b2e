"""What commands take: arguments that several of them share, and how one is put together."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Final

from imabo.cli.parser import Argument, Command

# Those of imabo.insight, which would take its time to load.
SORTS: Final = (
    "id", "sure", "estimate", "mean", "low", "high", "n_pulls", "n_rewards", "n_pending", "share",
    "state", "origin", "parent", "admitted_at",
)  # fmt: skip
OF_SIGNAL: Final = "signal:"
SHELLS: Final = ("bash", "zsh", "fish")


def between(
    kind: type[int] | type[float], low: float, high: float, name: str, ends: str = ""
) -> Callable[[str], float]:
    """A number within limits; argparse says: invalid whole number value."""

    def read(text: str) -> float:
        number = kind(text)
        if not low <= number <= high:
            shown = number if kind is int else text
            raise argparse.ArgumentTypeError(f"{shown} is not from {ends or f'{low} to {high}'}")
        return number

    read.__name__ = name
    return read


class Columns(tuple[str, ...]):
    """Columns to complete on the command line; ``column`` says which others there are."""

    def __contains__(self, item: object) -> bool:
        return True


def column(text: str) -> str:
    """A column to sort arms by; whether there is such a signal, the study knows."""
    if text in SORTS or text.startswith(OF_SIGNAL):
        return text
    why = f"{text!r} is not one of {', '.join(SORTS)} or {OF_SIGNAL}NAME, the mean of a signal"
    raise argparse.ArgumentTypeError(why)


def number_or_none(text: str) -> float | None:
    """A number, or None for the word."""
    return None if text == "none" else float(text)


def reward(text: str) -> float:
    """A reward: a number, or a thumb."""
    thumb = {"true": 1.0, "false": 0.0}.get(text.lower())
    try:
        return float(text) if thumb is None else thumb
    except ValueError:
        why = f"{text!r} is not a number: a reward is one in the study's range, or true or false"
        raise argparse.ArgumentTypeError(why) from None


def whole(low: int, high: int) -> Callable[[str], float]:
    """Whole numbers within these."""
    return between(int, low, high, "whole number")


def takes(name: str, meaning: str | None = None, group: str = "", **settings: Any) -> Argument:
    """An argument, its help and its group."""
    return Argument(name, settings | {"help": meaning}, group)


def flag(name: str, meaning: str) -> Argument:
    """An option that is there or not."""
    return takes(name, meaning, action="store_true")


WHERE: Final = "where the study is"
PLACE: Final = (
    takes(
        "--store",
        "a database: sqlite:///imabo.db or postgresql://user@host/name (or IMABO_STORE, "
        "better for one with a password; by default what imabo serve uses)",
        metavar="URL",
        group=WHERE,
    ),
    takes("--url", "a service: http://127.0.0.1:8766 (or IMABO_URL)", metavar="URL", group=WHERE),
    takes(
        "--key",
        "access key of the service; better in IMABO_KEY, because others on this machine can "
        "see the arguments of a command",
        metavar="KEY",
        group=WHERE,
    ),
    flag("--json", "one JSON document, with the names of the HTTP API"),
)
STUDY: Final = (takes("study", "its name; see: imabo studies", metavar="STUDY"), *PLACE)


def count(name: str, low: int, high: int, default: int | None, meaning: str) -> Argument:
    """An option that takes a whole number."""
    return takes(name, meaning, type=whole(low, high), default=default, metavar="N")


TOP: Final = count("--top", 0, 1000, 10, "arms to list (%(default)s)")
ARMS: Final = takes(
    "arms", "its id; see: imabo arms", metavar="ARM", nargs="+", type=whole(0, 10**18)
)


DECLARING: Final = (
    takes(
        "--if-changed",
        "error names the difference, update applies it, keep goes on without it (%(default)s)",
        choices=("error", "update", "keep"),
        default="error",
    ),
    count("--revision", 0, 10**18, None, "of the declaration, such as a build number"),
)


def command(
    run: str, meaning: str, about: str, example: str, *arguments: Argument, name: str = ""
) -> Command:
    """A command of this package, by default of the name of its function."""
    name = name or run.partition(":")[2]
    return Command(name, meaning, about, example, f"imabo.cli.{run}", arguments)
