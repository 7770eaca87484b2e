"""Labelled examples read from an ARFF file, ready for training."""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from imabo.arms import Floats, Ints
from imabo.errors import InvalidSetting, MissingData

_ATTRIBUTE = re.compile(r"@attribute\s+(?:'(?:[^'\\]|\\.)*'|\"[^\"]*\"|\S+)\s+(.+)", re.IGNORECASE)


@dataclass(frozen=True)
class Examples:
    """A data set: one row an example.

    Attributes:
        features: Categories one-hot (those that occur in the file, in sorted order), numbers
            standardised.
        labels: The last attribute of the file, as places among its sorted values.
        source: Name, size and SHA-256 of the file.
    """

    features: Floats
    labels: Ints
    source: dict[str, str | int]


def read(path: Path) -> Examples:
    """Read a data set whose last attribute is the label.

    scipy.io.arff reads escaped quotes wrongly, so the few lines this takes are ours.

    Args:
        path: An ARFF file without missing values.
    """
    if not path.is_file():
        raise MissingData(
            f"there is no file {path}",
            "the table is trained on this data set, which is not shipped",
            "get the ARFF file from OpenML (data sets credit-g and kr-vs-kp) and give its path",
        )
    content = path.read_bytes()
    kinds, rows = _parse(content.decode("utf-8"))
    if any(len(row) != len(kinds) or "?" in row for row in rows) or not rows:
        raise InvalidSetting(
            f"{path} has {len(kinds)} attributes and rows that do not fill them",
            "every row must hold one known value for each attribute",
            "use the data set without missing values",
        )
    columns = list(zip(*rows, strict=True))
    features = [_encode(column, kind) for column, kind in zip(columns, kinds, strict=True)][:-1]
    labels = np.unique(columns[-1], return_inverse=True)[1].astype(np.int64)
    source: dict[str, str | int] = {
        "file": path.name,
        "examples": len(rows),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    return Examples(np.hstack(features), labels, source)


def _parse(text: str) -> tuple[list[str], list[list[str]]]:
    lines = (line.strip() for line in text.splitlines())
    useful = (line for line in lines if line and not line.startswith("%"))
    kinds = list(_header(useful))
    rows = csv.reader(useful, quotechar="'", escapechar="\\", skipinitialspace=True)
    return kinds, [[value.strip() for value in row] for row in rows]


def _header(lines: Iterator[str]) -> Iterator[str]:
    """Each attribute's kind; stops after the line that starts the data."""
    for line in lines:
        if line.lower() == "@data":
            return
        if found := _ATTRIBUTE.match(line):
            yield found.group(1)


def _encode(column: Sequence[str], kind: str) -> Floats:
    if kind.startswith("{"):
        values = np.array(column)
        encoded: Floats = (values[:, None] == np.unique(values)).astype(np.float64)
    else:
        numbers = np.array(column, dtype=np.float64)[:, None]
        encoded = (numbers - numbers.mean()) / (numbers.std() or 1.0)
    return encoded
