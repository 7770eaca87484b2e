"""Claims: comparisons by hand, and one claim end to end."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from imabo.bench import claims
from imabo.bench.claims.base import Claim, Evidence, Runs
from imabo.bench.claims.comparisons import About, AtMost, Growth, Lower, Near
from imabo.bench.methods import open_method
from imabo.bench.problems import problem_names
from imabo.bench.sweep import Results
from imabo.errors import InvalidSetting


def row(method: str, seed: int, regret: float, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"problem": "p", "method": method, "seed": seed, "delay": None}
    made |= {"optimum": 0.9, "played": 100, "arms": [2, 4], "rewards": [9, 80]}
    return made | {"checkpoints": [50, 100], "regret": [regret / 2, regret]} | more


EVIDENCE = Evidence(
    [row("a", seed, 10.0 + seed) for seed in range(4)]
    + [row("b", seed, 12.0 + seed) for seed in range(3)]
    + [row("a", 0, 30.0, delay={"window": 3})]
)


def holds(part: Any) -> list[bool]:
    return [finding.holds for finding in part.check(EVIDENCE)]


def test_lower_is_paired_over_common_seeds() -> None:
    (finding,) = Lower("regret", "a", ("b",), ("p",)).check(EVIDENCE)
    assert finding.holds
    assert "-2 ± 0 (3 seeds)" in finding.words
    assert holds(Lower("regret", "b", ("a",), ("p",))) == [False]
    assert holds(Lower("regret", "b", ("a",), ("p",), factor=1.3)) == [True]
    assert holds(Lower("regret@50", "a", ("b", "a@delay"), ("p",))) == [True, True]


def test_near_allows_two_errors_above_and_anything_below() -> None:
    """Mean 11.5, standard error 0.645; with the reference's 0.5 the two add up to 0.816."""
    for reference, expected in ((11.0, True), (9.9, True), (9.8, False), (99.0, True)):
        assert holds(Near("a", {"p": (reference, 0.5)})) == [expected]


def test_near_measures_against_the_optimum_of_the_reference() -> None:
    """Ours is 0.01 higher, over 100 rounds: 1.0 less regret."""
    assert holds(Near("a", {"p": (9.0, 0.5)})) == [False]
    assert holds(Near("a", {"p": (9.0, 0.5)}, {"p": 0.89})) == [True]


def test_about_and_at_most() -> None:
    assert holds(About("rewards_per_arm", "a", {"p": 18.0}, 0.2)) == [True]  # 80 / 4
    assert holds(About("rewards_per_arm", "a", {"p": 30.0}, 0.2)) == [False]
    assert holds(AtMost("regret", "a", ("p",), 11.5)) == [True]
    assert holds(AtMost("regret", "a", ("p",), 11.6, above=True)) == [False]


def test_growth_finds_the_exponent() -> None:
    times = [10, 20, 50, 100, 200, 500, 1000]
    rows = [
        row("a", seed, 0.0, checkpoints=times, rho_regret=[(2 + seed) * t**0.6 for t in times])
        for seed in range(3)
    ]
    for limit, expected in ((0.61, True), (0.59, False)):
        (finding,) = Growth("rho_regret", "a", ("p",), limit).check(Evidence(rows))
        assert finding.holds is expected
        assert "t^0.600" in finding.words


@pytest.mark.parametrize("claim", claims.CLAIMS, ids=lambda claim: claim.id)
def test_claims_name_methods_and_problems_that_exist(claim: Claim) -> None:
    known = set(problem_names())
    for runs in claim.runs:
        for method in runs.methods:
            assert open_method(method).name == method
        assert {name.partition(":")[0] for name in runs.problems} <= known


def test_a_claim_is_run_judged_and_written_down(tmp_path: Path) -> None:
    claim = Claim(
        "x",
        "Learning beats chance.",
        "test",
        (Runs(("toy/gaussian",), ("imoss-mutate", "random"), 400, 3),),
        (Lower("regret", "imoss-mutate", ("random",), ("toy/gaussian",)),),
    )
    verdict = claims.judge(claim, Results(tmp_path), out=io.StringIO())
    assert verdict.status == "met"
    assert "[yes] toy/gaussian: regret of imoss-mutate" in str(verdict)
    assert "**met** | 1 of 1" in claims.to_markdown([verdict])


def test_a_claim_without_its_data_cannot_be_run_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("IMABO_DATA", raising=False)
    (claim,) = claims.choose(["f"])
    verdict = claims.judge(claim, Results(tmp_path), data=tmp_path, out=io.StringIO())
    assert verdict.status == "cannot be run here"
    assert "lcbench" in verdict.why


def test_an_unknown_claim_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="'z'"):
        claims.choose(["z"])
