"""An OpenAI-compatible gateway that tunes what passes through it. Extra: ``gateway``.

``imabo gateway FILE`` runs it; ``make_app(read_settings(FILE))`` is the same as an ASGI application
for a server of your own. docs/guides/gateway.md has the file.
"""

from __future__ import annotations

from imabo.gateway.app import make_app
from imabo.gateway.settings import GatewaySettings, read_settings

__all__ = ["GatewaySettings", "make_app", "read_settings"]
