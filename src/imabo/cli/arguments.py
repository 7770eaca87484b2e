"""What each command takes on its command line."""

from __future__ import annotations

import argparse
from typing import Final

# Those of imabo.insight, which would take its time to load.
SORTS: Final = (
    "id",
    "mean",
    "low",
    "high",
    "n_pulls",
    "n_rewards",
    "n_pending",
    "share",
    "state",
    "origin",
    "parent",
    "admitted_at",
)
STATES: Final = ("active", "paused", "retired")
FORMATS: Final = ("jsonl", "csv")
SHELLS: Final = ("bash", "zsh", "fish")


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add where the study is, and ``--json``."""
    where = parser.add_argument_group("where the study is")
    where.add_argument(
        "--store",
        metavar="URL",
        help="a database: sqlite:///imabo.db or postgresql://user@host/name (or IMABO_STORE, "
        "better for one with a password; by default what imabo serve uses)",
    )
    where.add_argument(
        "--url", metavar="URL", help="a service: http://127.0.0.1:8766 (or IMABO_URL)"
    )
    where.add_argument(
        "--key",
        metavar="KEY",
        help="access key of the service; better in IMABO_KEY, because others on this machine can "
        "see the arguments of a command",
    )
    parser.add_argument(
        "--json", action="store_true", help="one JSON document, with the names of the HTTP API"
    )


def add_study(parser: argparse.ArgumentParser) -> None:
    """Add the study and where it is."""
    parser.add_argument("study", metavar="STUDY", help="its name; see: imabo studies")
    add_place(parser)


# --- looking ------------------------------------------------------------------------------------


def show(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``imabo show``."""
    add_study(parser)
    parser.add_argument(
        "--top", type=_whole(0, 1000), default=10, metavar="N", help="arms to list (%(default)s)"
    )


def arms(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``imabo arms``."""
    add_study(parser)
    parser.add_argument(
        "--sort",
        choices=SORTS,
        default="mean",
        metavar="COLUMN",
        help=f"{', '.join(SORTS)} (%(default)s)",
    )
    parser.add_argument("--ascending", action="store_true", help="the lowest first")
    parser.add_argument(
        "--state", action="append", choices=STATES, help="only arms in this state; may be repeated"
    )
    parser.add_argument(
        "--text", default="", metavar="WORDS", help="only arms whose configuration has these words"
    )
    parser.add_argument(
        "--offset", type=_whole(0, 10**9), default=0, metavar="N", help="skip so many (%(default)s)"
    )
    parser.add_argument(
        "--limit",
        type=_whole(1, 1000),
        default=50,
        metavar="N",
        help="list so many at most (%(default)s)",
    )


def events(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``imabo events``."""
    add_study(parser)
    parser.add_argument(
        "--limit",
        type=_whole(1, 10_000),
        default=50,
        metavar="N",
        help="list so many at most, the newest of them (%(default)s)",
    )


def best(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``imabo best``."""
    add_study(parser)
    parser.add_argument(
        "--level", type=float, default=0.95, metavar="P", help="of the interval (%(default)s)"
    )


def watch(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``imabo watch``."""
    add_study(parser)
    parser.add_argument(
        "--every",
        type=_seconds,
        default=2.0,
        metavar="S",
        help="seconds between two looks (%(default)s)",
    )
    parser.add_argument("--count", type=_whole(1, 10**9), metavar="N", help="end after so many")
    parser.add_argument(
        "--top", type=_whole(0, 1000), default=10, metavar="N", help="arms to list (%(default)s)"
    )


# --- stepping in --------------------------------------------------------------------------------


def state(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``imabo pause``, ``resume`` and ``retire``."""
    add_study(parser)
    parser.add_argument(
        "arms", metavar="ARM", nargs="+", type=_whole(0, 10**18), help="its id; see: imabo arms"
    )


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``imabo add``."""
    add_study(parser)
    parser.add_argument(
        "config",
        metavar="CONFIG",
        nargs="+",
        help="a JSON object or a list of them, @FILE with either in it (@- for standard input), "
        "or pairs: name=value",
    )


def space(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``imabo space``."""
    add_study(parser)
    parser.add_argument(
        "--set", metavar="FILE", help="move on to the space in this JSON file (- for stdin)"
    )
    parser.add_argument("--dry-run", action="store_true", help="only show what --set would do")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def delete(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``imabo delete``."""
    add_study(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask for the name")


# --- moving -------------------------------------------------------------------------------------


def export(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``imabo export``."""
    add_study(parser)
    parser.add_argument(
        "--format", choices=FORMATS, help="by default what the file's name ends with, else jsonl"
    )
    parser.add_argument("--out", metavar="FILE", help="standard output by default")


def import_log(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``imabo import``."""
    parser.add_argument("file", metavar="FILE", help="JSON lines of imabo export (- for stdin)")
    parser.add_argument("--name", help="for the new study; by default the one in the log")
    add_place(parser)


def report(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``imabo report``."""
    add_study(parser)
    parser.add_argument("--out", metavar="FILE", required=True, help="the page to write")


# --- running ------------------------------------------------------------------------------------


def demo(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``imabo demo``."""
    parser.add_argument(
        "--rounds", type=_rounds, default=3000, help="requests to serve (%(default)s)"
    )
    parser.add_argument(
        "--seconds",
        type=_duration,
        help="how long they take together; 0 for as fast as it goes (75, or 0 with --embedded)",
    )
    parser.add_argument(
        "--seed", type=_whole(0, 2**63 - 1), help="for the same users again; drawn by default"
    )
    parser.add_argument(
        "--store",
        default="sqlite:///imabo-demo.db",
        metavar="URL",
        help="where to keep the study (%(default)s); when there is one already, it stays and the "
        "new one gets a number",
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="only print the address of the page"
    )
    parser.add_argument(
        "--embedded",
        action="store_true",
        help="without the service and its page; needs nothing but imabo itself",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="the result as one JSON document; the story goes to standard error",
    )


def completion(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``imabo completion``."""
    parser.add_argument("shell", choices=SHELLS)


def _whole(low: int, high: int) -> type[int]:
    def read(text: str) -> int:
        number = int(text)
        if not low <= number <= high:
            raise argparse.ArgumentTypeError(f"{number} is not from {low} to {high}")
        return number

    read.__name__ = "whole number"  # argparse says: invalid whole number value
    return read  # type: ignore[return-value]


def _rounds(text: str) -> int:
    rounds = int(text)
    if not 100 <= rounds <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{rounds} is not from 100 to 1,000,000")
    return rounds


def _duration(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds <= 86_400:
        raise argparse.ArgumentTypeError(f"{text} is not from 0 to 86400")
    return seconds


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0.1 <= seconds <= 86_400:
        raise argparse.ArgumentTypeError(f"{text} is not from 0.1 to 86400")
    return seconds
