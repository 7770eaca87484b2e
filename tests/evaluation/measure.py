"""Measures what docs/evaluation.md says.

``python -m tests.evaluation.measure lift 400``, ``... guardrail 400``, ``... margins 200``,
``... windows 120``, ``... chosen 100 IMOSS``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from imabo.evaluation import Lift, chosen, random_serving
from imabo.evaluation.bets import Floats, log_capital, reach
from imabo.evaluation.guardrail import EACH, EVERY, FIRST, Guardrail, guardrail_weights
from imabo.evaluation.lift import NEAR, SPACING
from imabo.evaluation.planning import lift_weights
from imabo.evaluation.tally import CENTRES, HIGHER, LOWER, SCORES, WIDTH, added
from tests.evaluation.traffic import Arrivals, arrivals
from tests.evaluation.worlds import WORLDS, Moment, run

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


def evidence(one: Arrivals, guardrail: Guardrail) -> Floats:
    """Logarithm of what ``Guardrail.check`` has as evidence, after each reward."""
    rows = sums(one)
    gains, centres = rows[:, LOWER], rows[:, CENTRES]
    weights = guardrail_weights(float(one.share[0]), guardrail.margin)
    n = np.arange(1.0, len(rows) + 1.0)

    def capital(start: int, until: int) -> Floats:
        before, centre = (gains[start - 1], centres[start - 1]) if start else (0.0, 0.0)
        part = slice(start, until)
        drift = -guardrail.margin * (n[part] - start) - (centres[part] - centre)
        return log_capital(gains[part] - before, drift, weights)

    total = math.log(FIRST) + capital(0, len(rows))
    for start in range(EVERY, len(rows), EVERY):
        i = start // SPACING
        until = min(start + NEAR * (i & -i) * SPACING, len(rows))
        part = math.log(EACH) + capital(start, until)
        total[start:until] = np.logaddexp(total[start:until], part)
    return total


def fires_at(path: Floats, level: float) -> float:
    """After how many rewards the guardrail fires; infinite for never."""
    fired = np.flatnonzero(path >= -math.log(1.0 - level))
    return float(fired[0] + 1) if len(fired) else math.inf


def measure_guardrail(runs: int) -> None:
    guardrail = Guardrail(margin=0.02)
    levels = (guardrail.level, 0.95)
    losses = (
        ("0 and 1, 0.6 to 0.5", 0.5, 0.6, None),
        ("0 and 1, 0.9 to 0.8", 0.8, 0.9, None),
        ("graded, sd 0.25, 0.6 to 0.5", 0.5, 0.6, 3.0),
    )
    print(f"| loss of 0.1 | within 1,500, median, 95 % within, at levels {levels} |\n|---|---|")
    for share in (0.1, 0.2, 0.3, 0.5):
        for name, tuned, control, grades in losses:
            traffic = arrivals(
                runs // 2, 4_000, (tuned,), control, steady(share), lost=0.0, delay=0.0,
                concentration=grades)  # fmt: skip
            paths = [evidence(one, guardrail) for one in traffic]
            row = f"| share {share}, {name} |"
            for level in levels:
                found = np.array([fires_at(path, level) for path in paths])
                ends = np.quantile(found, [0.5, 0.95], method="higher")
                row += f" {100 * np.mean(found <= 1500):.0f} %, {ends[0]:.0f}, {ends[1]:.0f} |"
            print(row, flush=True)
    print("| A/A | fires within 10,000 rewards |\n|---|---|")
    for share, mean in ((0.1, 0.5), (0.5, 0.5), (0.3, 0.9)):
        traffic = arrivals(runs, 10_000, (mean,), mean, steady(share), lost=0.0, delay=0.0)
        most = np.array([evidence(one, guardrail).max() for one in traffic])
        parts = [100 * np.mean(most >= -math.log(1.0 - level)) for level in levels]
        print(f"| share {share}, rewards of mean {mean} | {parts[0]:.2f} %, {parts[1]:.2f} % |",
              flush=True)  # fmt: skip


def measure_margins(runs: int) -> None:
    """At which rates, shares and margins a loss of 0.1 is found within 1,500 rewards."""
    rates = (
        ("0 and 1, 0.6 to 0.5", 0.5, 0.6, None),
        ("0 and 1, 0.9 to 0.8", 0.8, 0.9, None),
        ("0 and 1, 0.97 to 0.87", 0.87, 0.97, None),
        ("0 and 1, 0.12 to 0.02", 0.02, 0.12, None),
        ("graded, sd 0.25, 0.6 to 0.5", 0.5, 0.6, 3.0),
    )
    margins = (0.0, 0.02, 0.05)
    print(f"| loss of 0.1 | fires within 1,500, with margins {margins} |\n|---|---|")
    for name, tuned, control, grades in rates:
        for share in (0.2, 0.5):
            traffic = list(arrivals(
                runs, 1_500, (tuned,), control, steady(share), lost=0.0, delay=0.0,
                concentration=grades))  # fmt: skip
            parts = []
            for margin in margins:
                guardrail = Guardrail(margin=margin)
                found = [fires_at(evidence(one, guardrail), guardrail.level) for one in traffic]
                parts.append(f"{100 * np.mean(np.array(found) <= 1500):.0f} %")
            print(f"| {name}, share {share} | {', '.join(parts)} |", flush=True)


def measure_windows(runs: int) -> None:
    """How often the relative lift, that of each day and that of the last rewards are covered."""
    print("| traffic | relative | by day | last 500 rewards |\n|---|---|---|---|")
    worlds = (("near 1/2, share 0.1", NEAR_HALF, 0.5, 0.1), ("rare, share 0.2", RARE, 0.02, 0.2))
    for name, arms, control, share in worlds:
        held: dict[str, list[bool]] = {"relative": [], "by day": [], "last": []}
        for one in arrivals(runs, 4_000, arms, control, steady(share), seed=77):
            n = len(one.reward)
            days = np.arange(n) * 4 // n
            outcomes = [o._replace(day=int(d)) for o, d in zip(one.outcomes(), days, strict=True)]
            lift = Lift().update(outcomes)
            true = float(one.lift.mean()) / control
            found = [("relative", lift.estimate().relative_interval, true)]
            for day, part in lift.by_day().items():
                found.append(("by day", part.interval, float(one.lift[days == day].mean())))
            part = lift.last(500)
            recent = one.lift[n - part.n_tuned - part.n_control :]
            found.append(("last", part.interval, float(recent.mean())))
            for what, ends, truth in found:
                if ends is not None:
                    held[what].append(ends[0] <= truth <= ends[1])
        cells = [f"{100 * np.mean(kept):.1f} % of {len(kept)}" for kept in held.values()]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def measure_chosen(runs: int, parts: str) -> None:
    print(
        "| space | policy | requests | bias of the plain mean | of the shown mean "
        "| interval covers, half-width | likely covers, half-width | chance, and is best "
        "| first rewards: bias, covered |\n|---|---|---|---|---|---|---|---|---|"
    )
    moments = (300, 1500)
    for world in WORLDS:
        found = [run(world, parts, 3000 + seed, moments) for seed in range(runs)]
        for place, requests in enumerate(moments):
            rows = np.array([_chosen_row(one[place]) for one in found])
            mean = np.nanmean(rows, axis=0)
            se = np.nanstd(rows, axis=0) / math.sqrt(runs)
            print(
                f"| {world} | {parts} | {requests} | {mean[0]:+.3f} "
                f"| {mean[1]:+.4f} ± {se[1]:.4f} "
                f"| {100 * mean[2]:.0f} %, {mean[3]:.2f} | {100 * mean[4]:.0f} %, {mean[5]:.3f} "
                f"| {mean[6]:.2f}, {mean[7]:.2f} "
                f"| {mean[8]:+.3f} ± {se[8]:.3f}, {100 * mean[9]:.0f} % |",
                flush=True,
            )


def _chosen_row(moment: Moment) -> list[float]:
    truth = float(moment.truths[moment.best])
    among = moment.servable > 0
    found = chosen(
        moment.best,
        moment.n,
        moment.sums,
        prior_means=moment.prior_means,
        prior_counts=moment.prior_counts,
        among=among,
    )
    first = moment.first_rewards
    low, high = random_serving(first).interval or (0.0, 1.0)
    return [
        found.observed - truth,
        found.mean - truth,
        found.interval[0] <= truth <= found.interval[1],
        0.5 * (found.interval[1] - found.interval[0]),
        found.likely[0] <= truth <= found.likely[1],
        0.5 * (found.likely[1] - found.likely[0]),
        found.chance,
        truth >= float(moment.truths[among].max()),
        float(np.mean(first)) - moment.at_random if first else math.nan,
        low <= moment.at_random <= high,
    ]


if __name__ == "__main__":
    what, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 400
    if what == "chosen":
        measure_chosen(runs, sys.argv[3])
    else:
        measures = {
            "lift": measure_lift, "guardrail": measure_guardrail, "margins": measure_margins,
            "windows": measure_windows,
        }  # fmt: skip
        measures[what](runs)
