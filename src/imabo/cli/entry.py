"""Running one command: parse, do, and end with the right code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from imabo.cli.exits import UsageError, error_document, exit_code
from imabo.cli.output import clean_lines, write_json
from imabo.cli.parser import make_parser
from imabo.errors import ImaboError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code (see ``imabo.cli.exits.MEANINGS``)."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a letter gets its escape, not an error half-way.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(given)
        sys.stdout.flush()
    except (ImaboError, UsageError) as error:
        _explain(error, as_json="--json" in given)
        return 2 if isinstance(error, UsageError) else exit_code(error)
    except KeyboardInterrupt:
        sys.stderr.write("\nimabo: stopped\n")
        return 130
    except BrokenPipeError:
        _forget_output()
        return 0  # whoever read our output has had enough of it
    except OSError as error:
        _forget_output()
        sys.stderr.write(clean_lines(f"imabo: {error}\n"))
        return 1
    return code


def _run(arguments: list[str]) -> int:
    options = make_parser(arguments[0] if arguments else None).parse_args(arguments)
    run = options.run
    if isinstance(run, str):
        module, _, name = run.partition(":")
        run = getattr(import_module(module), name)
    return int(run(options) or 0)


def _explain(error: ImaboError | UsageError, *, as_json: bool) -> None:
    if as_json:
        write_json(error_document(error), sys.stderr)
    elif isinstance(error, UsageError):
        message = f"{error.command}: {error}\nFor how it goes: {error.command} --help\n"
        sys.stderr.write(error.usage + clean_lines(message))
    else:
        sys.stderr.write(clean_lines(f"imabo: {error}\n"))


def _forget_output() -> None:
    # The interpreter flushes at its end, and would complain again.
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        pass
