"""``imabo import``: an exported log becomes a study again."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

from imabo.checks import checked_name, stored_oracle, stored_policy
from imabo.cli.documents import stored_study
from imabo.cli.ending import ended_by_signals
from imabo.cli.exits import UsageError
from imabo.cli.files import lines_of, unreadable
from imabo.cli.output import clean, count, say, write_json
from imabo.cli.places import service_url, store_of
from imabo.cli.progress import Step, progress
from imabo.engine import Engine
from imabo.errors import ImaboError, ReplayMismatch, StudyExists
from imabo.replay import Entry, apply_log, read_log
from imabo.stores import Store
from imabo.stores.base import StudyRecord


def import_log(options: argparse.Namespace) -> None:
    """Make a study from a log."""
    if service_url(options) is not None:
        raise UsageError(
            "a service takes no logs; import into its database with --store", options.command
        )
    with (
        ended_by_signals(),
        lines_of(options.file) as file,
        progress("import", _size(options.file)) as step,
    ):
        # What is no log is told before a database is made for it.
        record, entries = read_log(_counted(file, options.file, step), None, None)
        if options.name is not None:
            record = replace(record, name=checked_name(options.name))
        checked: Counter[str] = Counter()
        with store_of(options, may_create=True) as store:
            _replay(store, record, _watched(entries, checked))
            snapshot = store.load(record.name)
    if options.json:
        write_json({"study": stored_study(snapshot), "checked": _summary(checked)})
        return
    done = _summary(checked)
    say(
        f"{clean(record.name)} is there: {count(len(snapshot.arms))} arms, "
        f"{count(snapshot.totals.n_pulls)} pulls, {count(snapshot.totals.n_rewards)} rewards"
    )
    say(f"checked: {count(done['decided'])} decisions were made again and came out as in the log")
    if done["followed"]:
        say(
            f"not checked: {count(done['followed'])} that a service made with proposals prepared "
            "in the background; they were done as the log says"
        )


def _replay(store: Store, record: StudyRecord, entries: Iterable[tuple[int, Entry]]) -> None:
    """Create the study and do again what the log says; on any error the study is gone again."""
    policy, oracle = stored_policy(None, record.policy), stored_oracle(None, record.oracle)
    try:
        store.create(record)
    except StudyExists as error:
        fix = "pass --name NAME for the new study"
        raise StudyExists(error.what, "names are unique in a store", fix) from None
    try:
        engine = Engine(store, store.load(record.name), policy, oracle, lambda: record.created_at)
        apply_log(engine, entries)
    except BaseException:
        # By its token, so that never a study of somebody else goes.
        with suppress(ImaboError):
            if store.find(record.token) == record.name:
                store.delete(record.name)
        raise


def _counted(file: Iterable[str], path: str, step: Step) -> Iterator[str]:
    try:
        for line in file:
            step(len(line))
            yield line
    except UnicodeDecodeError as error:
        raise ReplayMismatch(
            f"the log is {path!r}", f"it is not UTF-8 text ({error.reason})", "pass a whole log"
        ) from error
    except OSError as error:
        raise unreadable(path, error) from error


def _watched(
    entries: Iterable[tuple[int, Entry]], checked: Counter[str]
) -> Iterator[tuple[int, Entry]]:
    """The entries, counted as they are done; a service's prepared ones are followed, not decided.

    ``apply_log`` draws the same line: from the first such entry on it does as the log says.
    """
    for number, entry in entries:
        yield number, entry
        kind = str(entry.get("kind"))
        checked["followed?"] |= entry.get("reason") in ("prepared", "waiting")
        checked["followed" if kind == "ask" and checked["followed?"] else kind] += 1


def _summary(checked: Counter[str]) -> dict[str, int]:
    return {
        "decided": checked["ask"],
        "followed": checked["followed"],
        "rewards": checked["tell"],
        "expirations": checked["expire"],
        "changes": checked["state"] + checked["arm"] + checked["space"],
    }


def _size(path: str) -> int | None:
    return os.path.getsize(path) if os.path.isfile(path) else None
