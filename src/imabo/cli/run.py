"""``imabo demo`` and ``imabo completion``."""

from __future__ import annotations

import argparse

from imabo.cli.console import ended_by_signals
from imabo.cli.output import say
from imabo.cli.parser import make_parser
from imabo.errors import MissingExtra


def demo(options: argparse.Namespace) -> None:
    """Run the demonstration."""
    from imabo import demo as demonstration

    with ended_by_signals():
        demonstration.run(
            options.store,
            options.rounds,
            options.seed,
            seconds=options.seconds,
            embedded=options.embedded,
            browser=not options.no_browser,
            as_json=options.json,
        )


def completion(options: argparse.Namespace) -> None:
    """Print a script for a shell."""
    try:
        import shtab
    except ImportError as error:
        raise missing("completion", "shtab") from error
    if options.shell not in shtab.SUPPORTED_SHELLS:
        raise MissingExtra(
            f"shtab {shtab.__version__} does not write completions for {options.shell}",
            "it is too old",
            'run: pip install --upgrade "imabo[cli]"',
        )
    say(shtab.complete(make_parser("*"), options.shell))


def missing(command: str, package: str) -> MissingExtra:
    """The error of a command whose library is not installed."""
    return MissingExtra(
        f"imabo {command} needs the package {package}",
        "it is not installed",
        'run: pip install "imabo[cli]"',
    )
