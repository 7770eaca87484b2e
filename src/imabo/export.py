"""Writing a study to a file: the whole log as JSON lines, or the pulls as CSV."""

from __future__ import annotations

import codecs
import csv
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import IO, TYPE_CHECKING, Any, Final, TextIO

from imabo.errors import InvalidSetting
from imabo.stores.base import ArmRecord, LogEntry, Store

if TYPE_CHECKING:
    from imabo.study import Study

FORMAT: Final = 1  # of the JSON lines; a reader refuses what it does not know


def export(
    study: Study, store: Store, target: str | os.PathLike[str] | TextIO, form: str | None
) -> None:
    """Write a study to a path or an open text file (see ``Study.export``)."""
    write = _write_csv if export_format(target, form) == "csv" else _write_jsonl
    if isinstance(target, (str, os.PathLike)):
        with open(target, "w", encoding="utf-8", newline="") as file:
            write(study, store, file)
    else:
        write(study, store, target)


def export_format(target: str | os.PathLike[str] | TextIO, form: str | None) -> str:
    """The format to write: the one that was named, else what the path ends with.

    Example:
        >>> export_format("pulls.csv", None), export_format("pulls.csv", "jsonl")
        ('csv', 'jsonl')
    """
    if form is None:
        form = "jsonl"
        if isinstance(target, (str, os.PathLike)):
            form = os.path.splitext(os.fspath(target))[1].lstrip(".")
    if form not in ("jsonl", "csv"):
        why = "a study is exported as 'jsonl' or 'csv'"
        fix = "pass format='jsonl' or a path that ends in .jsonl or .csv"
        raise InvalidSetting(f"the format is {form!r}", why, fix)
    return form


def copy_export(file: IO[bytes], target: str | os.PathLike[str] | TextIO) -> None:
    """Write what another process exported, read from ``file``, to a path or an open text file."""
    file.seek(0)
    if isinstance(target, (str, os.PathLike)):
        with open(target, "wb") as copied:
            shutil.copyfileobj(file, copied)
    else:
        shutil.copyfileobj(codecs.getreader("utf-8")(file), target)


def _write_jsonl(study: Study, store: Store, file: TextIO) -> None:
    for line in _lines(study, store):
        file.write(json.dumps(line, allow_nan=False) + "\n")


def _write_csv(study: Study, store: Store, file: TextIO) -> None:
    del store
    names = list(study.space.names)
    for arm in study.arms():
        names += [name for name in arm.config if name not in names]
    writer = csv.writer(file)
    pull_columns = ["id", "arm", "reason", "state", "reward", "served_at", "rewarded_at", "context"]
    pull_columns += ["group", "propensity"]
    writer.writerow(pull_columns + [f"config.{name}" for name in names])
    for pull in study:
        writer.writerow(
            [
                pull.id,
                pull.arm,
                pull.reason,
                pull.state,
                "" if pull.reward is None else repr(pull.reward),
                _iso(pull.served_at),
                _iso(pull.rewarded_at),
                "" if pull.context is None else json.dumps(pull.context),
                pull.group or "",
                "" if pull.propensity is None else repr(pull.propensity),
                # JSON cells, so that true, "true", null and an absent parameter stay apart.
                *(json.dumps(pull.config[n]) if n in pull.config else "" for n in names),
            ]
        )


def _lines(study: Study, store: Store) -> Iterator[dict[str, Any]]:
    snapshot = store.load(study.name)
    record = snapshot.study
    yield {
        "kind": "study",
        "format": FORMAT,
        "name": record.name,
        "seed": record.seed,
        "space": record.space,
        "policy": record.policy,
        "oracle": record.oracle,
        "reward_range": record.reward_range,
        "window_s": record.window_s,
        "created_at": record.created_at,
    }
    arms = {arm.id: arm for arm in snapshot.arms}
    admitted: set[int] = set()
    for entry in store.log(study.name):
        if not set(_named(entry)) <= arms.keys():
            arms = {arm.id: arm for arm in store.load(study.name).arms}
        line = _line(entry, arms)
        if entry.arm is not None and entry.arm not in admitted:
            admitted.add(entry.arm)
            arm = arms[entry.arm]
            line |= {"origin": arm.origin, "parent": arm.parent, "mutated": arm.mutated}
        yield line


def _named(entry: LogEntry) -> Iterable[int]:
    """The arms whose configuration an entry's line has."""
    if entry.kind == "arms" and entry.data is not None and entry.data["first"] is not None:
        return range(entry.data["first"], entry.data["last"] + 1)
    return [] if entry.arm is None else [entry.arm]


def _line(entry: LogEntry, arms: dict[int, ArmRecord]) -> dict[str, Any]:
    line: dict[str, Any] = {"kind": entry.kind, "at": entry.at}
    if entry.kind == "ask" and entry.arm is not None:
        config = arms[entry.arm].config
        line |= {"pull": entry.pull, "arm": entry.arm, "reason": entry.reason, "config": config}
        if entry.group is not None:
            line |= {"group": entry.group, "propensity": entry.propensity}
        line |= entry.data or {}
    elif entry.kind == "tell":
        line |= {"pull": entry.pull, "reward": entry.reward}
    else:
        line |= entry.data or {}
        if entry.kind == "arms":
            line["configs"] = [arms[arm].config for arm in _named(entry)]
    return line


def _iso(moment: datetime | None) -> str:
    return "" if moment is None else moment.isoformat()
