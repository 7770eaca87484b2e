"""Claims: comparisons by hand, and one claim end to end."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest

from imabo.errors import InvalidSetting
from imabo_bench import claims
from imabo_bench.claims.base import Claim, Evidence, Runs
from imabo_bench.claims.comparisons import About, AtMost, Bounded, Lower, Near
from imabo_bench.methods import open_method
from imabo_bench.problems import problem_names
from imabo_bench.sweep import Results


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


TIMES = [10, 20, 50, 100, 200, 500, 1000]


def bounded(exponent: float, curves: list[list[float]]) -> tuple[bool | None, str]:
    rows = [
        row("a", seed, 0.0, checkpoints=TIMES, rho_regret=curve)
        for seed, curve in enumerate(curves)
    ]
    (finding,) = Bounded("rho_regret", "a", ("p",), exponent).check(Evidence(rows))
    return finding.holds, finding.words


def test_bounded_compares_the_last_decade_with_what_was_before() -> None:
    """t^0.6 over t^0.5 goes on growing; over t^0.7 it is highest at the start."""
    curves = [[(2 + seed) * t**0.6 for t in TIMES] for seed in range(3)]
    assert bounded(0.5, curves)[0] is False
    assert bounded(0.6, curves)[0] is True
    holds, words = bounded(0.7, curves)
    assert holds
    assert "at most 2.38 (at t = 10) up to 100, 1.77 (at 200) after" in words
    assert "(3 seeds)" in words


def test_bounded_allows_two_standard_errors_of_the_seeds() -> None:
    """Constant until 100, then higher by 0.1 on average, which is or is not within the spread."""

    def rising(by: float) -> list[float]:
        return [1.0 if t <= 100 else 1.0 + by for t in TIMES]

    assert bounded(0.0, [rising(0.1), rising(0.1)])[0] is False
    assert bounded(0.0, [rising(0.1)])[0] is False  # one seed has no spread
    holds, words = bounded(0.0, [rising(0.0), rising(0.2)])  # 0.1 ± 0.1
    assert holds
    assert "+0.1 ± 0.1 (2 seeds)" in words
    assert bounded(0.0, [rising(0.06), rising(0.14)])[0] is False  # 0.1 ± 0.04


def test_bounded_can_be_shown_without_deciding() -> None:
    rows = [row("a", 0, 0.0, checkpoints=TIMES, rho_regret=TIMES)]
    (finding,) = Bounded("rho_regret", "a", ("p",), 0.5, decides=False).check(Evidence(rows))
    assert finding.holds is None
    assert "31.6 (at 1,000) after" in finding.words


@pytest.mark.parametrize("claim", claims.CLAIMS, ids=lambda claim: claim.id)
def test_claims_name_methods_and_problems_that_exist(claim: Claim) -> None:
    known = set(problem_names())
    for runs in claim.runs:
        for method in runs.methods:
            assert open_method(method).name == method
        names = {name.partition(":")[0] for name in runs.problems}
        # Situations have as many instances as there are numbers; the list shows the first. Of
        # LCBench it shows those of the paper.
        firsts = {re.sub(r"^(situations/.*)-\d+$", r"\1-0", name) for name in names}
        assert {re.sub(r"^lcbench/\d+$", "lcbench/167200", name) for name in firsts} <= known


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


def test_a_claim_may_be_judged_with_fewer_seeds(tmp_path: Path) -> None:
    toy = ("toy/gaussian",)
    many = Runs(toy, ("imoss-mutate", "random"), 50, 8)
    few = Runs(toy, ("imoss-random",), 50, 4)
    part = Lower("regret", "imoss-mutate", ("random", "imoss-random"), toy)
    claim = Claim("x", "Learning beats chance.", "test", (many, few), (part,))
    verdict = claims.judge(claim, Results(tmp_path), seeds=4, out=io.StringIO())
    one, other = verdict.findings
    assert one.words.endswith("(4 seeds)"), "and it says how many there were"
    assert other.words.endswith("(2 seeds)"), "half as many, as with all of them"


def test_a_claim_without_its_data_cannot_be_run_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("IMABO_DATA", raising=False)
    (claim,) = claims.choose(["f"])
    verdict = claims.judge(claim, Results(tmp_path), data=tmp_path, out=io.StringIO())
    assert verdict.status == "cannot be run here"
    assert "lcbench" in verdict.why


def test_an_unknown_claim_is_refused() -> None:
    with pytest.raises(InvalidSetting, match="'zz'"):
        claims.choose(["zz"])
