"""Decisions of fixed seeds are those of ``golden.json`` (see ``golden.py`` to change them)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from . import golden


@pytest.fixture(scope="module")
def expected() -> dict[str, Any]:
    stored: dict[str, Any] = json.loads(golden.PATH.read_text(encoding="utf-8"))
    return stored


def test_every_run_is_on_file(expected: dict[str, Any]) -> None:
    assert list(expected) == list(golden.RUNS)


@pytest.mark.parametrize("name", golden.RUNS)
def test_decisions_are_those_on_file(expected: dict[str, Any], name: str) -> None:
    made, wanted = golden.run(*golden.RUNS[name]), expected[name]
    hint = "a deliberate change? python -m tests.study.golden writes the file again"
    assert made["reasons"] == wanted["reasons"], hint
    assert made["served"] == wanted["served"], hint
    for config, stored in zip(made["arms"], wanted["arms"], strict=True):
        assert list(config) == list(stored), hint
        for name, value in config.items():
            same = pytest.approx(stored[name], rel=1e-9) if type(value) is float else stored[name]
            assert value == same, hint


def test_the_runs_grow_learn_and_differ(expected: dict[str, Any]) -> None:
    assert len({json.dumps(run["served"]) for run in expected.values()}) == len(expected)
    for run in expected.values():
        assert len(run["served"]) == golden.DECISIONS
        assert 5 < len(run["arms"]) < 30
        assert {"e", "i"} <= set(run["reasons"])
        assert any("depth" in config for config in run["arms"]) or len(run["arms"]) < 15
