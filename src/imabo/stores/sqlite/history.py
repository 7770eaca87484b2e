"""The past of a study in a SQLite file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from imabo.stores.history import (
    History,
    LogEntry,
    Milestone,
    OutcomeRecord,
    PullRecord,
    SignalledRecord,
)
from imabo.stores.rows import (
    by_key,
    dump,
    to_change,
    to_entry,
    to_milestone,
    to_outcome,
    to_pull,
    to_signalled,
)
from imabo.stores.sqlite import statements
from imabo.stores.sqlite.connections import Connections, Row, head_of


class SQLiteHistory(History):
    """See ``History``."""

    _connections: Connections

    def _of(self, name: str, statement: str, **parameters: Any) -> list[Row]:
        """The rows of a statement about a study."""
        with self._connections.reading() as db:
            here = parameters | {"study": head_of(db, name).id}
            return db.execute(statement, here).fetchall()

    def spaces(self, name: str) -> list[Mapping[str, Any]]:
        return [json.loads(space) for (space,) in self._of(name, statements.SPACES)]

    def pulls(self, name: str, *, after: int = 0, limit: int = 1000) -> list[PullRecord]:
        rows = self._of(name, statements.PULLS, after=after, limit=limit)
        return [to_pull(row) for row in rows]

    def pull(self, name: str, number: int) -> PullRecord | None:
        rows = self._of(name, statements.PULL, number=number)
        return to_pull(rows[0]) if rows else None

    def keyed(self, name: str, keys: Sequence[str]) -> dict[str, list[PullRecord]]:
        return by_key(self._of(name, statements.KEYED, keys=dump(list(keys))))

    def declaration(self, name: str) -> Mapping[str, Any] | None:
        rows = self._of(name, statements.DECLARATION)
        return json.loads(rows[0][0]) if rows else None

    def first_rewards(self, name: str, arms: Sequence[int]) -> dict[int, float]:
        rows = self._of(name, statements.FIRST_REWARDS, arms=dump(list(arms)))
        return {arm: reward for arm, reward in rows if reward is not None}

    def outcomes(
        self, name: str, *, after: tuple[int, int] = (0, 0), limit: int = 1000
    ) -> list[OutcomeRecord]:
        place = {"seq": after[0], "number": after[1], "limit": limit}
        return [to_outcome(row) for row in self._of(name, statements.OUTCOMES, **place)]

    def signalled(
        self, name: str, *, after: tuple[int, int] = (0, 0), limit: int = 1000
    ) -> list[SignalledRecord]:
        place = {"seq": after[0], "number": after[1], "limit": limit}
        return [to_signalled(row) for row in self._of(name, statements.SIGNALLED, **place)]

    def log(self, name: str) -> Iterator[LogEntry]:
        with self._connections.reading() as db:
            study = head_of(db, name).id

        def query(db: sqlite3.Connection, last: Row | None) -> sqlite3.Cursor:
            seq, number = (0, 0) if last is None else (last[0], last[3])
            return db.execute(statements.LOG, {"study": study, "seq": seq, "number": number})

        for row in self._connections.stream(query):
            yield to_entry(row)

    def changes(self, name: str, *, limit: int = 1000) -> list[LogEntry]:
        return [to_change(row) for row in self._of(name, statements.CHANGES, limit=limit)][::-1]

    def milestones(self, name: str) -> list[Milestone]:
        return [to_milestone(row) for row in self._of(name, statements.MILESTONES)]
