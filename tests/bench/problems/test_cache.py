"""Remembered numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from imabo_bench.problems import cache


def never() -> float:
    raise AssertionError("it was remembered")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "imabo"


def test_a_number_is_computed_once_and_kept_to_the_last_digit(folder: Path) -> None:
    assert cache.remembered("third", lambda: 1 / 3) == 1 / 3
    assert cache.remembered("third", never) == 1 / 3
    assert [path.name for path in folder.iterdir()] == ["third.txt"]


def test_a_spoiled_file_is_computed_again(folder: Path) -> None:
    folder.mkdir()
    (folder / "x.txt").write_text("not a number")
    assert cache.remembered("x", lambda: 2.0) == 2.0
    assert cache.remembered("x", never) == 2.0


def test_a_folder_that_cannot_be_written_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert cache.remembered("x", lambda: 2.0) == 2.0


def test_without_a_named_folder_it_lies_in_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert cache.folder() == tmp_path / ".cache" / "imabo"
