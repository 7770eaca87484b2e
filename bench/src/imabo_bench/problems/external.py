"""Where data sets that imabo does not ship are looked for."""

from __future__ import annotations

import os
from pathlib import Path

from imabo.errors import MissingData

VARIABLE = "IMABO_DATA"


def data_folder(data: Path | str | None) -> Path | None:
    """The folder that was named: the argument, else ``$IMABO_DATA``, else none."""
    named = data if data is not None else os.environ.get(VARIABLE) or None
    return None if named is None else Path(named)


def find(data: Path | str | None, *places: str) -> Path | None:
    """The first of some places under the data folder that exists."""
    root = data_folder(data)
    if root is None:
        return None
    return next((root / place for place in places if (root / place).exists()), None)


def missing(what: str, data: Path | str | None, get: str, place: str) -> MissingData:
    """The error for a data set that was not found.

    Args:
        what: The data set.
        data: The folder that was named, if any.
        get: Where it can be had.
        place: Where it belongs under the data folder.
    """
    root = data_folder(data)
    why = (
        f"no data folder was named (argument data, --data or ${VARIABLE})"
        if root is None
        else f"the data folder {root} has no {place}"
    )
    return MissingData(
        f"{what} was not found", why, f"get it from {get} and put it at {place} in the data folder"
    )
