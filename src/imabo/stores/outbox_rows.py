"""Events, webhooks and deliveries as rows of a database."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from imabo.stores.outbox import DeliveryRecord, EventRecord, WebhookRecord
from imabo.stores.rows import dump_or_none

EVENT: Final = "study, kind, at, data, reward_low, reward_high"
WEBHOOK: Final = "id, url, secret, kinds, studies, created_at"
DELIVERY: Final = f"id, webhook, state, tries, next_at, tried_at, status, problem, event, {EVENT}"
_EVENT_AT: Final = 8  # where the row of a delivery goes on with its event


def to_event(row: Sequence[Any]) -> EventRecord:
    """An event, from its id and the columns of ``EVENT``."""
    event, study, kind, at, data, low, high = row
    ends = None if low is None or high is None else (low, high)
    return EventRecord(event, study, kind, at, json.loads(data), ends)


def of_webhook(webhook: WebhookRecord) -> dict[str, Any]:
    """A webhook's columns."""
    lists = {name: dump_or_none(getattr(webhook, name)) for name in ("kinds", "studies")}
    return asdict(webhook) | lists


def to_webhook(row: Sequence[Any]) -> WebhookRecord:
    """A webhook, from the columns of ``WEBHOOK``."""
    webhook, url, secret, kinds, studies, created_at = row
    wanted, named = (None if text is None else tuple(json.loads(text)) for text in (kinds, studies))
    return WebhookRecord(webhook, url, secret, wanted, named, created_at)


def to_delivery(row: Sequence[Any]) -> DeliveryRecord:
    """A delivery, from the columns of ``DELIVERY``."""
    delivery, webhook, *how = row[:_EVENT_AT]
    return DeliveryRecord(delivery, webhook, to_event(row[_EVENT_AT:]), *how)
