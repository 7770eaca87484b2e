"""A web server with a client, which lives until SIGTERM: ``framework.py MADE URL PULL...``.

``MADE`` says when the client is made: ``before`` the server, or ``inside`` it, where the server has
put a handler of its own in place.
"""

from __future__ import annotations

import signal
import sys
from typing import Any

import uvicorn

from imabo.client import Client


class Application:
    """Tells rewards when it starts, and closes a client of its own when it stops."""

    def __init__(self, client: Client | None, url: str, pulls: list[str]) -> None:
        self._client, self._url, self._pulls = client, url, pulls

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "lifespan"
        await receive()
        handler = signal.getsignal(signal.SIGTERM)
        client = self._client or Client(self._url, timeout_s=30.0)
        assert signal.getsignal(signal.SIGTERM) == handler
        for pull in self._pulls:
            client.study("s").tell(pull, 1.0, wait=False)
        await send({"type": "lifespan.startup.complete"})
        print("told", flush=True)
        await receive()
        if client is not self._client:
            client.close()
        await send({"type": "lifespan.shutdown.complete"})


if __name__ == "__main__":
    made, url, *pulls = sys.argv[1:]
    client = Client(url, timeout_s=30.0) if made == "before" else None
    uvicorn.run(Application(client, url, pulls), host="127.0.0.1", port=0, log_config=None)
