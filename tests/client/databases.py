"""Databases that fail while a service uses them, for ``torture``."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.driver import HANG_S, Postgres
from tests.client.disk import Disk
from tests.client.processes import KilledServer

Fault = Callable[[KilledServer], AbstractContextManager[None]]

_FELT_WITHIN_S = 60.0  # a full disk has some room left in files that are there


@dataclass(frozen=True)
class Database:
    """A database, how many servers share it, and what may go wrong with it for a while."""

    url: str
    n_servers: int
    faults: Mapping[str, Fault]


@contextmanager
def open_database(store: str, folder: Path) -> Iterator[Database]:
    """One of our own, until the end: ``sqlite`` in a folder, or ``postgres``."""
    with _sqlite(folder) if store == "sqlite" else _postgres() as database:
        yield database


@contextmanager
def _sqlite(folder: Path) -> Iterator[Database]:
    faults: dict[str, Fault] = {"no room for files": lambda server: server.without_room()}
    try:
        disk = Disk(folder / "disk")
    except OSError as error:
        print(f"no disk of our own, so none is really full: {error}")
        yield Database(f"sqlite:///{folder / 'imabo.db'}", 1, faults)
        return

    @contextmanager
    def full(server: KilledServer) -> Iterator[None]:
        with disk.full():
            _wait_until_felt(server)
            yield

    try:
        yield Database(f"sqlite:///{disk.folder / 'imabo.db'}", 1, faults | {"disk full": full})
    finally:
        disk.remove()


def _wait_until_felt(server: KilledServer) -> None:
    """Until the server says that its database takes no writes."""
    ends_at = time.monotonic() + _FELT_WITHIN_S
    while time.monotonic() < ends_at:
        try:
            with urllib.request.urlopen(f"{server.url}/readyz", timeout=10.0):
                time.sleep(0.05)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 503:
                return
            raise
    raise AssertionError("the disk is full, and the server takes writes")


@contextmanager
def _between(begin: Callable[[], None], end: Callable[[], None]) -> Iterator[None]:
    begin()
    try:
        yield
    finally:
        end()


@contextmanager
def _postgres() -> Iterator[Database]:
    postgres = Postgres(flush=False)
    server = postgres.server

    @contextmanager
    def hung() -> Iterator[None]:
        ends_at = time.monotonic() + HANG_S  # longer than servers wait
        with _between(server.freeze, server.thaw):
            yield
            time.sleep(max(0.0, ends_at - time.monotonic()))

    faults: dict[str, Fault] = {
        "database crashed": lambda _: _between(server.kill, server.start),
        "database stopped": lambda _: _between(server.stop, server.start),
        "database hung": lambda _: hung(),
        "connections cut": lambda _: _between(postgres.cut, lambda: None),
    }
    try:
        yield Database(postgres.url, 2, faults)
    finally:
        server.remove()
