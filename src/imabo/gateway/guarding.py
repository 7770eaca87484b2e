"""Who may use the gateway."""

from __future__ import annotations

import hmac

from starlette.responses import Response
from starlette.types import Scope

from imabo.gateway.answering import refused


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
