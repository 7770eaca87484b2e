"""The contract of events and webhooks: one list of what happened, and whom to tell of it.

* ``create``, ``delete``, ``change``, ``put_key``, ``revoke_key``, ``put_webhook`` and
  ``remove_webhook`` add an event to the list, in their own transaction; what they refuse adds none.
* In that transaction, too, a delivery is queued for each webhook that wants the event. So what was
  committed is delivered at some time, whichever process runs then, and what was not is not.
* Events are numbered in the order in which they become visible: who has read up to an id misses
  none of those before it.
* A delivery that was claimed is nobody else's until its lease ends. So each is sent by one process
  at a time, and again by another when the first one died: at least once.
* A kind that the store does not know is kept, listed and delivered like any other.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from imabo.stores.keys import KeyRecord

DeliveryState = Literal["pending", "delivered", "given up"]
MOST_EVENTS: Final = 1000  # of one page, where nobody says otherwise


@dataclass(frozen=True, slots=True)
class EventRecord:
    """Something that happened, as the store has it.

    ``study`` is the name that it is about; None for the service's own. ``reward_range`` is the
    study's, for data that is kept on the scale from 0 to 1.
    """

    id: int
    study: str | None
    kind: str
    at: float
    data: Mapping[str, Any]
    reward_range: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class WebhookRecord:
    """Where to send events: an address, what they are signed with, and which ones.

    ``kinds`` and ``studies`` limit it to events of these; None is all of them, also later ones. The
    secret is kept as it is, because it signs.
    """

    id: str
    url: str
    secret: str = field(repr=False)
    kinds: tuple[str, ...] | None
    studies: tuple[str, ...] | None
    created_at: float

    @property
    def host(self) -> str:
        """The host of the address; the rest of it may be as secret as the secret."""
        return urlsplit(self.url).hostname or ""


@dataclass(frozen=True, slots=True)
class DeliveryRecord:
    """An event on its way to a webhook.

    ``tries`` counts those that began; ``next_at`` is when a pending one is due, which is 0 before
    the first try; ``status`` is the last answer's, ``problem`` what was wrong the last time.
    """

    id: int
    webhook: str
    event: EventRecord
    state: DeliveryState
    tries: int
    next_at: float
    tried_at: float | None
    status: int | None
    problem: str | None


class Outbox(ABC):
    """Where events are listed, and webhooks and their deliveries are kept."""

    @abstractmethod
    def events(
        self,
        study: str | None = None,
        *,
        after: int | None = None,
        before: int | None = None,
        kinds: Sequence[str] = (),
        limit: int = MOST_EVENTS,
    ) -> list[EventRecord]:
        """A page of what happened, the newest last: to a study, or in the whole store.

        With ``after``, the first ones with a larger id; else the newest, below ``before`` if there
        is one. ``kinds`` leaves out all others. ``UnknownStudy`` when there is no such study; of
        one that was deleted and made again, only what happened since.
        """

    @abstractmethod
    def note(
        self, kind: str, data: Mapping[str, Any], *, at: float, study: str | None = None
    ) -> int:
        """Add an event that no other verb stands for; its id. It is in the list of no study."""

    @abstractmethod
    def put_webhook(self, webhook: WebhookRecord, *, at: float) -> None:
        """Add a webhook, or replace the one of its id."""

    @abstractmethod
    def webhooks(self) -> list[WebhookRecord]:
        """Every webhook, in order of creation."""

    @abstractmethod
    def remove_webhook(self, webhook_id: str, *, at: float) -> bool:
        """Forget a webhook and its deliveries, also those that wait; False when there is none."""

    @abstractmethod
    def test_webhook(self, webhook_id: str, *, at: float) -> int | None:
        """Queue a delivery for one webhook, whatever it wants; its id, None when there is none."""

    @abstractmethod
    def send_again(self, webhook_id: str, delivery_id: int) -> int | None:
        """Queue what a delivery carries once more, as a new one; its id, None without such a one.

        The event is the same, and so is its id. The old delivery stays as it is.
        """

    @abstractmethod
    def deliveries(
        self, webhook_id: str, *, before: int | None = None, limit: int = 100
    ) -> list[DeliveryRecord]:
        """The newest deliveries of a webhook, the newest first, with ids below ``before``."""

    @abstractmethod
    def n_deliveries(self, *, due_at: float | None = None) -> dict[DeliveryState, int]:
        """How many there are in each state; with ``due_at``, pending ones that are due alone."""

    @abstractmethod
    def claim_deliveries(
        self, *, at: float, lease_s: float, limit: int, each: int, busy: Collection[str] = ()
    ) -> list[DeliveryRecord]:
        """Take pending deliveries that are due, at most ``limit``, for as long as the lease.

        Of one webhook at most ``each``, and none of those that are ``busy``, so that one that does
        not answer does not hold up the others. Each counts as tried.
        """

    @abstractmethod
    def settle_delivery(
        self,
        delivery: DeliveryRecord,
        state: DeliveryState,
        *,
        next_at: float,
        status: int | None,
        problem: str | None,
    ) -> bool:
        """Say what became of a delivery that was claimed; False when the lease was another's since.

        Pending is for one that is to be tried again at ``next_at``.
        """

    @abstractmethod
    def prune_deliveries(self, *, before: float) -> int:
        """Forget deliveries that are finished and were last tried before a time; how many."""


class _OfThread(threading.local):
    is_quiet = False


_here: Final = _OfThread()


@contextmanager
def quietly() -> Iterator[None]:
    """Within the block, this thread's events are listed and told to nobody.

    For what happened long ago, or elsewhere, and is only done again. A study that is deleted within
    it leaves nothing in the list.
    """
    before, _here.is_quiet = _here.is_quiet, True
    try:
        yield
    finally:
        _here.is_quiet = before


def is_quiet() -> bool:
    """Whether this thread is in a block of ``quietly``."""
    return _here.is_quiet


def wants(webhook: WebhookRecord, event: EventRecord) -> bool:
    """Whether a webhook is to be told of an event.

    Example:
        >>> page = WebhookRecord("w", "https://a.example", "s", ("drift",), ("a",), 0.0)
        >>> [wants(page, EventRecord(1, s, k, 0.0, {})) for s, k in
        ...  (("a", "drift"), ("b", "drift"), ("a", "space"), (None, "drift"))]
        [True, False, False, False]
    """
    return (webhook.kinds is None or event.kind in webhook.kinds) and (
        webhook.studies is None or event.study in webhook.studies
    )


def key_data(key: KeyRecord) -> dict[str, Any]:
    """What an event tells of an access key; never its hash."""
    studies = None if key.studies is None else list(key.studies)
    return {"key": key.id, "name": key.name, "role": key.role, "studies": studies}


def webhook_data(webhook: WebhookRecord) -> dict[str, Any]:
    """What an event tells of a webhook; never its secret, nor all of its address."""
    limits = {"kinds": webhook.kinds, "studies": webhook.studies}
    lists = {name: None if found is None else list(found) for name, found in limits.items()}
    return {"webhook": webhook.id, "host": webhook.host, **lists}
