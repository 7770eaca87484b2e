"""Running the service: one socket, one process or several, a graceful end."""

from __future__ import annotations

import gc
import json
import math
import os
import resource
import signal
import socket
import threading
from collections.abc import Callable
from types import FrameType
from typing import Final

import uvicorn

from imabo.errors import InvalidSetting
from imabo.server import logs
from imabo.server.app import make_app
from imabo.server.context import Parts
from imabo.server.protocol import protocol_for
from imabo.server.settings import Settings, is_loopback
from imabo.server.supervisor import LIFELINE, READY, SETTINGS, SOCKET, supervise
from imabo.stores import open_store
from imabo.stores.base import Store

_BACKLOG: Final = 2048
_RECEIVED: Final = 1 << 18  # bytes of a body that the system keeps: who imports sees how far it is
_OTHER_FILES: Final = 256  # that the process has open beside its connections
LAST_GRACE_S: Final = 2.0  # after the drain, for closing what is open


def serve(settings: Settings, announce: Callable[[str], None]) -> int:
    """Serve until SIGTERM or SIGINT; what was accepted by then is committed. Returns 0.

    Args:
        settings: How.
        announce: Called with the address once requests are answered.
    """
    logs.set_up(settings.log_format)
    store = open_store(settings.store, limit_s=settings.store_limit_s)
    try:
        check_exposure(store, settings)
        listener = listen(settings.host, settings.port)
        address = address_of(listener)
        if settings.workers == 1:
            run(store, settings, listener, lambda: announce(address))
            return 0
    finally:
        store.close()
    return supervise(settings, listener, lambda: announce(address))


def check_exposure(store: Store, settings: Settings) -> None:
    """Refuse to serve other machines while nobody needs a key."""
    if settings.allow_open or is_loopback(settings.host) or store.keys():
        return
    raise InvalidSetting(
        f"host is {settings.host!r} and the store has no access key",
        "anyone who reaches this address could read, change and delete every study",
        "make a key with 'imabo keys create', or serve 127.0.0.1, or, where the network itself "
        "keeps others out, pass --allow-open",
    )


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVED)
            listener.bind(address)
            listener.listen(_BACKLOG)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise InvalidSetting(
            f"the address is {host}:{port}",
            f"the system does not let the service listen there ({error})",
            "choose another host or port; port 0 takes a free one",
        ) from error
    return listener


def address_of(listener: socket.socket) -> str:
    """The URL of a socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(
    store: Store, settings: Settings, listener: socket.socket, ready: Callable[[], None]
) -> None:
    """Serve in this process until a signal comes."""
    _allow_files(settings.max_connections + _OTHER_FILES)
    app = make_app(store, settings)
    gc.freeze()  # what is here now stays: no collection needs to look at it again
    config = uvicorn.Config(
        app,
        loop="uvloop",
        http=protocol_for(settings),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=max(1, math.ceil(settings.drain_s)),
    )
    server = _Server(config, ready, app.parts)
    # After its graceful end, uvicorn raises the signal again for whoever handled it before.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    server.run(sockets=[listener])


def _allow_files(wanted: int) -> None:
    """Have the system allow so many open files, a connection being one; as many as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None], parts: Parts) -> None:
        super().__init__(config)
        self._ready = ready
        self._parts = parts

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if not self._parts.stopping.is_set():
            self._parts.stopping.set()
            # A thread that waits for the database cannot be ended, nor can Python end before it.
            end = threading.Timer(self._parts.settings.drain_s + LAST_GRACE_S, self._give_up)
            end.daemon = True
            end.start()
        super().handle_exit(sig, frame)

    def _give_up(self) -> None:
        if self._parts.stopping.has_answered:
            logs.log.warning("the database did not answer in the time to drain; it is left alone")
            os._exit(0)
        logs.log.error("the time to drain is over; requests that were not answered are given up")
        os._exit(1)


def work() -> None:
    """What a process of several does: serve the socket that it was given (see ``supervisor``)."""
    settings = Settings(**json.loads(os.environ.pop(SETTINGS)))
    listener = socket.socket(fileno=int(os.environ.pop(SOCKET)))
    ready, lifeline = int(os.environ.pop(READY)), int(os.environ.pop(LIFELINE))
    logs.set_up(settings.log_format)
    threading.Thread(target=_end_with_parent, args=(lifeline,), daemon=True).start()
    store = open_store(settings.store, limit_s=settings.store_limit_s)

    def tell_ready() -> None:
        os.write(ready, b".")
        os.close(ready)

    try:
        run(store, settings, listener, tell_ready)
    finally:
        store.close()


def _end_with_parent(lifeline: int) -> None:
    os.read(lifeline, 1)  # nothing is ever written: it returns when the parent is gone
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    work()
