"""Running the service: one socket, one process or several, a graceful end."""

from __future__ import annotations

import dataclasses
import errno
import gc
import json
import math
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

import uvicorn

from imabo.errors import InvalidSetting
from imabo.server.app import make_app
from imabo.server.context import Parts
from imabo.server.logs import log, set_up
from imabo.server.protocol import protocol_for
from imabo.server.settings import METRICS_FOLDER, Settings, is_loopback
from imabo.stores import open_store
from imabo.stores.base import Store

# How a process of several gets its settings and three files: the socket, where to say that it is
# ready, and a pipe that closes when its supervisor is gone.
_WORKER: Final = "IMABO_WORKER_SETTINGS"
_BACKLOG: Final = 2048
_RECEIVED: Final = 1 << 18  # bytes of a body that the system keeps: who imports sees how far it is
_OTHER_FILES: Final = 256  # that the process has open beside its connections
_LAST_GRACE_S: Final = 2.0  # after the drain, for closing what is open
_LOOK_EVERY_S: Final = 0.1
_RESTART_AFTER_S: Final = 1.0  # lest one that cannot start takes all the machine's time
_CREW_GRACE_S: Final = 5.0  # more than a worker takes when it gives up by itself


def serve(settings: Settings, announce: Callable[[str], None]) -> int:
    """Serve until SIGTERM or SIGINT; what was accepted by then is committed. Returns 0.

    ``announce`` is called with the address once requests are answered.
    """
    set_up(settings.log_format)
    store = open_store(settings.store, limit_s=settings.store_limit_s)
    try:
        check_exposure(store, settings)
        if settings.gateway is not None:
            from imabo.gateway import mounted

            mounted.check(settings.gateway, store)
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
        why = f"the system does not let the service listen there ({error})"
        fix = "choose another host or port; port 0 takes a free one"
        if error.errno == errno.EADDRINUSE:
            why = f"another program, perhaps an imabo serve, has this port in use ({error})"
            fix = "end that program, or choose another port: --port 0 takes a free one"
        raise InvalidSetting(f"the address is {host}:{port}", why, fix) from error
    return listener


def address_of(listener: socket.socket) -> str:
    """The URL of a socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run(
    store: Store, settings: Settings, listener: socket.socket, ready: Callable[[], None]
) -> None:
    """Serve in this process until a signal comes."""
    # A request through the gateway has a connection to its upstream, too.
    n_each = 1 if settings.gateway is None else 2
    allow_files(n_each * settings.max_connections + _OTHER_FILES)
    app = make_app(store, settings)
    gc.freeze()  # what is here now stays: no collection needs to look at it again
    config = quiet_config(app, protocol_for(settings), max(1, math.ceil(settings.drain_s)))
    run_quietly(_Server(config, ready, app.parts), listener)


def quiet_config(app: Any, http: Any, drain_s: int | None = None) -> uvicorn.Config:
    """What uvicorn serves an application of ours with: it logs nothing, and trusts no header."""
    return uvicorn.Config(
        app,
        loop="uvloop",
        http=http,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=drain_s,
    )


def run_quietly(server: uvicorn.Server, listener: socket.socket) -> None:
    """Serve on a socket until SIGTERM or SIGINT comes."""
    # After its graceful end, uvicorn raises the signal again for whoever handled it before.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    server.run(sockets=[listener])


def allow_files(wanted: int) -> None:
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
            end = threading.Timer(self._parts.settings.drain_s + _LAST_GRACE_S, self._give_up)
            end.daemon = True
            end.start()
        super().handle_exit(sig, frame)

    def _give_up(self) -> None:
        if self._parts.stopping.has_answered:
            log.warning("the database did not answer in the time to drain; it is left alone")
            os._exit(0)
        log.error("the time to drain is over; requests that were not answered are given up")
        os._exit(1)


# --- several processes on one socket --------------------------------------------------------------


def supervise(settings: Settings, listener: socket.socket, ready: Callable[[], None]) -> int:
    """Run the workers until SIGTERM or SIGINT; returns 0, or 1 when they could not start."""
    stopping: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        del frame
        stopping.append(number)

    before = {n: signal.signal(n, stop) for n in (signal.SIGTERM, signal.SIGINT)}
    lifeline, ours = os.pipe()  # closes when this process ends, however it ends
    try:
        with tempfile.TemporaryDirectory(prefix="imabo-metrics-") as folder:
            crew = _Crew(settings, listener, lifeline, folder)
            try:
                if not crew.start(lambda: bool(stopping)):
                    return 0 if stopping else 1
                ready()
                while not stopping:
                    crew.look()
                    time.sleep(_LOOK_EVERY_S)
                return 0
            finally:
                listener.close()
                crew.end()
    finally:
        os.close(ours)
        os.close(lifeline)
        for number, handler in before.items():
            signal.signal(number, handler)


class _Crew:
    def __init__(
        self, settings: Settings, listener: socket.socket, lifeline: int, folder: str
    ) -> None:
        self._settings = settings
        self._listener = listener
        self._lifeline = lifeline
        self._folder = folder
        self._workers: list[subprocess.Popen[bytes]] = []
        self._started_at: list[float] = []

    def start(self, is_stopping: Callable[[], bool]) -> bool:
        """Start all; whether all of them came to answer requests."""
        reading, writing = os.pipe()
        with open(reading, "rb", buffering=0) as pipe:
            with open(writing, "wb"):
                for _ in range(self._settings.workers):
                    self._workers.append(self._spawn(writing))
                    self._started_at.append(time.monotonic())
            n_ready = 0
            while n_ready < len(self._workers):
                if is_stopping() or any(w.poll() is not None for w in self._workers):
                    return False
                if select.select([pipe], [], [], _LOOK_EVERY_S)[0]:
                    n_ready += len(pipe.read(256) or b"")
            return True

    def look(self) -> None:
        """Start those again that have died."""
        for i, worker in enumerate(self._workers):
            if worker.poll() is None or time.monotonic() < self._started_at[i] + _RESTART_AFTER_S:
                continue
            log.error("process %d ended with %d; starting another", worker.pid, worker.returncode)
            with open(os.devnull, "wb") as nowhere:
                self._workers[i] = self._spawn(nowhere.fileno())
            self._started_at[i] = time.monotonic()

    def end(self) -> None:
        """Let all finish what they accepted, and end."""
        for worker in self._workers:
            worker.terminate()
        until = time.monotonic() + self._settings.drain_s + _CREW_GRACE_S
        for worker in self._workers:
            try:
                worker.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                log.error("process %d did not end in time and is killed", worker.pid)
                worker.kill()
                worker.wait()

    def _spawn(self, ready: int) -> subprocess.Popen[bytes]:
        files = (self._listener.fileno(), ready, self._lifeline)
        told = json.dumps([dataclasses.asdict(self._settings), *files])
        environ = os.environ | {_WORKER: told, METRICS_FOLDER: self._folder}
        command = [sys.executable, "-m", "imabo.server.serving"]
        return subprocess.Popen(command, env=environ, pass_fds=files)


def work() -> None:
    """What a process of several does: serve the socket that it was given."""
    told, listening, ready, lifeline = json.loads(os.environ.pop(_WORKER))
    settings, listener = Settings(**told), socket.socket(fileno=listening)
    set_up(settings.log_format)
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
