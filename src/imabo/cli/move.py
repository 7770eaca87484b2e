"""``imabo export`` and ``imabo report``."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import nullcontext
from typing import TextIO, cast

from imabo.cli.exits import UsageError
from imabo.cli.files import written
from imabo.cli.output import clean, count, tell, write_json
from imabo.cli.places import place_of
from imabo.cli.progress import CountedLines, progress


def export(options: argparse.Namespace) -> None:
    """Write a study to a file or to standard output."""
    if options.json and options.out is None:
        raise UsageError("--json tells about a file; name it with --out", options.command)
    form = options.format or _form_of(options.out)
    with place_of(options) as place:
        study = place.study(options.study)
        # A line a pull, and in the log one a reward too.
        lines = study["n_pulls"] + (study["n_rewards"] if form == "jsonl" else 0)
        if options.out is None and sys.stdout.isatty():
            place.export(options.study, sys.stdout, form)
            return
        target = nullcontext(sys.stdout) if options.out is None else written(options.out)
        with progress("export", lines) as step, target as file:
            place.export(options.study, cast(TextIO, CountedLines(file, step)), form)
    if options.out is None:
        return
    _tell_written(options, form)


def report(options: argparse.Namespace) -> None:
    """Write the figures of a study as one HTML file."""
    with progress("report"):
        with place_of(options) as place:
            page = place.report(options.study)
        with written(options.out) as file:
            file.write(page)
    _tell_written(options, "html")


def _form_of(path: str | None) -> str:
    ending = os.path.splitext(path or "")[1]
    return "csv" if ending.lower() == ".csv" else "jsonl"


def _tell_written(options: argparse.Namespace, form: str) -> None:
    size = os.path.getsize(options.out)
    if options.json:
        write_json({"study": options.study, "format": form, "out": options.out, "bytes": size})
    else:
        tell(f"{clean(options.study)} is in {clean(options.out)} ({count(size)} bytes)")
