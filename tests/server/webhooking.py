"""Webhooks, and who sends them, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from imabo import webhooks
from imabo.server.sender import Sender
from imabo.server.settings import Settings
from imabo.server.webhooks import (
    make_webhook,
)
from imabo.stores import Store
from tests.server.receiving import Received

PRIVATE = Settings(poll_s=0.05, proposals=False, allow_private_webhooks=True)
SECRET = "a secret of 16 or more"


@contextmanager
def sending(store: Store, **settings: Any) -> Iterator[Sender]:
    """A sender that looks often and waits little."""
    usual: dict[str, Any] = {"allow_private": True, "poll_s": 0.02, "delay": lambda tries: 0.05}
    sender = Sender(store, **usual | settings)
    sender.start()
    try:
        yield sender
    finally:
        sender.stop()


def hook(store: Store, url: str, **limits: Any) -> str:
    """Add a webhook; its id."""
    made = make_webhook(url, SECRET, at=1.0, **limits)
    store.put_webhook(made, at=1.0)
    return made.id


def states(store: Store, webhook: str) -> list[str]:
    return [one.state for one in store.deliveries(webhook)]


def check(got: Received, secret: str = SECRET) -> dict[str, Any]:
    return webhooks.verify(secret, got.body, got.headers["imabo-signature"])
