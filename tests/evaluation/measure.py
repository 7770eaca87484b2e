"""Measures what docs/evaluation.md says: ``python -m tests.evaluation.measure lift|guardrail``."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from imabo.evaluation.bets import Floats, log_capital, reach
from imabo.evaluation.guardrail import Guardrail
from imabo.evaluation.lift import Lift
from imabo.evaluation.planning import lift_weights
from imabo.evaluation.tally import CENTRES, HIGHER, LOWER, SCORES, WIDTH, added
from tests.evaluation.traffic import Arrivals, arrivals

NEAR_HALF: Final = (0.4, 0.45, 0.5, 0.52, 0.56, 0.6)
RARE: Final = (0.01, 0.02, 0.02, 0.03, 0.04, 0.05)


def steady(share: float) -> Callable[[int], float]:
    return lambda t: share


def raised(t: int) -> float:
    """A team that starts with 5 % tuned and raises it."""
    return 0.95 if t < 2000 else 0.5 if t < 5000 else 0.1


LIFTS: Final[dict[str, dict[str, Any]]] = {
    "A/A, share 0.1": {"arms": (0.5,), "control": 0.5, "share": steady(0.1)},
    "A/A, share 0.05": {"arms": (0.5,), "control": 0.5, "share": steady(0.05)},
    "A/A, share 0.5": {"arms": (0.5,), "control": 0.5, "share": steady(0.5)},
    "A/A of success rate 0.02, share 0.1": {"arms": (0.02,), "control": 0.02, "share": steady(0.1)},
    "learns, share 0.1": {"arms": NEAR_HALF, "control": 0.5, "share": steady(0.1)},
    "learns, all feedback at once": {
        "arms": NEAR_HALF, "control": 0.5, "share": steady(0.1), "lost": 0.0, "delay": 0.0},
    "learns, tuned share raised from 0.05 to 0.9": {
        "arms": NEAR_HALF, "control": 0.5, "share": raised},
    "learns, success rates of 0.01 to 0.05": {
        "arms": RARE, "control": 0.02, "share": steady(0.1)},
    "learns, graded rewards": {
        "arms": NEAR_HALF, "control": 0.5, "share": steady(0.1), "concentration": 4.0},
}  # fmt: skip


def sums(one: Arrivals) -> Floats:
    return added(np.zeros(WIDTH), one.reward, one.control, one.share, True)


def ever_wrong(one: Arrivals, rows: Floats, level: float = 0.95) -> bool:
    """Whether the interval leaves out the average lift so far at any moment."""
    truth = np.cumsum(one.lift)
    weights, limit = lift_weights(float(one.share[0])), math.log(2.0 / (1.0 - level))
    high = log_capital(rows[:, HIGHER], rows[:, CENTRES] - truth, weights)
    low = log_capital(rows[:, LOWER], truth - rows[:, CENTRES], weights)
    return bool((np.maximum(high, low) >= limit).any())


def half_width(rows: Floats, share: float, n: int, level: float = 0.95) -> float:
    row = rows[n - 1]
    gains = np.array([row[HIGHER], row[LOWER]])
    limit = math.log(2.0 / (1.0 - level))
    count = np.array([row[SCORES], row[SCORES]])
    return float(reach(gains, count, lift_weights(share), limit).mean())


def measure_lift(runs: int) -> None:
    print("| traffic | ever wrong | half-width after 1,000 and 5,000 rewards |\n|---|---|---|")
    for name, world in LIFTS.items():
        wrong, widths = 0, []
        n_requests = 10_000 if world.get("lost") == 0.0 else 20_000
        for one in arrivals(runs, n_requests, **world):
            rows = sums(one)
            wrong += ever_wrong(one, rows)
            first = float(one.share[0])
            widths.append([half_width(rows, first, n) for n in (1000, 5000)])
        mean = np.mean(widths, axis=0)
        print(f"| {name} | {100 * wrong / runs:.1f} % | {mean[0]:.3f}, {mean[1]:.3f} |", flush=True)


def fires_at(one: Arrivals, guardrail: Guardrail, every: int = 25) -> float:
    """After how many rewards the guardrail fires, looked at now and then; infinite for never."""
    lift, outcomes = Lift(), one.outcomes()
    for at in range(every, len(outcomes) + 1, every):
        lift = lift.update(outcomes[at - every : at])
        if guardrail.check(lift).is_worse:
            return at
    return math.inf


def measure_guardrail(runs: int) -> None:
    guardrail = Guardrail(margin=0.02)
    print("| loss of 0.1 | within 1,500 | median | 95 % within |\n|---|---|---|---|")
    for share in (0.1, 0.2, 0.3, 0.5):
        for name, tuned, control, grades in (
            ("0 and 1, 0.6 to 0.5", 0.5, 0.6, None),
            ("0 and 1, 0.9 to 0.8", 0.8, 0.9, None),
            ("graded, sd 0.25, 0.6 to 0.5", 0.5, 0.6, 3.0),
        ):
            traffic = arrivals(
                runs, 8_000, (tuned,), control, steady(share), lost=0.0, concentration=grades
            )
            found = [fires_at(one, guardrail) for one in traffic]
            quick = 100 * np.mean(np.array(found) <= 1500)
            ends = np.quantile(found, [0.5, 0.95], method="higher")
            print(f"| share {share}, {name} | {quick:.0f} % | {ends[0]:.0f} | {ends[1]:.0f} |",
                  flush=True)  # fmt: skip
    print("| A/A | fires within 10,000 rewards |\n|---|---|")
    for share in (0.1, 0.3, 0.5):
        for mean in (0.5, 0.9):
            traffic = arrivals(runs, 10_000, (mean,), mean, steady(share), lost=0.0)
            part = np.mean([math.isfinite(fires_at(one, guardrail)) for one in traffic])
            print(f"| share {share}, rewards of mean {mean} | {100 * part:.2f} % |", flush=True)


if __name__ == "__main__":
    what, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 400
    {"lift": measure_lift, "guardrail": measure_guardrail}[what](runs)
