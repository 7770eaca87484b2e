"""What the lift over a control must show in whole studies, and what a control may cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from imabo_bench.claims.base import DELAYED, Claim, Comparison, Evidence, Finding, Runs
from imabo_bench.claims.default import DEFAULT, FIVE
from imabo_bench.claims.ratios import Ratios
from imabo_bench.claims.situations import LATE


def _of(*kinds: str) -> tuple[str, ...]:
    return tuple(f"situations/{kind}-5" for kind in kinds)


_SIX: Final = (
    *_of("few", "prompts", "knobs", "rare", "beta"),
    "lcbench/189354",
)
_TWO: Final = _of("few", "knobs")
_OPEN: Final = _of("knobs", "beta")
_MOMENTS: Final = (300, 1_500)


@dataclass(frozen=True)
class LiftHolds(Comparison):
    """The lift's interval holds the truth at each moment, and is hardly ever wrong at any.

    Args:
        method: With a control.
        problem: Where.
        moments: Rounds at which coverage is judged.
        least: The least coverage, less two standard errors.
        ever: The largest share of the runs in which it is ever wrong, plus two standard errors.
    """

    method: str
    problem: str
    moments: tuple[int, ...]
    least: float = 0.93
    ever: float = 0.05

    def check(self, evidence: Evidence) -> list[Finding]:
        """A finding each moment, and one for all."""
        rows = list(evidence.rows(self.problem, self.method).values())
        found = []
        for moment in self.moments:
            seen = [row["lift_covered"][row["checkpoints"].index(moment)] for row in rows]
            known = [one for one in seen if one is not None]
            if not known:
                found.append(Finding(None, f"{self.problem}: no lift after {moment} requests"))
                continue
            share = float(np.mean(known))
            error = np.sqrt(self.least * (1.0 - self.least) / len(known))
            words = (
                f"{self.problem}: the lift of {self.method} is covered in {share:.3f} of "
                f"{len(known)} runs after {moment} requests, at least {self.least:g}"
            )
            found.append(Finding(share >= self.least - 2.0 * error, words))
        wrong = float(np.mean([row["lift_wrong"] > 0 for row in rows]))
        error = np.sqrt(self.ever * (1.0 - self.ever) / len(rows))
        words = f"{self.problem}: it is ever wrong in {wrong:.3f} of them, at most {self.ever:g}"
        return [*found, Finding(wrong <= self.ever + 2.0 * error, words)]


@dataclass(frozen=True)
class NoAlarm(Comparison):
    """Where both sides are the same, the guardrail fires in at most a share of all runs."""

    method: str
    problems: tuple[str, ...]
    most: float

    def check(self, evidence: Evidence) -> list[Finding]:
        """One finding for all problems."""
        rows = [r for p in self.problems for r in evidence.rows(p, self.method).values()]
        fired = [row["rolled_back"] for row in rows if row["rolled_back"] is not None]
        words = f"the guardrail of {self.method} fires in {len(fired)} of {len(rows)} runs"
        return [Finding(len(fired) <= self.most * len(rows), f"{words}, at most {self.most:g}")]


def _holds(method: str, problems: tuple[str, ...], moments: tuple[int, ...]) -> list[LiftHolds]:
    return [LiftHolds(f"{method}{DELAYED}", problem, moments) for problem in problems]


CONTROL_CLAIMS: Final = (
    Claim(
        "x",
        "The lift of the default over a control is true, on each problem: its interval holds it "
        "after 300 and after 1,500 requests, and is hardly ever wrong in between.",
        "the default's bar; a control of 10 %, delays of a production log, half of the feedback "
        "lost; T = 1,500, six problems, 100 seeds",
        (Runs(_SIX, ("imabo-control-10",), 1_500, 100, LATE),),
        tuple(_holds("imabo-control-10", _SIX, _MOMENTS)),
        "Coverage of 0.93 less, and ever wrong in 5 % plus, two standard errors.",
    ),
    Claim(
        "y",
        "So is that of a cheap policy for 10,000 requests, and where both sides are the same; "
        "there the guardrail hardly ever fires.",
        "a control of 10 %, delays of a production log, half of the feedback lost; T = 10,000, "
        "400 seeds",
        (
            Runs(
                _TWO,
                ("imoss-control-10",),
                10_000,
                400,
                LATE,
            ),
            Runs(_OPEN, ("same-control-10",), 10_000, 200, LATE),
        ),
        (
            *_holds(
                "imoss-control-10",
                _TWO,
                (300, 1_500, 5_000, 10_000),
            ),
            *_holds("same-control-10", _OPEN, (300, 1_500, 5_000, 10_000)),
            NoAlarm(f"same-control-10{DELAYED}", _OPEN, 0.01),
        ),
    ),
    Claim(
        "z",
        "A control of 5 % costs its requests, and at most 2 % more: the tuned ones have no more "
        "regret than without it.",
        "the default's bar; T = 5,000, 10 paired seeds",
        (Runs(FIVE, (DEFAULT, "imabo-control-5"), 5_000, 10),),
        (Ratios("tuned_regret", "imabo-control-5", (DEFAULT,), FIVE, mean=1.02, errors=2.0),),
        "The regret of the tuned requests, as if all of them were.",
    ),
)
