"""Events as a file: JSON lines, CSV or Parquet, by what its name ends with."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from imabo.cli.files import written
from imabo.cli.output import write_json
from imabo.columns import Columns, arrow_of, write_parquet
from imabo.documents import Document
from imabo.errors import InvalidSetting
from imabo.export import FORMATS, cell
from imabo.space.scalars import show
from imabo.spelling import closest

_COLUMNS: Final = ("id", "study", "kind", "at", "data", "text")


def event_format(path: str) -> str:
    """The format that a file's name ends with; JSON lines where it ends with none.

    Example:
        >>> event_format("events.csv"), event_format("/dev/stdout")
        ('csv', 'jsonl')
    """
    ending = os.path.splitext(path)[1].lower().lstrip(".")
    if not ending or ending in FORMATS:
        return ending or "jsonl"
    close = closest(ending, FORMATS) or "jsonl"
    raise InvalidSetting(
        f"the file is {show(path)}",
        "events are written as JSON lines, CSV or Parquet, by what its name ends with",
        f"end it in .{close}" if close != "jsonl" else "end it in .jsonl, .csv or .parquet",
    )


def write_events(path: str, pages: Iterable[list[Document]]) -> int:
    """Write events, given page by page, to a file; how many there were."""
    form, n = event_format(path), 0

    def counted() -> Iterator[list[Document]]:
        nonlocal n
        for page in pages:
            n += len(page)
            yield page

    with written(path, binary=form == "parquet") as file:
        if form == "parquet":
            tables = (arrow_of(_columns(page), _KINDS) for page in _at_least_one(counted()))
            write_parquet(tables, file)
        elif form == "csv":
            writer = csv.writer(file)
            writer.writerow(_COLUMNS)
            for page in counted():
                writer.writerows(map(_cells, page))
        else:
            for page in counted():
                for event in page:
                    write_json(event, file)
    return n


_KINDS: Final = {"id": "int", "data": "json"}


def _at_least_one(pages: Iterator[list[Document]]) -> Iterator[list[Document]]:
    """A file of no events has columns, too."""
    yield next(pages, [])
    yield from pages


def _columns(page: list[Document]) -> Columns:
    columns: Columns = {name: [event[name] for event in page] for name in _COLUMNS}
    return columns | {"at": [datetime.fromisoformat(at) for at in columns["at"]]}


def _cells(event: Document) -> list[str]:
    at = datetime.fromisoformat(event["at"])
    known = {"at": cell(at), "data": json.dumps(event["data"])}
    return [known[name] if name in known else cell(event[name]) for name in _COLUMNS]
