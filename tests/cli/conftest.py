from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.calls import STRANGE, Imabo, make_changed, make_study
from tests.server.running import RunningServer


@pytest.fixture(scope="package")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with three studies, made once."""
    path = tmp_path_factory.mktemp("template") / "imabo.db"
    make_study(f"sqlite:///{path}")
    make_study(f"sqlite:///{path}", STRANGE, 5)
    make_changed(f"sqlite:///{path}")
    return path


@pytest.fixture(autouse=True)
def folder(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a database of the default name in it."""
    shutil.copy(template, tmp_path / "imabo.db")
    monkeypatch.chdir(tmp_path)
    for name in ("IMABO_STORE", "IMABO_URL", "IMABO_KEY", "IMABO_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def server(folder: Path) -> Iterator[RunningServer]:
    """A service on a copy of the database."""
    shutil.copy(folder / "imabo.db", folder / "served.db")
    with RunningServer(f"sqlite:///{folder}/served.db") as running:
        yield running


@pytest.fixture
def imabo(capsys: pytest.CaptureFixture[str]) -> Imabo:
    """Commands on the database of the current folder."""
    return Imabo(capsys)


@pytest.fixture(params=["local", "remote"])
def anywhere(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Imabo:
    """Commands on the database, then the same through a service."""
    if request.param == "local":
        return Imabo(capsys)
    return Imabo(capsys, "--url", request.getfixturevalue("server").url)
