"""What signals cost is measured in one run; the figures are for a quiet machine."""

from __future__ import annotations

import pytest

from imabo_bench import engine_signals


def test_every_ratio_is_there_for_each_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_signals, "_WARM", 10)
    lines = engine_signals.signal_lines(rounds=2)  # with fewer, a quantile is guessed
    assert len(lines) == 12
    assert {line.bar for line in lines} == {1.02, 1.5}
    assert all(line.ratio > 0.0 for line in lines), [str(line) for line in lines]
