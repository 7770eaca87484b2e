"""The past of a study in PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from imabo.stores.history import (
    History,
    LogEntry,
    Milestone,
    OutcomeRecord,
    PullRecord,
    SignalledRecord,
)
from imabo.stores.postgres import statements
from imabo.stores.postgres.connections import Connections, Found
from imabo.stores.rows import (
    by_key,
    to_change,
    to_entry,
    to_milestone,
    to_outcome,
    to_pull,
    to_signalled,
)

LARGEST: Final = 2**63 - 1  # a wider number is no pull's


class PostgresHistory(History):
    """See ``History``."""

    _connections: Connections

    def _of(self, name: str, statement: bytes, **parameters: Any) -> Found:
        """The rows of a statement about a study; none may mean that there is no such study."""
        rows = self._connections.read(statement, {"name": name, **parameters}, study=name)
        if not rows:
            self._connections.study_id(name)  # raises when there is none
        return rows

    def spaces(self, name: str) -> list[Mapping[str, Any]]:
        return [json.loads(space) for (space,) in self._of(name, statements.SPACES)]

    def pulls(self, name: str, *, after: int = 0, limit: int = 1000) -> list[PullRecord]:
        rows = self._of(name, statements.PULLS, after=min(after, LARGEST), limit=limit)
        return [to_pull(row) for row in rows]

    def pull(self, name: str, number: int) -> PullRecord | None:
        wanted = number if 1 <= number <= LARGEST else 0
        rows = self._of(name, statements.PULL, number=wanted)
        return to_pull(rows[0]) if rows else None

    def keyed(self, name: str, keys: Sequence[str]) -> dict[str, list[PullRecord]]:
        return by_key(self._of(name, statements.KEYED, keys=list(keys)))

    def declaration(self, name: str) -> Mapping[str, Any] | None:
        rows = self._of(name, statements.DECLARATION)
        return json.loads(rows[0][0]) if rows else None

    def first_rewards(self, name: str, arms: Sequence[int]) -> dict[int, float]:
        rows = self._of(name, statements.FIRST_REWARDS, arms=list(arms))
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
        """See ``History.log``; on a connection of its own that holds nobody up.

        A fork's child that goes on with it asks again, from the last entry that it has.
        """
        connections = self._connections
        place = {"study": connections.study_id(name), "seq": 0, "number": 0}
        while True:
            pid = connections.check()
            with connections.apart() as db:
                with connections.translated(), connections.patiently():
                    db.execute(statements.LOG, place)
                while pid == connections.check():
                    with connections.translated():
                        rows = db.execute(statements.MORE_OF_LOG).fetchall()
                    if not rows:
                        return
                    for row in rows:
                        yield to_entry(row)
                        place |= {"seq": row[0], "number": row[3]}

    def changes(self, name: str, *, limit: int = 1000) -> list[LogEntry]:
        return [to_change(row) for row in self._of(name, statements.CHANGES, limit=limit)][::-1]

    def milestones(self, name: str) -> list[Milestone]:
        return [to_milestone(row) for row in self._of(name, statements.MILESTONES)]
