"""Webhooks: what one may be, which addresses are allowed, and how one is shown.

Needs no extra, so that the shell can use it. ``server/sender.py`` sends.
"""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import socket
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from imabo.checks import checked_text
from imabo.documents import stamp, to_datetime
from imabo.errors import InvalidSetting
from imabo.event_kinds import checked_kinds
from imabo.events import listed_document
from imabo.settings import unfit
from imabo.stores.base import DeliveryRecord, Store, WebhookRecord

MOST_WEBHOOKS: Final = 100  # of a store: each event is queued for all that want it
_MOST_NAMES: Final = 100  # kinds or studies of one
_LONGEST_URL: Final = 2000
_PORTS: Final = {"http": 80, "https": 443}
_SECRET: Final = (16, 200)  # characters
_LOOK_UP_S: Final = 5.0
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Target:
    """Where an address points to: its parts, of a form that can be called."""

    scheme: str
    host: str
    port: int


def make_webhook(
    url: object,
    secret: object = None,
    kinds: Iterable[object] | None = None,
    studies: Iterable[object] | None = None,
    *,
    at: float,
) -> WebhookRecord:
    """A new webhook, checked but for where its address leads; without a secret, one is made.

    Example:
        >>> made = make_webhook("https://ops.example/imabo", kinds=["drift"], at=0.0)
        >>> made.kinds, made.studies, len(made.secret) > 40
        (('drift',), None, True)
    """
    wanted = checked_names("kinds", kinds)
    checked_kinds(wanted or ())
    return WebhookRecord(
        id=secrets.token_hex(6),
        url=checked_url(url),
        secret=secrets.token_urlsafe(32) if secret is None else checked_secret(secret),
        kinds=wanted,
        studies=checked_names("studies", studies),
        created_at=at,
    )


def check_room(store: Store) -> None:
    """Refuse one webhook more than a store may have."""
    if len(store.webhooks()) >= MOST_WEBHOOKS:
        raise InvalidSetting(
            f"there are {MOST_WEBHOOKS} webhooks already",
            "each event is queued for all of them",
            "remove one first, or have one of them pass the events on",
        )


def checked_url(url: object) -> str:
    """An address that a webhook may have, if where it leads is allowed."""
    target_of(url)
    return str(url)


def target_of(url: object) -> Target:
    """The parts of an address; refuses one that cannot be called, or carries a password."""
    if isinstance(url, str) and len(url) <= _LONGEST_URL and url.isascii() and url.isprintable():
        with suppress(ValueError):
            parts = urlsplit(url)
            port = _PORTS.get(parts.scheme, 0) if parts.port is None else parts.port
            is_whole = parts.scheme in _PORTS and parts.hostname and 0 < port < 65_536
            is_plain = parts.username is None and not parts.fragment and " " not in url
            if is_whole and is_plain and parts.hostname is not None:
                return Target(parts.scheme, parts.hostname, port)
    # Not shown: what is wrong with it may be a password in it.
    raise InvalidSetting(
        "the webhook's URL cannot be used",
        f"it must be an http or https address in ASCII of at most {_LONGEST_URL} characters, with "
        "a host and without user, password and fragment",
        "pass https://ops.example/imabo, say; the secret goes into secret",
    )


def checked_secret(secret: object) -> str:
    """A secret that somebody chose."""
    least, most = _SECRET
    is_text = isinstance(secret, str) and secret.isascii() and secret.isprintable()
    if is_text and least <= len(str(secret)) <= most:
        return str(secret)
    raise InvalidSetting(
        "the webhook's secret cannot be used",  # and is shown nowhere
        f"it must be {least} to {most} printable ASCII characters",
        "leave it out, and one is made",
    )


def checked_names(what: str, names: Iterable[object] | None) -> tuple[str, ...] | None:
    """Kinds or studies to limit a webhook to; None for all of them."""
    if names is None:
        return None
    found = tuple(dict.fromkeys(checked_text(f"one of the {what}", name) for name in names))
    if not 0 < len(found) <= _MOST_NAMES:
        why = f"there must be 1 to {_MOST_NAMES} of them"
        raise unfit(what, list(found), why, "leave them out for all")
    return found


# --- which addresses are allowed ------------------------------------------------------------------


def is_public(address: Address) -> bool:
    """Whether an address is one of the internet, and of nothing behind it.

    Example:
        >>> names = ("93.184.216.34", "10.0.0.7", "169.254.169.254", "::ffff:127.0.0.1", "fe80::1")
        >>> [is_public(ipaddress.ip_address(name)) for name in names]
        [True, False, False, False, False]
    """
    if isinstance(address, ipaddress.IPv6Address):
        # Addresses that carry one of the old protocol lead there.
        inner = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        if address in _NAT64:
            inner.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if not all(is_public(one) for one in inner if one is not None):
            return False
        if address.ipv4_mapped is not None:
            return True
    return address.is_global and not address.is_multicast


async def addresses_of(target: Target, *, allow_private: bool) -> list[str]:
    """Where a name leads now; refuses it when any of these is private and that is not allowed."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(_LOOK_UP_S):
            found = await loop.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:  # TimeoutError is an OSError
        raise InvalidSetting(
            f"the webhook's host {target.host!r} is not known",
            f"its name does not lead to an address ({error})",
            "check the name, or try again when names can be looked up",
        ) from None
    known = list(dict.fromkeys(str(address[0]) for *_, address in found))
    if not allow_private:
        for one in known:
            if not is_public(ipaddress.ip_address(one.partition("%")[0])):
                raise InvalidSetting(
                    f"the webhook's host {target.host!r} leads to {one}",
                    "it is an address of a private network, of this machine or of a link",
                    "use a public one; or, where those who add webhooks may reach what the "
                    "service reaches, serve with --allow-private-webhooks",
                )
    return known


async def check_address(url: str, *, allow_private: bool) -> None:
    """Refuse an address that leads where webhooks may not go; it is looked at again when sent."""
    await addresses_of(target_of(url), allow_private=allow_private)


# --- how they are shown ---------------------------------------------------------------------------


def webhook_document(webhook: WebhookRecord) -> dict[str, Any]:
    """A webhook, without its secret."""
    return {
        "id": webhook.id,
        "url": webhook.url,
        "kinds": None if webhook.kinds is None else list(webhook.kinds),
        "studies": None if webhook.studies is None else list(webhook.studies),
        "created_at": stamp(to_datetime(webhook.created_at)),
    }


def delivery_document(delivery: DeliveryRecord) -> dict[str, Any]:
    """A delivery: what, how far, and when it is tried next."""
    is_waiting = delivery.state == "pending"
    tried_at, next_at = delivery.tried_at, delivery.next_at
    return {
        "id": delivery.id,
        "event": listed_document(delivery.event),
        "state": delivery.state,
        "tries": delivery.tries,
        "tried_at": None if tried_at is None else stamp(to_datetime(tried_at)),
        # Before the first try it is due at once.
        "next_at": stamp(to_datetime(next_at)) if is_waiting and delivery.tries else None,
        "status": delivery.status,
        "problem": delivery.problem,
    }
