"""Models that failed several times in a row: a fallback answers in their place for a while."""

from __future__ import annotations

from imabo.client.session import Breaker
from imabo.gateway.settings import Target


class Breakers:
    """One for each model of an upstream: a server may have lost one model and not the others."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Breaker] = {}

    def of(self, target: Target) -> Breaker:
        """The one of a model; who is admitted must ``record`` or ``release``."""
        key = (target.upstream.name, target.model)
        if key not in self._known:
            name = f"model {target.model!r} of upstream {target.upstream.name!r}"
            self._known[key] = Breaker(name=name)
        return self._known[key]
