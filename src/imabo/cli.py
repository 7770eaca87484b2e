"""The command line: ``imabo demo``, ``serve``, ``keys`` and ``bench``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from imabo import demo
from imabo.bench.commands import add_parser
from imabo.errors import ImaboError
from imabo.server.commands import add_parsers


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns 0, 1 for an error that is explained, 2 for wrong usage."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except ImaboError as error:
        print(f"imabo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nimabo: stopped; what was done so far is kept", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="imabo", description="Tune a live system while it serves."
    )
    commands = parser.add_subparsers(required=True, metavar="command")
    show = commands.add_parser(
        "demo",
        help="tune a simulated assistant and show what was learned",
        description="Serves simulated requests to an assistant with seven settings, two of which "
        "exist only for some values of others. Users rate the answers late or, mostly, never.",
    )
    show.add_argument("--rounds", type=_rounds, default=5000, help="requests to serve (5000)")
    show.add_argument("--seed", type=int, help="for the same run again; drawn by default")
    show.add_argument(
        "--store", default="sqlite:///imabo-demo.db", help="where to keep the study (%(default)s)"
    )
    show.set_defaults(run=_demo)
    add_parsers(commands)
    add_parser(commands)
    return parser


def _demo(options: argparse.Namespace) -> int:
    demo.run(options.store, options.rounds, options.seed)
    return 0


def _rounds(text: str) -> int:
    rounds = int(text)
    if not 100 <= rounds <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{rounds} is not from 100 to 1,000,000")
    return rounds


if __name__ == "__main__":
    raise SystemExit(main())
