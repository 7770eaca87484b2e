"""Several processes on one socket: starting them, keeping them alive, ending them."""

from __future__ import annotations

import dataclasses
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from types import FrameType
from typing import Final

from imabo.server.logs import log
from imabo.server.settings import METRICS_FOLDER, Settings

SETTINGS: Final = "IMABO_WORKER_SETTINGS"
SOCKET: Final = "IMABO_WORKER_SOCKET"
READY: Final = "IMABO_WORKER_READY"
LIFELINE: Final = "IMABO_WORKER_LIFELINE"

_LOOK_EVERY_S: Final = 0.1
_RESTART_AFTER_S: Final = 1.0  # lest one that cannot start takes all the machine's time
_LAST_GRACE_S: Final = 5.0  # more than a worker takes when it gives up by itself


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
        try:
            for _ in range(self._settings.workers):
                self._workers.append(self._spawn(writing))
                self._started_at.append(time.monotonic())
            os.close(writing)
            writing = -1
            n_ready = 0
            while n_ready < len(self._workers):
                if is_stopping() or any(w.poll() is not None for w in self._workers):
                    return False
                if select.select([reading], [], [], _LOOK_EVERY_S)[0]:
                    n_ready += len(os.read(reading, 256))
            return True
        finally:
            os.close(reading)
            if writing >= 0:
                os.close(writing)

    def look(self) -> None:
        """Start those again that have died."""
        for i, worker in enumerate(self._workers):
            if worker.poll() is None or time.monotonic() < self._started_at[i] + _RESTART_AFTER_S:
                continue
            log.error("process %d ended with %d; starting another", worker.pid, worker.returncode)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            try:
                self._workers[i] = self._spawn(nowhere)
            finally:
                os.close(nowhere)
            self._started_at[i] = time.monotonic()

    def end(self) -> None:
        """Let all finish what they accepted, and end."""
        for worker in self._workers:
            worker.terminate()
        until = time.monotonic() + self._settings.drain_s + _LAST_GRACE_S
        for worker in self._workers:
            try:
                worker.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                log.error("process %d did not end in time and is killed", worker.pid)
                worker.kill()
                worker.wait()

    def _spawn(self, ready: int) -> subprocess.Popen[bytes]:
        passed = (self._listener.fileno(), ready, self._lifeline)
        environ = os.environ | {
            SETTINGS: json.dumps(dataclasses.asdict(self._settings)),
            SOCKET: str(passed[0]),
            READY: str(passed[1]),
            LIFELINE: str(passed[2]),
            METRICS_FOLDER: self._folder,
        }
        command = [sys.executable, "-m", "imabo.server.serving"]
        return subprocess.Popen(command, env=environ, pass_fds=passed)
