"""The method imoss-tabpfn plays with weights that are made here."""

from __future__ import annotations

from pathlib import Path

import pytest

from imabo_bench.methods.imoss_tabpfn import VARIABLE
from tests.oracles.checkpoint import checkpoint as checkpoint


@pytest.fixture(autouse=True)
def tiny_weights(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test may open every method."""
    monkeypatch.setenv(VARIABLE, str(checkpoint))
