"""What the lift over a control must show in whole studies, and what a control may cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from imabo_bench.claims.base import (
    DELAYED,
    Claim,
    Comparison,
    Evidence,
    Finding,
    Runs,
    mean_and_error,
)
from imabo_bench.claims.default import FIVE
from imabo_bench.claims.over_time import Covers, Unflattered
from imabo_bench.claims.ratios import Ratios
from imabo_bench.claims.shown import Holds, Right, known_at
from imabo_bench.claims.situations import LATE


def _of(*kinds: str) -> tuple[str, ...]:
    return tuple(f"situations/{kind}-5" for kind in kinds)


_SIX: Final = (
    *_of("few", "prompts", "knobs", "rare", "beta"),
    "lcbench/189354",
)
_FEW, _KNOBS = _of("few", "knobs")
_SAME: Final = _of("few", "rare")
_CHECKED: Final = "imabo-control-10"
_CHEAP: Final = "imoss-control-10"
_AT_RANDOM: Final = "imoss-random-10"
_STAY: Final = "stay-control-10"
_MOMENTS: Final = (300, 1_500)
_LONG: Final = (300, 1_500, 5_000, 10_000)


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


@dataclass(frozen=True)
class Width(Comparison):
    """Half the width of the lift's interval is at most so much on average, at a moment."""

    method: str
    problem: str
    moment: int
    most: float

    def check(self, evidence: Evidence) -> list[Finding]:
        """One finding."""
        rows = list(evidence.rows(self.problem, self.method).values())
        half, error = mean_and_error(
            [width / 2.0 for width in known_at(rows, "lift_width", self.moment)]
        )
        words = (
            f"{self.problem}: half the width of the lift of {self.method} is {half:.3f} ± "
            f"{error:.4f} after {self.moment} requests, at most {self.most:g}"
        )
        return [Finding(half <= self.most, words)]


def _holds(method: str, problem: str, moments: tuple[int, ...]) -> tuple[Comparison, ...]:
    """Every interval that is shown covers, and no mean that is shown is off."""
    late = f"{method}{DELAYED}"
    most = 0.01 if "rare" in problem else 0.02
    return (
        Covers(late, (problem,), moments, 0.93),
        Unflattered(late, problem, moments, most),
        Holds("arms_covered", late, problem, moments),
        Holds("top_covered", late, problem, moments),
        Holds("top_sure", late, problem, moments, least=None),
        Right("top_error", late, problem, moments, most=None),
        Holds("random_covered", late, problem, moments),
        Right("random_error", late, problem, moments, most),
    )


CONTROL_CLAIMS: Final = (
    Claim(
        "w",
        "What is shown of the best arm, of every arm and of serving at random is true, on each "
        "problem: intervals hold the means, and the means are not flattered, after 300 and after "
        "1,500 requests.",
        "the default's bar; a control of 10 %, delays of a production log, half of the feedback "
        "lost; T = 1,500, six problems, 100 seeds",
        (Runs(_SIX, (_CHECKED,), 1_500, 100, LATE),),
        tuple(part for problem in _SIX for part in _holds(_CHECKED, problem, _MOMENTS)),
        "Coverage of 0.93, less two standard errors; a mean that is off by at most 0.02 on "
        "average, 0.01 where rewards are rare. The mean of serving at random is shown after 121 "
        "rewards that tell it. What the table of arms sorts by is shown and decides nothing.",
    ),
    Claim(
        "x",
        "The lift of the default over a control is true, on each problem: its interval holds it "
        "after 300 and after 1,500 requests, and is hardly ever wrong in between.",
        "the default's bar; the runs of claim w",
        (Runs(_SIX, (_CHECKED,), 1_500, 100, LATE),),
        tuple(LiftHolds(f"{_CHECKED}{DELAYED}", problem, _MOMENTS) for problem in _SIX),
        "Coverage of 0.93 less, and ever wrong in 5 % plus, two standard errors.",
    ),
    Claim(
        "y",
        "Both hold for a cheap policy and 10,000 requests, over a fixed and over a random control, "
        "and where both sides are the same; there the guardrail hardly ever fires.",
        "a control of 10 %, delays of a production log, half of the feedback lost; T = 10,000, "
        "400 seeds, 200 on each of two problems where both sides are the same",
        (
            Runs((_FEW,), (_CHEAP,), 10_000, 400, LATE),
            Runs((_KNOBS,), (_AT_RANDOM,), 10_000, 400, LATE),
            Runs(_SAME, (_STAY,), 10_000, 200, LATE),
        ),
        (
            LiftHolds(f"{_CHEAP}{DELAYED}", _FEW, _LONG),
            LiftHolds(f"{_AT_RANDOM}{DELAYED}", _KNOBS, _LONG),
            *(LiftHolds(f"{_STAY}{DELAYED}", problem, _LONG) for problem in _SAME),
            NoAlarm(f"{_STAY}{DELAYED}", _SAME, 0.01),
            Width(f"{_CHEAP}{DELAYED}", _FEW, 10_000, 0.11),
            *_holds(_CHEAP, _FEW, _LONG),
            *_holds(_AT_RANDOM, _KNOBS, _LONG),
        ),
        "Half of the feedback is lost: after 10,000 requests there are 5,000 rewards.",
    ),
    Claim(
        "z",
        "A control of 5 % costs its requests, and at most 2 % more.",
        "the default's bar; T = 2,000, 100 paired seeds of a cheap policy",
        (Runs(FIVE, ("imoss-mutate", "imoss-control-5"), 2_000, 100),),
        (
            Ratios("tuned_loss", "imoss-control-5", ("imoss-mutate",), FIVE, mean=1.02),
            Ratios("tuned_regret", "imoss-control-5", ("imoss-mutate",), FIVE),
        ),
        "First the regret of the tuned requests, over that of all requests without a control: "
        "what is lost besides what the control's own requests lose. Then their regret as if all "
        "requests were tuned, which decides nothing: a study that learns from fewer requests is "
        "earlier on its curve.",
    ),
)
