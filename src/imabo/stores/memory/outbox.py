"""Events, webhooks and deliveries in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from imabo.stores.memory.rows import AllRows
from imabo.stores.outbox import (
    MOST_EVENTS,
    DeliveryRecord,
    DeliveryState,
    EventRecord,
    Outbox,
    WebhookRecord,
    webhook_data,
)


class MemoryOutbox(Outbox):
    """See ``Outbox``."""

    _all: AllRows

    def events(
        self,
        study: str | None = None,
        *,
        after: int | None = None,
        before: int | None = None,
        kinds: Sequence[str] = (),
        limit: int = MOST_EVENTS,
    ) -> list[EventRecord]:
        with self._all.lock:
            self._all.check()
            token = None if study is None else self._all.study(study).record.token
            fitting = (
                event
                for owner, event in (
                    self._all.events if after is not None else self._all.events[::-1]
                )
                if (token is None or owner == token) and (not kinds or event.kind in kinds)
            )
            if after is not None:
                return list(islice((event for event in fitting if event.id > after), limit))
            older = (event for event in fitting if before is None or event.id < before)
            return list(islice(older, limit))[::-1]

    def note(
        self, kind: str, data: Mapping[str, object], *, at: float, study: str | None = None
    ) -> int:
        with self._all.lock:
            self._all.check()
            return self._all.add_event(kind, data, at, study).id

    def put_webhook(self, webhook: WebhookRecord, *, at: float) -> None:
        with self._all.lock:
            self._all.check()
            known = self._all.webhooks.get(webhook.id)
            made_at = webhook.created_at if known is None else known.created_at
            self._all.webhooks[webhook.id] = replace(webhook, created_at=made_at)
            kind = "webhook added" if known is None else "webhook changed"
            self._all.add_event(kind, webhook_data(webhook), at)

    def webhooks(self) -> list[WebhookRecord]:
        with self._all.lock:
            self._all.check()
            return sorted(self._all.webhooks.values(), key=lambda one: (one.created_at, one.id))

    def remove_webhook(self, webhook_id: str, *, at: float) -> bool:
        with self._all.lock:
            self._all.check()
            known = self._all.webhooks.pop(webhook_id, None)
            if known is None:
                return False
            left = self._all.deliveries.items()
            self._all.deliveries = {n: one for n, one in left if one.webhook != webhook_id}
            self._all.add_event("webhook removed", webhook_data(known), at)
            return True

    def test_webhook(self, webhook_id: str, *, at: float) -> int | None:
        with self._all.lock:
            self._all.check()
            known = self._all.webhooks.get(webhook_id)
            if known is None:
                return None
            event = self._all.add_event("webhook tested", webhook_data(known), at, is_told=False)
            return self._all.queue(known, event)

    def send_again(self, webhook_id: str, delivery_id: int) -> int | None:
        with self._all.lock:
            self._all.check()
            known, old = self._all.webhooks.get(webhook_id), self._all.deliveries.get(delivery_id)
            if known is None or old is None or old.webhook != webhook_id:
                return None
            return self._all.queue(known, old.event)

    def deliveries(
        self, webhook_id: str, *, before: int | None = None, limit: int = 100
    ) -> list[DeliveryRecord]:
        with self._all.lock:
            self._all.check()
            newest = (
                one
                for number, one in reversed(self._all.deliveries.items())
                if one.webhook == webhook_id and (before is None or number < before)
            )
            return list(islice(newest, limit))

    def n_deliveries(self, *, due_at: float | None = None) -> dict[DeliveryState, int]:
        with self._all.lock:
            self._all.check()
            found = self._all.deliveries.values()
            return dict(
                Counter(one.state for one in found if due_at is None or _is_due(one, due_at))
            )

    def claim_deliveries(
        self, *, at: float, lease_s: float, limit: int, each: int, busy: Collection[str] = ()
    ) -> list[DeliveryRecord]:
        with self._all.lock:
            self._all.check()
            waiting = [one for one in self._all.deliveries.values() if _is_due(one, at)]
            taken, claimed = Counter[str](), list[DeliveryRecord]()
            for one in sorted(waiting, key=lambda one: (one.next_at, one.id)):
                if one.webhook in busy or taken[one.webhook] >= each or len(claimed) >= limit:
                    continue
                taken[one.webhook] += 1
                claimed.append(replace(one, tries=one.tries + 1, next_at=at + lease_s, tried_at=at))
            self._all.deliveries.update((one.id, one) for one in claimed)
            return claimed

    def settle_delivery(
        self,
        delivery: DeliveryRecord,
        state: DeliveryState,
        *,
        next_at: float,
        status: int | None,
        problem: str | None,
    ) -> bool:
        with self._all.lock:
            self._all.check()
            known = self._all.deliveries.get(delivery.id)
            if known is None or known.state != "pending" or known.tries != delivery.tries:
                return False
            self._all.deliveries[known.id] = replace(
                known, state=state, next_at=next_at, status=status, problem=problem
            )
            return True

    def prune_deliveries(self, *, before: float) -> int:
        with self._all.lock:
            self._all.check()
            old = [
                number
                for number, one in self._all.deliveries.items()
                if one.state != "pending" and one.tried_at is not None and one.tried_at < before
            ]
            for number in old:
                del self._all.deliveries[number]
            return len(old)


def _is_due(delivery: DeliveryRecord, at: float) -> bool:
    return delivery.state == "pending" and delivery.next_at <= at
