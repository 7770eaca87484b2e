"""A real server on loopback, in a thread, for tests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Self

import uvicorn

from imabo.server.access import make_key
from imabo.server.app import make_app
from imabo.server.protocol import protocol_for
from imabo.server.settings import Settings
from imabo.stores import Store, open_store


class RunningServer:
    """The service on a free port, until ``stop``; also a context manager.

    Args:
        store: A URL, a store (which stays open), or None for memory.
        clock: The clock of every study.
        keys: For each name, the role of a key and the studies it is limited to (None: all);
            ``keys[name]`` of the server is then the key's text.
        settings: Others than the defaults; tests look at the store more often.
        port: 0 for a free one; the port of a server that was stopped, to start it again.
    """

    def __init__(
        self,
        store: str | Store | None = None,
        *,
        clock: Callable[[], float] = time.time,
        keys: dict[str, tuple[str, tuple[str, ...] | None]] | None = None,
        settings: Settings | None = None,
        port: int = 0,
    ) -> None:
        self._owns_store = not isinstance(store, Store)
        self.store = open_store(store)
        self.keys: dict[str, str] = {}
        for name, (role, studies) in (keys or {}).items():
            self.keys[name], record = make_key(name, role, studies, at=0.0)
            self.store.put_key(record)
        self.settings = settings or Settings(poll_s=0.05, proposals=False)
        self.app = make_app(self.store, self.settings, clock=clock)
        config = uvicorn.Config(
            self.app,
            http=protocol_for(self.settings),
            host="127.0.0.1",
            port=port,
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=5,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise RuntimeError("the server did not start")
            time.sleep(0.005)
        self.port: int = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    @property
    def connections(self) -> set[Any]:
        """The protocols of the connections that are open."""
        return set(self._server.server_state.connections)

    def stop(self) -> None:
        """Stop as on SIGTERM: what was accepted is committed."""
        self._server.should_exit = True
        self._thread.join(60.0)
        if self._owns_store:
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()
