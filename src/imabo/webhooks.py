"""For those who receive webhooks: whether a request is from imabo, and what it says.

Needs nothing but Python. docs/guides/webhooks.md has the same check in ten lines without imabo.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from typing import Any, Final

from imabo.errors import Unauthorized

__all__ = ["sign", "verify"]

SIGNATURE: Final = "Imabo-Signature"  # the header: t=seconds,v1=hex
_MOST_PARTS: Final = 10


def sign(secret: str, body: bytes, at: float) -> str:
    """The header that goes with a body: HMAC-SHA256 of the time, a dot and the body.

    Args:
        secret: The webhook's.
        body: As it is sent, byte for byte.
        at: Seconds since 1970; whole ones are signed.

    Example:
        >>> sign("a secret", b'{"id": 7}', 1763294400.5)[:28]
        't=1763294400,v1=7712bc078673'
    """
    return f"t={int(at)},v1={_digest(secret, body, str(int(at)))}"


def verify(
    secret: str,
    body: bytes,
    signature: str | None,
    *,
    tolerance_s: float = 300.0,
    now: float | None = None,
) -> dict[str, Any]:
    """The event in a webhook's body, if it is from someone who has the secret; raises otherwise.

    A request that was signed too long ago is refused as well, so that one which was overheard
    cannot be sent again later. Within that time, and after a try whose answer got lost, the same
    event may come twice: remember the ``id`` of those you have seen.

    Args:
        secret: The webhook's.
        body: As it came, byte for byte; not parsed and written again.
        signature: The header ``Imabo-Signature``; None when there was none.
        tolerance_s: How far its time may be from now, above 0.
        now: Seconds since 1970; the clock's by default.

    Raises:
        Unauthorized: The request is not to be believed; answer with 401.

    Example:
        >>> body = b'{"id": 7, "kind": "drift"}'
        >>> verify("a secret", body, sign("a secret", body, 1000.0), now=1010.0)["kind"]
        'drift'
        >>> verify("another", body, sign("a secret", body, 1000.0), now=1010.0)
        Traceback (most recent call last):
        imabo.errors.Unauthorized: the webhook's signature does not fit: ...
    """
    said, digests = "", []
    for part in (signature or "").split(",", _MOST_PARTS):
        name, _, value = part.strip().partition("=")
        if name == "t":
            said = value
        elif name == "v1":
            digests.append(value)
    if not said.isascii() or not said.isdigit() or len(said) > 15 or not digests:
        raise _refused("there is none, or it has another form", "take it from Imabo-Signature")
    right = _digest(secret, body, said)
    fits = [hmac.compare_digest(right.encode(), one.encode("utf-8", "replace")) for one in digests]
    if not any(fits):
        raise _refused("the secret or the body is another", "pass the body byte for byte")
    moment = time.time() if now is None else now
    if abs(moment - int(said)) > tolerance_s:
        why = f"it is {abs(moment - int(said)):.0f} s from now, more than {tolerance_s:g}"
        raise _refused(why, "check this machine's clock, or ignore the request")
    event: dict[str, Any] = json.loads(body)
    return event


def _digest(secret: str, body: bytes, at: str) -> str:
    return hmac.new(secret.encode(), at.encode() + b"." + body, hashlib.sha256).hexdigest()


def _refused(why: str, fix: str) -> Unauthorized:
    return Unauthorized("the webhook's signature does not fit", why, fix)
