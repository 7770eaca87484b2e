"""What the default must show within budgets and limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from imabo_bench.claims.base import Claim, Comparison, Evidence, Finding, Runs
from imabo_bench.claims.default import DEFAULT
from imabo_bench.problems import frontier, hotpotqa_tokens, routing
from imabo_bench.problems.hotpotqa import FIFTHS

SEEDS: Final = 20
BY_HAND: Final = ("pacing-kl", "weighted-kl", "cheapest", "best-kl")
ROUTING: Final = tuple(
    f"{routing.FAMILY}/{name}" for name in routing.INSTANCES if name.startswith("paretobandit")
)
TOKENS: Final = tuple(f"{hotpotqa_tokens.FAMILY}/{fifth}" for fifth in FIFTHS[:2])
FRONTIER: Final = tuple(f"{frontier.FAMILY}/{name}" for name in frontier.INSTANCES)


@dataclass(frozen=True)
class Kept(Comparison):
    """What a method used and earned, on each problem, in the mean over its seeds.

    Args:
        spend: Between which shares of what is allowed the last 3,000 requests used.
        worst: At most which share any 1,000 requests of any seed used.
        value: At least which share of the best fixed mix's reward with the same requests.
        single: The same of the best configuration that keeps the budgets alone.
        decides: False only shows the figures.
    """

    method: str
    problems: tuple[str, ...]
    spend: tuple[float, float] = (0.0, np.inf)
    worst: float = np.inf
    value: float = 0.0
    single: float = 0.0
    decides: bool = True

    def check(self, evidence: Evidence) -> list[Finding]:
        """One finding a problem."""
        found = []
        for problem in self.problems:
            rows = list(evidence.rows(problem, self.method).values())
            spend = np.mean([row["spend"] for row in rows], axis=0)
            worst = np.max([row["worst_spend"] for row in rows], axis=0)
            value = float(np.mean([row["value"] for row in rows]))
            single = float(np.mean([row["value_single"] for row in rows]))
            holds = bool(
                (self.spend[0] <= spend.max() <= self.spend[1])
                and worst.max() <= self.worst
                and value >= self.value
                and single >= self.single
            )
            shown = " and ".join(f"{one:.3f}" for one in spend)
            each = np.array([max(row["spend"]) for row in rows])
            high = sum(max(row["worst_spend"]) > self.worst for row in rows)
            beyond = f" (beyond {self.worst} in {high} of {len(rows)} runs)" if high else ""
            words = (
                f"{problem}: {self.method} uses {shown} of what is allowed ({each.min():.3f} to "
                f"{each.max():.3f} in single runs), at most {worst.max():.3f} over 1,000{beyond}, "
                f"and earns {value:.4f} of the best fixed mix, {single:.4f} of the best "
                "configuration"
            )
            found.append(Finding(holds if self.decides else None, words))
        return found


BUDGET_CLAIMS: Final = (
    Claim(
        "B1",
        "Routing within a budget: the spend is within 2 % of it over the last 3,000 of 5,000 "
        "requests, at most 5 % above it over any 1,000 after the first 500, and the reward at "
        "least 0.985 of the best fixed mix's with the same requests.",
        "the default's bar; four budgets, 20 paired seeds",
        (Runs(ROUTING, (DEFAULT,), 5_000, SEEDS),),
        (Kept(DEFAULT, ROUTING, spend=(0.98, 1.02), worst=1.05, value=0.985),),
        "The best fixed mix is computed from the whole table. It has answers that cost two hundred "
        "budgets: a single one is a fifth of what 1,000 requests may use.",
    ),
    Claim(
        "B2",
        "Limits: the share of requests above the limit is at most 1.1 times what is allowed over "
        "the last 3,000 of 5,000.",
        "the default's bar; problems with a known frontier, 20 seeds",
        (Runs(FRONTIER, (DEFAULT,), 5_000, SEEDS),),
        (Kept(DEFAULT, FRONTIER, spend=(0.0, 1.1)),),
    ),
    Claim(
        "B3",
        "The assistant with half of the tokens of its best configuration keeps to them, and earns "
        "0.95 of what the best configuration within that budget does.",
        "the default's bar; two splits of the questions, 20 seeds",
        (Runs(TOKENS, (DEFAULT,), 5_000, SEEDS),),
        (Kept(DEFAULT, TOKENS, spend=(0.0, 1.02), single=0.95),),
        "The best mix earns more than any one configuration within the budget: the best of these, "
        "the extractive reader, earns about 0.7 of it. So both shares are shown.",
    ),
    Claim(
        "B4",
        "What one would do by hand within the same budgets, to compare with.",
        "shown only; the requests of B1",
        (Runs(ROUTING, BY_HAND, 5_000, SEEDS),),
        tuple(Kept(method, ROUTING, decides=False) for method in BY_HAND),
    ),
)
