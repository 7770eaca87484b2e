"""What the tests of the problems share: where data lies, and a cache of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep estimates out of the user's cache, and share them between the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def yahpo() -> Path:
    """The folder of the YAHPO-Gym surrogates."""
    named = os.environ.get("IMABO_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data" / "yahpo"
    if not (folder / "lcbench" / "model.onnx").exists():
        pytest.skip(f"no YAHPO-Gym surrogates in {folder}: name their folder with IMABO_DATA")
    return folder


@pytest.fixture
def _no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the environment's data folder out."""
    monkeypatch.delenv("IMABO_DATA", raising=False)
