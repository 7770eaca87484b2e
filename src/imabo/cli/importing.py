"""``imabo import``: an exported log becomes a study again."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace

from imabo.checks import checked_name
from imabo.cli.ending import ended_by_signals
from imabo.cli.files import bytes_of, unreadable
from imabo.cli.output import clean, count, say, write_json
from imabo.cli.places import service_of, service_url, store_of
from imabo.cli.progress import Step, progress
from imabo.documents import Document, study_document
from imabo.errors import StudyExists
from imabo.replay import Checked, make_again, read_log


def import_log(options: argparse.Namespace) -> None:
    """Make a study from a log."""
    url = service_url(options)
    with ended_by_signals(), progress("import", _size(options.file)) as step:
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
            return study_document(store.load(record.name)), checked


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


def _size(path: str) -> int | None:
    return os.path.getsize(path) if os.path.isfile(path) else None
