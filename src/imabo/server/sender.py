"""Sends what waits for webhooks: in a thread of its own, beside the requests.

All that is to be known is in the database: who sends what is decided there, by a lease, and a
process that dies loses nothing. See ``imabo.stores.outbox``.
"""

from __future__ import annotations

import asyncio
import random
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any, Final

import httpx
from pydantic_core import to_json

from imabo.errors import ImaboError, StoreError
from imabo.events import listed_document
from imabo.server.logs import log
from imabo.server.webhooks import addresses_of, target_of
from imabo.stores.base import DeliveryRecord, Store, WebhookRecord
from imabo.stores.outbox import DeliveryState
from imabo.webhooks import SIGNATURE, sign

TRIES: Final = 16  # over about a day
_FIRST_S: Final = 5.0
_LONGEST_S: Final = 6 * 3600.0
_TIMEOUT_S: Final = 10.0  # for all of one try: the name, the connection, the answer
_LEASE_S: Final = 60.0
_AT_ONCE: Final = 8
_EACH: Final = 2  # of one webhook
_SHOWN: Final = 200  # bytes of an answer that are kept
_KEPT_S: Final = 30 * 86_400.0  # that finished deliveries are listed
_PRUNE_EVERY_S: Final = 3600.0
_GRACE_S: Final = 1.0


def delay_s(tries: int, draw: Callable[[], float] = random.random) -> float:
    """How long to wait after so many tries that failed: twice as long each time, and at random.

    Example:
        >>> [delay_s(n, lambda: 1.0) for n in (1, 2, 3, 30)], delay_s(1, lambda: 0.0)
        ([5.0, 10.0, 20.0, 21600.0], 2.5)
    """
    whole = min(_FIRST_S * 2.0 ** min(tries - 1, 30), _LONGEST_S)
    return whole * (0.5 + 0.5 * draw())


class Sender:
    """Claims deliveries that are due and sends them, a few at a time.

    Args:
        store: Where they wait.
        allow_private: Whether addresses of private networks are allowed.
        clock: Seconds since 1970.
        poll_s: How often to look for what is due.
        tries: After this many, a delivery is given up.
        delay: How long to wait after so many tries.
        timeout_s: How long one try may take.
        lease_s: How long one that was claimed is nobody else's; above the timeout.
        tls: Which certificates are believed; by default those of the well-known authorities.
    """

    def __init__(
        self,
        store: Store,
        *,
        allow_private: bool = False,
        clock: Callable[[], float] = time.time,
        poll_s: float = 1.0,
        tries: int = TRIES,
        delay: Callable[[int], float] = delay_s,
        timeout_s: float = _TIMEOUT_S,
        lease_s: float = _LEASE_S,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.outcomes: Counter[str] = Counter({"delivered": 0, "failed": 0, "given up": 0})
        self._store, self._allow_private, self._clock = store, allow_private, clock
        self._poll_s, self._tries, self._delay = poll_s, tries, delay
        self._timeout_s, self._lease_s, self._tls = timeout_s, lease_s, tls
        self._under_way: dict[asyncio.Task[None], str] = {}
        self._prune_at = 0.0
        self._is_away = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="imabo-webhooks", daemon=True)

    def start(self) -> None:
        """Start sending."""
        self._thread.start()

    def stop(self) -> None:
        """Stop; what is under way gets a moment, and what it does not finish is sent again."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(self._poll_s + 2 * _GRACE_S)

    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                now = self._clock()
                if self._store.n_deliveries(due_at=now):
                    # An event loop while there is something to send; mostly there is not.
                    asyncio.run(self._send_all())
                self._prune(now)
                self._is_away = False
            except Exception as error:  # the thread must live as long as the process
                self._lost(error)
            self._stopping.wait(self._poll_s)

    def _prune(self, now: float) -> None:
        if time.monotonic() >= self._prune_at:
            self._prune_at = time.monotonic() + _PRUNE_EVERY_S
            self._store.prune_deliveries(before=now - _KEPT_S)

    def _lost(self, error: Exception) -> None:
        if self._stopping.is_set():
            return
        if not isinstance(error, StoreError):
            log.error("sending webhooks failed", exc_info=error)
        elif not self._is_away:
            log.warning("webhooks wait, because the database is away: %s", error)
            self._is_away = True

    async def _send_all(self) -> None:
        """Send what is due, and what becomes due meanwhile."""
        self._tls = self._tls or httpx.create_ssl_context(trust_env=False)
        # No connection is kept: it would be known by its address, and serve another host there.
        limits = httpx.Limits(max_connections=2 * _AT_ONCE, max_keepalive_connections=0)
        async with httpx.AsyncClient(
            verify=self._tls,
            trust_env=False,
            follow_redirects=False,
            timeout=self._timeout_s,
            limits=limits,
        ) as http:
            try:
                while not self._stopping.is_set():
                    room = _AT_ONCE - len(self._under_way)
                    under_way = Counter(self._under_way.values())
                    busy = [name for name, n in under_way.items() if n >= _EACH]
                    claimed = await asyncio.to_thread(self._claim, room, busy) if room else []
                    for delivery, webhook in claimed:
                        task = asyncio.create_task(self._deliver(http, delivery, webhook))
                        self._under_way[task] = delivery.webhook
                        task.add_done_callback(self._ended)
                    if not self._under_way:
                        return
                    await asyncio.wait(
                        self._under_way, timeout=self._poll_s, return_when=asyncio.FIRST_COMPLETED
                    )
            finally:
                if self._under_way:
                    await asyncio.wait(self._under_way, timeout=_GRACE_S)
                left = list(self._under_way)
                for task in left:
                    task.cancel()
                await asyncio.gather(*left, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._under_way[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._lost(error if isinstance(error, Exception) else RuntimeError(repr(error)))

    def _claim(
        self, room: int, busy: Collection[str]
    ) -> list[tuple[DeliveryRecord, WebhookRecord]]:
        now = self._clock()
        if not self._store.n_deliveries(due_at=now):
            return []
        claimed = self._store.claim_deliveries(
            at=now, lease_s=self._lease_s, limit=room, each=_EACH, busy=busy
        )
        known = {webhook.id: webhook for webhook in self._store.webhooks()} if claimed else {}
        # One that was removed a moment ago has taken its deliveries along.
        return [(one, known[one.webhook]) for one in claimed if one.webhook in known]

    async def _deliver(
        self, http: httpx.AsyncClient, delivery: DeliveryRecord, webhook: WebhookRecord
    ) -> None:
        status: int | None = None
        problem: str | None = None
        try:
            if delivery.tries > self._tries:  # those who tried last died of it, or with it
                raise OSError
            async with asyncio.timeout(self._timeout_s):
                status, said = await self._send(http, delivery, webhook)
            if not 200 <= status < 300:
                problem = f"it answered {status}" + (f": {said}" if said else "")
        except TimeoutError:
            problem = f"it did not answer within {self._timeout_s:g} s"
        except ImaboError as error:  # where the address leads is not allowed, or nowhere
            problem = f"{error.what}: {error.why}"
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            problem = f"it was not reached ({type(error).__name__})"
        state: DeliveryState = "delivered"
        if problem is not None:
            state = "pending" if delivery.tries < self._tries else "given up"
        wait_s = self._delay(delivery.tries) if state == "pending" else 0.0
        is_ours = await asyncio.to_thread(
            self._store.settle_delivery,
            delivery,
            state,
            next_at=self._clock() + wait_s,
            status=status,
            problem=problem,
        )
        self.outcomes["failed" if state == "pending" else state] += 1
        if problem is not None and is_ours:
            # The host alone: the rest of an address may be a secret.
            what = "is given up" if state == "given up" else f"is tried again in {wait_s:.0f} s"
            log.warning(
                "webhook %s (%s): event %d %s after %d of %d tries: %s",
                webhook.id, webhook.host, delivery.event.id, what, delivery.tries, self._tries,
                problem,
            )  # fmt: skip

    async def _send(
        self, http: httpx.AsyncClient, delivery: DeliveryRecord, webhook: WebhookRecord
    ) -> tuple[int, str]:
        """The status of the answer, and how it begins."""
        target = target_of(webhook.url)
        # Looked up each time, and what was checked is what is called: a name that leads elsewhere
        # the next moment changes nothing.
        found = await addresses_of(target, allow_private=self._allow_private)
        url, body = httpx.URL(webhook.url), body_of(delivery)
        headers = {
            "Host": url.netloc.decode("ascii"),
            "Content-Type": "application/json",
            "User-Agent": "imabo-webhooks",
            "Imabo-Delivery": str(delivery.id),
            SIGNATURE: sign(webhook.secret, body, self._clock()),
        }
        request = http.build_request(
            "POST",
            url.copy_with(host=found[0]),
            content=body,
            headers=headers,
            extensions={"sni_hostname": target.host},
        )
        answer = await http.send(request, stream=True)
        try:
            return answer.status_code, await _beginning(answer)
        finally:
            await answer.aclose()


def body_of(delivery: DeliveryRecord) -> bytes:
    """What is sent: the event as the API lists it."""
    document: dict[str, Any] = listed_document(delivery.event)
    return to_json(document, inf_nan_mode="null")


async def _beginning(answer: httpx.Response) -> str:
    """How an answer begins, on one line, for those who look why it failed."""
    if 200 <= answer.status_code < 300:
        return ""
    begun = b""
    async for piece in answer.aiter_raw(_SHOWN):
        begun += piece
        if len(begun) >= _SHOWN:
            break
    text = begun[:_SHOWN].decode("utf-8", "replace")
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
