"""Events, webhooks and deliveries in a SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from imabo.stores.outbox import (
    MOST_EVENTS,
    DeliveryRecord,
    DeliveryState,
    EventRecord,
    Outbox,
    WebhookRecord,
    is_quiet,
    webhook_data,
)
from imabo.stores.outbox_rows import of_webhook, to_delivery, to_event, to_webhook
from imabo.stores.rows import dump, dump_or_none
from imabo.stores.sqlite import outbox_statements as statements
from imabo.stores.sqlite.connections import Connections, head_of

LARGEST: Final = 2**63 - 1


class SQLiteOutbox(Outbox):
    """See ``Outbox``."""

    _connections: Connections

    def events(
        self,
        study: str | None = None,
        *,
        after: int | None = None,
        before: int | None = None,
        kinds: Sequence[str] = (),
        limit: int = MOST_EVENTS,
    ) -> list[EventRecord]:
        wanted: dict[str, Any] = {"limit": limit, "kinds": dump_or_none(list(kinds) or None)}
        with self._connections.reading() as db:
            if study is not None:
                wanted["token"] = head_of(db, study).token
            if after is not None:
                of_all, of_one = statements.EVENTS_AFTER, statements.EVENTS_OF_STUDY_AFTER
                wanted["after"] = min(after, LARGEST)
            else:
                of_all, of_one = statements.EVENTS_BEFORE, statements.EVENTS_OF_STUDY_BEFORE
                wanted["before"] = LARGEST if before is None else min(before, LARGEST)
            rows = db.execute(of_all if study is None else of_one, wanted).fetchall()
        return [to_event(row) for row in (rows if after is not None else rows[::-1])]

    def note(
        self, kind: str, data: Mapping[str, Any], *, at: float, study: str | None = None
    ) -> int:
        with self._connections.writing() as db:
            return add_event(db, kind, data, at, study)

    def put_webhook(self, webhook: WebhookRecord, *, at: float) -> None:
        with self._connections.writing() as db:
            is_new = db.execute(statements.ONE_WEBHOOK, {"id": webhook.id}).fetchone() is None
            db.execute(statements.PUT_WEBHOOK, of_webhook(webhook))
            kind = "webhook added" if is_new else "webhook changed"
            add_event(db, kind, webhook_data(webhook), at)

    def webhooks(self) -> list[WebhookRecord]:
        with self._connections.reading() as db:
            return [to_webhook(row) for row in db.execute(statements.WEBHOOKS)]

    def remove_webhook(self, webhook_id: str, *, at: float) -> bool:
        with self._connections.writing() as db:
            row = db.execute(statements.ONE_WEBHOOK, {"id": webhook_id}).fetchone()
            if row is not None:
                db.execute(statements.REMOVE_WEBHOOK, {"id": webhook_id})
                add_event(db, "webhook removed", webhook_data(to_webhook(row)), at)
            return row is not None

    def test_webhook(self, webhook_id: str, *, at: float) -> int | None:
        with self._connections.writing() as db:
            row = db.execute(statements.ONE_WEBHOOK, {"id": webhook_id}).fetchone()
            if row is None:
                return None
            event = {
                "study": None,
                "kind": "webhook tested",
                "at": at,
                "data": dump(webhook_data(to_webhook(row))),
            }
            made = db.execute(statements.ADD_EVENT, event).lastrowid
            queued = {"webhook": webhook_id, "event": made}
            return db.execute(statements.QUEUE_ONE, queued).lastrowid

    def send_again(self, webhook_id: str, delivery_id: int) -> int | None:
        meant = {"id": min(delivery_id, LARGEST), "webhook": webhook_id}
        with self._connections.writing() as db:
            queued = db.execute(statements.QUEUE_AGAIN, meant)
            return queued.lastrowid if queued.rowcount else None

    def deliveries(
        self, webhook_id: str, *, before: int | None = None, limit: int = 100
    ) -> list[DeliveryRecord]:
        largest = LARGEST if before is None else min(before, LARGEST)
        wanted = {"webhook": webhook_id, "before": largest, "limit": limit}
        with self._connections.reading() as db:
            return [to_delivery(row) for row in db.execute(statements.DELIVERIES, wanted)]

    def n_deliveries(self, *, due_at: float | None = None) -> dict[DeliveryState, int]:
        with self._connections.reading() as db:
            if due_at is None:
                return dict(db.execute(statements.N_DELIVERIES).fetchall())
            return dict(db.execute(statements.N_DUE, {"due_at": due_at}).fetchall())

    def claim_deliveries(
        self, *, at: float, lease_s: float, limit: int, each: int, busy: Collection[str] = ()
    ) -> list[DeliveryRecord]:
        wanted = {"at": at, "limit": limit, "each": each, "busy": dump(list(busy))}
        with self._connections.writing() as db:
            claimed = [
                {"id": row[0], "at": at, "until": at + lease_s}
                for row in db.execute(statements.DUE, wanted).fetchall()
            ]
            db.executemany(statements.CLAIM, claimed)
            rows = [db.execute(statements.CLAIMED, one).fetchone() for one in claimed]
        return [to_delivery(row) for row in rows]

    def settle_delivery(
        self,
        delivery: DeliveryRecord,
        state: DeliveryState,
        *,
        next_at: float,
        status: int | None,
        problem: str | None,
    ) -> bool:
        said = {"state": state, "next_at": next_at, "status": status, "problem": problem}
        meant = {"id": delivery.id, "tries": delivery.tries}
        with self._connections.writing() as db:
            return db.execute(statements.SETTLE, said | meant).rowcount == 1

    def prune_deliveries(self, *, before: float) -> int:
        with self._connections.writing() as db:
            return db.execute(statements.PRUNE, {"before": before}).rowcount


def add_event(
    db: sqlite3.Connection,
    kind: str,
    data: Mapping[str, Any],
    at: float,
    study: str | None = None,
) -> int:
    """List an event that is in no study's own list, and queue its deliveries; its id."""
    event = {"study": study, "kind": kind, "at": at, "data": dump(data)}
    return _queued(db, db.execute(statements.ADD_EVENT, event))


def add_study_event(
    db: sqlite3.Connection, study: int, kind: str, data: Mapping[str, Any], at: float
) -> None:
    """List an event of a study that is there, by its row's id, and queue its deliveries."""
    event = {"study": study, "kind": kind, "at": at, "data": dump(data)}
    _queued(db, db.execute(statements.ADD_STUDY_EVENT, event))


def forget_study(db: sqlite3.Connection, name: str, token: str, at: float) -> None:
    """Take a study's events from the list, and list that it was deleted."""
    db.execute(statements.FORGET_STUDY, {"token": token})
    if not is_quiet():
        add_event(db, "deleted", {}, at, name)


def _queued(db: sqlite3.Connection, added: sqlite3.Cursor) -> int:
    event = added.lastrowid or 0
    if not is_quiet():
        db.execute(statements.QUEUE, {"event": event})
    return event
