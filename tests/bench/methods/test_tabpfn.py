"""imoss-tabpfn says at the start of a run what it lacks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from imabo.errors import MissingData, MissingExtra
from imabo_bench.methods import open_method
from imabo_bench.methods.imoss_tabpfn import VARIABLE
from imabo_bench.testing.small import PAIR


def test_weights_that_are_not_there_are_missed_before_the_first_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "none.ckpt"))
    with pytest.raises(MissingData, match=r"none\.ckpt"):
        open_method("imoss-tabpfn").start(PAIR, rounds=100, seed=0)


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tabpfn", None)
    with pytest.raises(MissingExtra, match=r"imabo\[tabpfn\]"):
        open_method("imoss-tabpfn").start(PAIR, rounds=100, seed=0)
