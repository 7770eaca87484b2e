"""``imabo bench`` where imabo-bench is not installed: whatever is asked of it, what to install."""

from __future__ import annotations

import argparse
from typing import Final, NoReturn

from imabo.errors import MissingExtra

_ABOUT: Final = "Needs a package of its own, which is not here: pip install imabo-bench."


def add_refusal(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``bench`` to the command line."""
    bench = commands.add_parser("bench", help=_ABOUT, description=_ABOUT)
    bench.add_argument("arguments", nargs="...", help=argparse.SUPPRESS)
    bench.set_defaults(run=_refuse)


def _refuse(_options: argparse.Namespace) -> NoReturn:
    raise MissingExtra(
        "imabo-bench is not installed",
        "the benchmark is a package of its own",
        "run pip install imabo-bench",
    )
