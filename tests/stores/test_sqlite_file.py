"""Which files SQLiteStore takes, and in which mode it opens them."""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from imabo import Study
from imabo.errors import InvalidSetting, SchemaTooNew, StoreError
from imabo.stores import SQLiteStore, open_store
from imabo.stores.sqlite.connections import connect
from imabo.testing.stores.facts import Writer, everything
from tests.stores.processes import run_together


def test_every_connection_flushes_at_commit_to_a_write_ahead_log(path: str) -> None:
    SQLiteStore(path).close()
    assert Path(path).read_bytes()[18:20] == b"\2\2"  # the file format's mark of the mode
    with closing(connect(path)) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
        assert db.execute("PRAGMA foreign_keys").fetchone() == (1,)


def test_an_outline_counts_the_arms_and_reads_none(path: str) -> None:
    with closing(SQLiteStore(path)) as store:
        Writer(store).serve(*range(1, 51))
        seen: list[str] = []
        with store._connections.reading() as db:
            db.set_trace_callback(seen.append)
        assert store.outline("study").n_arms == 50
    assert [" ".join(one.split()) for one in seen if "FROM arms" in one] == [
        "SELECT count(*) FROM arms WHERE study = 1"
    ]


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


@pytest.mark.service
def test_six_processes_make_one_schema_of_a_fresh_file(tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{n}.db") for n in range(15)]
    found = run_together("tests.stores.children.open_fresh", [paths] * 6)
    assert found == ["opened"] * 6
    for path in paths:
        with closing(SQLiteStore(path)) as store:
            Writer(store).serve(1)
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def mode_of(path: str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such modes")
@pytest.mark.parametrize("name", ["imabo.db", "a name?mode=ro#with %41 signs.db"])
def test_a_new_file_and_its_log_are_for_their_owner_alone(tmp_path: Path, name: str) -> None:
    path = str(tmp_path / name)
    before = os.umask(0o022)
    try:
        with closing(SQLiteStore(path)) as store:
            Writer(store).serve(1)
            assert store.names() == ["study"]
            assert {end: mode_of(path + end) for end in ("", "-wal", "-shm")} == {
                "": 0o600,
                "-wal": 0o600,
                "-shm": 0o600,
            }
    finally:
        os.umask(before)
    assert os.listdir(tmp_path) == [name]


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such modes")
def test_a_file_that_is_there_keeps_its_mode(study_path: str) -> None:
    os.chmod(study_path, 0o640)
    with closing(SQLiteStore(study_path)) as store:
        store.names()
        assert mode_of(study_path) == 0o640


def test_a_link_that_leads_nowhere_yet_makes_the_file_where_it_leads(tmp_path: Path) -> None:
    link, path = tmp_path / "link.db", tmp_path / "imabo.db"
    link.symlink_to(path)
    with closing(SQLiteStore(str(link))) as store:
        Writer(store).serve(1)
    assert mode_of(str(path)) == 0o600


def delete(path: str) -> None:
    os.unlink(path)


def replace(path: str) -> None:
    with closing(SQLiteStore(path + ".other")) as other:
        Writer(other).serve(1)
    os.replace(path + ".other", path)


@pytest.mark.parametrize("remove", [delete, replace])
def test_nothing_is_acknowledged_once_the_file_is_gone(
    path: str, remove: Callable[[str], None]
) -> None:
    store = SQLiteStore(path)
    Writer(store).serve(1)
    os.link(path, path + ".kept")
    remove(path)
    for verb in (
        lambda: store.reward("study", 1, 0.5, at=300.0),
        store.names,
        lambda: next(store.log("study")),
        lambda: store.turn("study").__enter__(),
    ):
        with pytest.raises(StoreError, match="deleted or replaced while it was in use"):
            verb()
    assert remove is replace or not os.path.exists(path)  # nobody made a new one
    # Back in its place, all is well; what was refused may be there, and is settled by a repetition.
    os.replace(path + ".kept", path)
    assert store.reward("study", 1, 0.5, at=300.0) is not None
    store.close()


def test_a_file_that_goes_during_a_write_is_not_acknowledged(path: str) -> None:
    with closing(SQLiteStore(path)) as store:
        Writer(store).serve(1)

        def write() -> None:
            with store.turn("study"):
                store.reward("study", 1, 0.5, at=300.0)
                os.unlink(path)

        with pytest.raises(StoreError, match="would be lost"):
            write()


def test_a_file_that_another_process_holds_is_given_up_in_time(path: str) -> None:
    with closing(SQLiteStore(path, limit_s=0.2)) as store, closing(sqlite3.connect(path)) as other:
        Writer(store).serve(1)
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        with pytest.raises(StoreError, match="locked"):
            store.reward("study", 1, 0.5, at=300.0)
        assert 0.2 <= time.monotonic() - began < 20.0
        assert store.names() == ["study"]
        other.rollback()
        assert store.reward("study", 1, 0.5, at=300.0) is not None


@pytest.mark.parametrize("limit_s", [0, -1, float("inf"), "1"])
def test_a_limit_that_makes_no_sense_is_refused(path: str, limit_s: float) -> None:
    with pytest.raises(InvalidSetting, match="limit_s"):
        open_store(f"sqlite:///{path}", limit_s=limit_s)
    assert not os.path.exists(path)
