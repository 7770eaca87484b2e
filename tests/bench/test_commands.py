"""The benchmark commands run at a small size and print what they promise."""

from __future__ import annotations

import pytest

from imabo.bench import engine, regret
from imabo.bench.toy import NAMES


def test_regret_prints_a_row_for_every_function(capsys: pytest.CaptureFixture[str]) -> None:
    regret.main(["--rounds", "120", "--seeds", "2", "--jobs", "1"])
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows[-len(NAMES) :]] == list(NAMES)


def test_learning_loses_less_than_serving_at_random() -> None:
    """Gaussian, 1,500 rounds, seeds 0 to 2: far apart, whatever the machine."""
    at_random, learned = (
        sum(regret.cumulative_regret("gaussian", method, seed, 1500) for seed in range(3))
        for method in ("random serving", "IMOSS-Mutate")
    )
    assert learned < 0.75 * at_random


def test_engine_measures_every_claim(capsys: pytest.CaptureFixture[str]) -> None:
    """Only that it runs: its figures are for a quiet machine, and no test rests on them."""
    engine.main(["--repeats", "2", "--pulls", "2000", "--past", "20000"])
    out = capsys.readouterr().out
    for claim in ("Optuna's after", "20,000 vs t = 10,000", "kl", "TPE", "Mutate", "opening"):
        assert claim in out


@pytest.mark.parametrize(
    ("ratio", "bar", "at_least", "verdict"),
    [(2.0, 1.0, True, "met"), (2.0, 1.0, False, "MISSED"), (2.0, None, False, "no bar")],
)
def test_a_line_says_whether_its_bar_is_met(
    ratio: float, bar: float | None, at_least: bool, verdict: str
) -> None:
    line = engine.Line("claim", ratio, bar, at_least, "detail")
    assert verdict in str(line)
    assert line.met == (verdict != "MISSED")
