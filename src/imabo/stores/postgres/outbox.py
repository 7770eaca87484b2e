"""Events, webhooks and deliveries in PostgreSQL."""

from __future__ import annotations

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
from imabo.stores.postgres import outbox_statements as statements
from imabo.stores.postgres.connections import NONE, Connections
from imabo.stores.postgres.pool import LimitedConnection
from imabo.stores.rows import dump

LARGEST: Final = 2**63 - 1


class PostgresOutbox(Outbox):
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
        if after is not None:
            of_all, of_one = statements.EVENTS_AFTER, statements.EVENTS_OF_STUDY_AFTER
        else:
            of_all, of_one = statements.EVENTS_BEFORE, statements.EVENTS_OF_STUDY_BEFORE
        wanted = {
            "name": study,
            "after": min(after or 0, LARGEST),
            "before": LARGEST if before is None else min(before, LARGEST),
            "kinds": list(kinds) or None,
            "limit": limit,
        }
        rows = self._connections.read(of_all if study is None else of_one, wanted, study=study)
        if study is not None and not rows:
            self._connections.study_id(study)  # raises when there is none
        found = [to_event(row) for row in rows]
        return found if after is not None else found[::-1]

    def note(
        self, kind: str, data: Mapping[str, Any], *, at: float, study: str | None = None
    ) -> int:
        with self._connections.writing(statements.LOCK, NONE) as (db, _):
            return add_event(db, kind, data, at, study)

    def put_webhook(self, webhook: WebhookRecord, *, at: float) -> None:
        with self._connections.writing(statements.LOCK, NONE) as (db, _):
            ((is_new,),) = db.execute(statements.PUT_WEBHOOK, of_webhook(webhook)).fetchall()
            kind = "webhook added" if is_new else "webhook changed"
            add_event(db, kind, webhook_data(webhook), at)

    def webhooks(self) -> list[WebhookRecord]:
        return [to_webhook(row) for row in self._connections.read(statements.WEBHOOKS)]

    def remove_webhook(self, webhook_id: str, *, at: float) -> bool:
        with self._connections.writing(statements.LOCK, NONE) as (db, _):
            rows = db.execute(statements.REMOVE_WEBHOOK, {"id": webhook_id}).fetchall()
            for row in rows:
                add_event(db, "webhook removed", webhook_data(to_webhook(row)), at)
            return bool(rows)

    def test_webhook(self, webhook_id: str, *, at: float) -> int | None:
        with self._connections.writing(statements.LOCK, NONE) as (db, _):
            rows = db.execute(statements.ONE_WEBHOOK, {"id": webhook_id}).fetchall()
            if not rows:
                return None
            data = dump(webhook_data(to_webhook(rows[0])))
            queued = {"webhook": webhook_id, "kind": "webhook tested", "at": at, "data": data}
            ((made,),) = db.execute(statements.TEST_WEBHOOK, queued).fetchall()
            return int(made)

    def send_again(self, webhook_id: str, delivery_id: int) -> int | None:
        meant = {"id": min(delivery_id, LARGEST), "webhook": webhook_id}
        with self._connections.writing(statements.QUEUE_AGAIN, meant) as (_, rows):
            return int(rows[0][0]) if rows else None

    def deliveries(
        self, webhook_id: str, *, before: int | None = None, limit: int = 100
    ) -> list[DeliveryRecord]:
        largest = LARGEST if before is None else min(before, LARGEST)
        wanted = {"webhook": webhook_id, "before": largest, "limit": limit}
        rows = self._connections.read(statements.DELIVERIES, wanted)
        return [to_delivery(row) for row in rows]

    def n_deliveries(self, *, due_at: float | None = None) -> dict[DeliveryState, int]:
        if due_at is None:
            return dict(self._connections.read(statements.N_DELIVERIES))
        return dict(self._connections.read(statements.N_DUE, {"due_at": due_at}))

    def claim_deliveries(
        self, *, at: float, lease_s: float, limit: int, each: int, busy: Collection[str] = ()
    ) -> list[DeliveryRecord]:
        wanted = {"at": at, "until": at + lease_s, "limit": limit, "each": each, "busy": list(busy)}
        with self._connections.writing(statements.CLAIM, wanted) as (_, rows):
            return sorted((to_delivery(row) for row in rows), key=lambda one: one.id)

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
        with self._connections.writing(statements.SETTLE, said | meant) as (_, rows):
            return bool(rows)

    def prune_deliveries(self, *, before: float) -> int:
        with self._connections.writing(statements.PRUNE, {"before": before}) as (_, rows):
            return len(rows)


def add_event(
    db: LimitedConnection,
    kind: str,
    data: Mapping[str, Any],
    at: float,
    study: str | None = None,
) -> int:
    """List an event that is in no study's own list, and queue its deliveries; its id."""
    return _added(db, statements.ADD_EVENT, study, kind, data, at)


def add_study_event(
    db: LimitedConnection, study: int, kind: str, data: Mapping[str, Any], at: float
) -> None:
    """List an event of a study that is there, by its row's id, and queue its deliveries."""
    _added(db, statements.ADD_STUDY_EVENT, study, kind, data, at)


def forget_study(db: LimitedConnection, name: str, token: str, at: float) -> None:
    """Take a study's events from the list, and list that it was deleted."""
    db.execute(statements.FORGET_STUDY, {"token": token})
    if not is_quiet():
        add_event(db, "deleted", {}, at, name)


def _added(
    db: LimitedConnection,
    statement: bytes,
    study: int | str | None,
    kind: str,
    data: Mapping[str, Any],
    at: float,
) -> int:
    event = {"study": study, "kind": kind, "at": at, "data": dump(data), "is_told": not is_quiet()}
    db.execute(statements.LOCK)
    ((made,),) = db.execute(statement, event).fetchall()
    return int(made)
