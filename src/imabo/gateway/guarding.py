"""Who may use the gateway."""

from __future__ import annotations

import hmac
from typing import Final

from starlette.responses import Response
from starlette.types import Scope

from imabo.gateway.answering import refused
from imabo.server.dispatch import require_local
from imabo.server.problems import Refusal

_PLACES: Final = frozenset((b"host", b"origin"))


class Guard:
    """Says who may use the gateway: whoever has its key, or everyone where it has none."""

    def __init__(self, key: str | None) -> None:
        self._key = None if key is None else b"Bearer " + key.encode()

    async def refusal(self, scope: Scope) -> Response | None:
        """What a caller is answered who may not; None for others."""
        if self._key is None:
            return None
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        if hmac.compare_digest(given, self._key):
            return None
        message = "the gateway asks for its key: send it as 'Authorization: Bearer KEY'"
        return refused(401, "invalid_api_key", message)

    def allows(self, scope: Scope, study: str | None = None) -> bool:
        """Whether a caller may use a study's routes; with None, models by their own names."""
        return True


class LocalGuard(Guard):
    """For a gateway without a key on this machine: its programs may use it, a web page may not."""

    def __init__(self) -> None:
        super().__init__(None)

    async def refusal(self, scope: Scope) -> Response | None:
        """What is answered to what a page elsewhere made a browser on this machine send."""
        seen = {n: value.decode("latin-1") for n, value in scope["headers"] if n in _PLACES}
        try:
            require_local(seen.get(b"host"), seen.get(b"origin"))
        except Refusal as error:
            return refused(error.status, error.code, str(error))
        return None
