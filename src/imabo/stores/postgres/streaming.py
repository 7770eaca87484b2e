"""Reading a study's log, however long, a piece at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sqlalchemy import Connection

from imabo.stores.postgres.connections import Connections
from imabo.stores.postgres.statements import reading

_PIECE: Final = 1000


def stream(connections: Connections, name: str) -> Iterator[Any]:
    """The entries of a log, on a connection of its own that holds nobody up.

    A fork's child that goes on with it asks again, from the last entry that it has.
    """
    study = connections.study_id(name)
    last = (0, 0)
    while True:
        pid = connections.check()
        with connections.translated():
            db = connections.apart.connect()
        with connections.returned(db):
            with connections.translated(), connections.patiently():
                _declare(db, study, last)
            while pid == connections.check():
                with connections.translated():
                    rows = db.exec_driver_sql(f"FETCH {_PIECE} FROM imabo_log").all()
                    db.commit()
                if not rows:
                    return
                for row in rows:
                    yield row
                    last = row[0], row[3]


def _declare(db: Connection, study: int, last: tuple[int, int]) -> None:
    place = {"study": study, "seq": last[0], "number": last[1]}
    db.exec_driver_sql(reading.LOG, place)
    db.commit()
