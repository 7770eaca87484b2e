"""The table of pulls, read without the store."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import Any, Final, NamedTuple

import psycopg

_COLUMNS: Final = "p.number, p.arm, p.state, p.reward, p.key, p.part, p.signals"


class Row(NamedTuple):
    """A row of it."""

    number: int
    arm: int
    state: str
    reward: float | None
    key: str | None
    part: int
    signals: str | None

    @property
    def values(self) -> dict[str, float]:
        """The values of its signals, which are JSON with their times."""
        return {name: one[0] for name, one in json.loads(self.signals or "{}").items()}


def read_pulls(url: str, name: str) -> list[Row]:
    """The pulls of a study, by number."""
    return [Row(*row) for row in _read(url, name)]


def _read(url: str, name: str) -> list[Any]:
    if url.startswith("sqlite:///"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
            assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            return file.execute(
                f"SELECT {_COLUMNS} FROM pulls p JOIN studies s ON s.id = p.study "
                "WHERE s.name = ? ORDER BY p.number",
                (name,),
            ).fetchall()
    with psycopg.connect(url) as db:
        return db.execute(
            f"SELECT {_COLUMNS} FROM imabo_pulls p JOIN imabo_studies s ON s.id = p.study "
            "WHERE s.name = %s ORDER BY p.number".encode(),
            (name,),
        ).fetchall()
