"""Which files SQLiteStore takes, and in which mode it opens them."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from imabo import Study
from imabo.errors import SchemaTooNew, StoreError
from imabo.stores import SQLiteStore
from imabo.stores.connections import connect
from imabo.testing.stores.facts import Writer, everything
from tests.stores.processes import run_together


def test_every_connection_flushes_at_commit_to_a_write_ahead_log(path: str) -> None:
    SQLiteStore(path).close()
    assert Path(path).read_bytes()[18:20] == b"\2\2"  # the file format's mark of the mode
    with closing(connect(path)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
        assert db.execute("PRAGMA foreign_keys").fetchone() == (1,)


def test_a_commit_is_in_the_file_or_its_log_before_the_verb_returns(path: str) -> None:
    store = SQLiteStore(path)
    writer = Writer(store)
    writer.serve(1)
    store.reward("study", 1, 0.123456789, at=300.0)
    # A copy of the files, taken while the store is open, is what a crash would leave.
    copy = path + ".copy"
    for end in ("", "-wal"):
        Path(copy + end).write_bytes(Path(path + end).read_bytes())
    with closing(SQLiteStore(copy)) as crashed:
        assert everything(crashed) == everything(store)
    store.close()


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x');",
        "PRAGMA user_version = 3;",
        "PRAGMA application_id = 252006674;",
    ],
)
def test_a_file_of_another_application_is_refused_untouched(path: str, script: str) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.executescript(script)
    before = Path(path).read_bytes()
    with pytest.raises(StoreError, match="another application"):
        SQLiteStore(path)
    assert Path(path).read_bytes() == before
    assert os.listdir(Path(path).parent) == ["imabo.db"]


def test_a_newer_schema_is_refused_untouched(study_path: str) -> None:
    with closing(sqlite3.connect(study_path)) as db:
        db.execute("PRAGMA user_version = 99")
    before = Path(study_path).read_bytes()
    with pytest.raises(SchemaTooNew, match=r"version 99.*upgrade imabo"):
        Study.open("study", store=f"sqlite:///{study_path}")
    assert Path(study_path).read_bytes() == before


def test_a_file_that_is_no_database_is_refused_untouched(path: str) -> None:
    Path(path).write_text("a diary, not a database\n" * 100)
    with pytest.raises(StoreError, match=r"not a database.*check that this is a file"):
        SQLiteStore(path)
    assert Path(path).read_text() == "a diary, not a database\n" * 100


def test_a_folder_that_does_not_exist_is_named_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no/such/imabo\.db.*folder that exists"):
        SQLiteStore(str(tmp_path / "no" / "such" / "imabo.db"))
    assert not (tmp_path / "no").exists()


def test_a_directory_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="check that this is a file"):
        SQLiteStore(str(tmp_path))


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A folder that anybody may write, and no right to overrule permissions."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)
        try:
            yield Path(folder)
        finally:
            if root:
                os.seteuid(0)


def test_a_read_only_file_can_be_read_and_a_write_says_why_not(unprivileged: Path) -> None:
    path = unprivileged / "imabo.db"
    with closing(SQLiteStore(str(path))) as store:
        Writer(store).serve(1)
        before = everything(store)
    path.chmod(0o444)
    with closing(SQLiteStore(str(path))) as store:
        assert everything(store) == before
        with pytest.raises(StoreError, match=r"readonly.*may be written"):
            store.reward("study", 1, 0.5, at=300.0)
        assert everything(store) == before


def test_a_read_only_folder_is_refused_with_advice(unprivileged: Path) -> None:
    folder = unprivileged / "folder"
    folder.mkdir(mode=0o555)
    with pytest.raises(StoreError, match="both may be written"):
        SQLiteStore(str(folder / "imabo.db"))


def test_six_processes_make_one_schema_of_a_fresh_file(tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{n}.db") for n in range(15)]
    found = run_together("tests.stores.children.open_fresh", [paths] * 6)
    assert found == ["opened"] * 6
    for path in paths:
        with closing(SQLiteStore(path)) as store:
            Writer(store).serve(1)
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
