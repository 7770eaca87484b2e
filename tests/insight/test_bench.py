"""The benchmark of the figures: a tiny run of the real thing."""

from __future__ import annotations

import pytest

from imabo_bench import insight as bench


@pytest.mark.slow
def test_a_tiny_run_measures_the_page_and_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    bench.main(["--short", "200", "--long", "1000", "--repeats", "1"])
    shown = capsys.readouterr().out
    assert "SQLite, the page at the first look" in shown
    assert "SQLite, the page after some traffic" in shown
    assert "SQLite, figure descent" in shown
    assert "1,000 pulls and 94 arms" in shown
