"""``imabo export``, ``report`` and ``import``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, replace
from typing import IO, Any, TextIO, cast

from imabo.checks import checked_name
from imabo.cli.console import CountedLines, Step, ended_by_signals, progress
from imabo.cli.exits import UsageError
from imabo.cli.files import bytes_of, unreadable, written
from imabo.cli.output import clean, count, say, tell, write_json
from imabo.cli.places import place_of, service_of, service_url, store_of
from imabo.documents import Document, study_document
from imabo.errors import StudyExists
from imabo.export import export_format
from imabo.replay import Checked, make_again, read_log


def export(options: argparse.Namespace) -> None:
    """Write a study to a file or to standard output."""
    if options.json and options.out is None:
        raise UsageError("--json tells about a file; name it with --out", options.command)
    ending = os.path.splitext(options.out or "")[1].lower()
    form = options.format or (export_format(f"x{ending}", None) if ending else "jsonl")
    if form == "parquet" and options.out is None:
        raise UsageError("Parquet is not text; name a file with --out", options.command)
    with place_of(options) as place:
        counts, study = place.study(options.study), place.named(options.study)
        # A line a pull, and in the log one a reward too.
        lines = counts["n_pulls"] + (counts["n_rewards"] if form == "jsonl" else 0)
        if options.out is None and sys.stdout.isatty():
            study.export(sys.stdout, form)
            return
        is_binary = form == "parquet"
        target = (
            nullcontext(sys.stdout)
            if options.out is None
            else written(options.out, binary=is_binary)
        )
        with progress("export", lines) as step, target as file:
            counted = file if is_binary else CountedLines(cast(TextIO, file), step)
            study.export(cast("IO[Any]", counted), form)
    if options.out is not None:
        _tell_written(options, form)


def report(options: argparse.Namespace) -> None:
    """Write the figures of a study as one HTML file."""
    with progress("report"):
        with place_of(options) as place:
            page = place.report(options.study)
        with written(options.out) as file:
            file.write(page)
    _tell_written(options, "html")


def _tell_written(options: argparse.Namespace, form: str) -> None:
    size = os.path.getsize(options.out)
    if options.json:
        write_json({"study": options.study, "format": form, "out": options.out, "bytes": size})
    else:
        tell(f"{clean(options.study)} is in {clean(options.out)} ({count(size)} bytes)")


def import_log(options: argparse.Namespace) -> None:
    """Make a study from a log."""
    url = service_url(options)
    size = os.path.getsize(options.file) if os.path.isfile(options.file) else None
    with ended_by_signals(), progress("import", size) as step:
        try:
            if url is None:
                study, checked = _into_store(options, step)
            else:
                study, checked = _into_service(options, url, step)
        except StudyExists as error:
            fix = "pass --name NAME for the new study"
            raise StudyExists(error.what, "names are unique in a store", fix) from None
    if options.json:
        write_json({"study": study, "checked": asdict(checked)})
        return
    say(
        f"{clean(study['name'])} is there: {count(study['n_arms'])} arms, "
        f"{count(study['n_pulls'])} pulls, {count(study['n_rewards'])} rewards"
    )
    say(f"checked: {count(checked.decided)} decisions were made again and came out as in the log")
    if checked.followed:
        say(
            f"not checked: {count(checked.followed)} that a service made with proposals prepared "
            "in the background; they were done as the log says"
        )


def _into_store(options: argparse.Namespace, step: Step) -> tuple[Document, Checked]:
    with bytes_of(options.file) as file:
        # What is no log is told before a database is made for it.
        record, entries = read_log(_counted(file, options.file, step), None, None)
        if options.name is not None:
            record = replace(record, name=checked_name(options.name))
        with store_of(options, may_create=True) as store:
            checked = make_again(store, record, entries)
            return study_document(store.outline(record.name)), checked


def _into_service(options: argparse.Namespace, url: str, step: Step) -> tuple[Document, Checked]:
    source = sys.stdin.buffer if options.file == "-" else options.file
    with service_of(options, url) as place:
        try:
            made = place.import_study(source, options.name, step)
        except OSError as error:
            raise unreadable(options.file, error) from error
    return dict(made.facts.document), made.checked


def _counted(file: Iterable[bytes], path: str, step: Step) -> Iterator[bytes]:
    try:
        for line in file:
            step(len(line))
            yield line
    except OSError as error:
        raise unreadable(path, error) from error
