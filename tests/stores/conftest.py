"""What the tests of the stores share."""

from __future__ import annotations

from pathlib import Path

import pytest

from imabo import Int, Space, Study


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Where a database file may go."""
    return str(tmp_path / "imabo.db")


@pytest.fixture
def study_path(path: str) -> str:
    """A file with a new study on 64 configurations, few enough that proposals meet."""
    space = Space(x=Int(0, 7), y=Int(0, 7))
    Study.create("study", space, store=f"sqlite:///{path}", seed=5).close()
    return path
