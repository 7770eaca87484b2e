"""Writing a study to a file: the whole log as JSON lines, or the pulls as CSV or Parquet."""

from __future__ import annotations

import codecs
import csv
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from typing import IO, TYPE_CHECKING, Any, Final, TextIO, cast

from imabo.arms import Pull
from imabo.columns import parameters_of, tables_of, write_parquet
from imabo.documents import own_key
from imabo.engine.declaring import ALL_CHANGES, first_settings
from imabo.errors import InvalidSetting
from imabo.spelling import closest
from imabo.stores.base import ArmRecord, LogEntry, Store

if TYPE_CHECKING:
    from imabo.study import Study

FORMATS: Final = ("jsonl", "csv", "parquet")
# What a spreadsheet takes for a formula, and JSON's own quote; what is read as something else.
_FORMULA: Final = "=+-@\"'"
_NUMERIC: Final = re.compile(r"[\d.,:/ _-]*\d[\d.,:/ _eE+-]*(?:[%$€]|[aApP][mM])?")
_NOT_TEXT: Final = frozenset(
    [
        "",
        "#n/a",
        "#n/a n/a",
        "#na",
        "1.#ind",
        "1.#qnan",
        "<na>",
        "n/a",
        "na",
        "null",
        "nan",
        "none",
        "true",
        "false",
        "inf",
        "infinity",
    ]
)
FORMAT: Final = 1  # of the JSON lines; a reader refuses what it does not know


def export(
    study: Study, store: Store, target: str | os.PathLike[str] | IO[Any], form: str | None
) -> None:
    """Write a study to a path or an open file (see ``Study.export``)."""
    form = export_format(target, form)
    if form == "parquet":
        write_parquet(tables_of(study, study.space.names, study.arms(), study.signals), target)
        return
    write = _write_csv if form == "csv" else _write_jsonl
    if isinstance(target, (str, os.PathLike)):
        with open(target, "w", encoding="utf-8", newline="") as file:
            write(study, store, file)
    else:
        write(study, store, cast(TextIO, target))


def export_format(target: str | os.PathLike[str] | IO[Any], form: str | None) -> str:
    """The format to write: the one that was named, else what the path ends with.

    Example:
        >>> export_format("pulls.csv", None), export_format("pulls.csv", "jsonl")
        ('csv', 'jsonl')
    """
    if form is None:
        form = "jsonl"
        if isinstance(target, (str, os.PathLike)):
            form = os.path.splitext(os.fspath(target))[1].lstrip(".")
    if form not in FORMATS:
        why = f"a study is exported as {', '.join(map(repr, FORMATS[:-1]))} or {FORMATS[-1]!r}"
        close = closest(form, FORMATS) or "jsonl"
        fix = f"pass format={close!r}, or a path that ends in .jsonl, .csv or .parquet"
        raise InvalidSetting(f"the format is {form!r}", why, fix)
    return form


def copy_export(file: IO[bytes], target: str | os.PathLike[str] | IO[Any]) -> None:
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
    parameters = parameters_of(study.space.names, study.arms())
    writer = csv.writer(file)
    plain, signals = [one.name for one in fields(Pull) if one.name != "config"], [*study.signals]
    told = [f"signal.{name}" for name in signals]
    writer.writerow([*plain, *told, *(f"config.{name}" for name in parameters)])
    for pull in study:
        context = "" if pull.context is None else json.dumps(pull.context)
        documents = {
            "id": pull.id,  # ours: no spreadsheet takes one for a number, whatever its digits
            "context": context,
            "signals": json.dumps(dict(pull.signals)) if pull.signals else "",
        }
        writer.writerow(
            [
                *(documents[n] if n in documents else cell(getattr(pull, n)) for n in plain),
                *(cell(pull.signals.get(name)) for name in signals),
                # An absent parameter is empty, and null is a value.
                *(
                    cell(pull.config[name], "null") if name in pull.config else ""
                    for name in parameters
                ),
            ]
        )


def cell(value: object, none: str = "") -> str:
    """A value as a spreadsheet and pandas read it back; a formula is not one.

    Text is written as it is. Where it would be read as something else (a number, a date, a formula,
    nothing at all) it is written as JSON, with quotes; ``json.loads`` takes them off.

    Example:
        >>> [cell(value) for value in ("large", 0.25, 3, True, None)]
        ['large', '0.25', '3', 'true', '']
        >>> [cell(value) for value in ("=1+1", "007", "None", "")]
        ['"=1+1"', '"007"', '"None"', '""']
    """
    if value is None:
        return none
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str):
        return json.dumps(value) if _is_misread(value) else value
    return json.dumps(value) if isinstance(value, bool) else repr(value)


def _is_misread(text: str) -> bool:
    if text.casefold() in _NOT_TEXT or text != text.strip() or not text.isprintable():
        return True
    return text[0] in _FORMULA or bool(_NUMERIC.fullmatch(text))


def _lines(study: Study, store: Store) -> Iterator[dict[str, Any]]:
    snapshot = store.load(study.name)
    record = snapshot.study
    first = first_settings(record, store.changes(study.name, limit=ALL_CHANGES))
    yield {
        "kind": "study",
        "format": FORMAT,
        "name": record.name,
        "seed": record.seed,
        "space": record.space,
        "policy": record.policy,
        "oracle": record.oracle,
        "reward_range": first["reward_range"],
        "window_s": first["window_s"],
        "created_at": record.created_at,
        **{
            name: first[name]
            for name in ("revision", "signals", "objective")
            if first[name] is not None
        },
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
        line |= _asked_with(entry.data or {})
    elif entry.kind == "tell":
        line |= {"pull": entry.pull, "reward": entry.reward, **(entry.data or {})}
    elif entry.kind == "signal":
        line |= {"pull": entry.pull, **(entry.data or {})}
    else:
        line |= entry.data or {}
        if entry.kind == "arms":
            line["configs"] = [arms[arm].config for arm in _named(entry)]
    return line


def _asked_with(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the caller gave: not the key that a client made for its retries."""
    if own_key(data.get("key")) is not None:
        return data
    return {name: value for name, value in data.items() if name == "context"}
