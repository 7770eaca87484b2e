"""What the report shows, computed from the rows: pure functions, nothing is drawn here."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from imabo.arms import Floats
from imabo_bench.report.rows import Run

PLANE_CHECKPOINTS: Final = (1000, 3000, 5000, 10_000)


@dataclass(frozen=True)
class Group:
    """The runs that can be compared: one problem, one number of rounds, all methods."""

    title: str
    problem: str
    rounds: int
    methods: dict[str, list[Run]]  # label -> runs in order of their seeds

    @property
    def runs(self) -> list[Run]:
        """All runs of all methods."""
        return [run for runs in self.methods.values() for run in runs]

    @property
    def optimum(self) -> float:
        """The mean that regret is measured against."""
        return self.runs[0].optimum

    @property
    def delays(self) -> list[str]:
        """Settings of the feedback's delay, in words; the empty one is feedback at once."""
        return sorted({run.delay for run in self.runs})


@dataclass(frozen=True)
class Spread:
    """Mean over seeds, sample standard deviation (None for one seed) and how many there were."""

    mean: float
    std: float | None
    count: int

    @property
    def error(self) -> float | None:
        """Standard error of the mean."""
        return None if self.std is None else self.std / math.sqrt(self.count)


@dataclass(frozen=True)
class Curve:
    """A quantity over the rounds: mean and standard deviation over seeds."""

    method: str
    rounds: list[float]
    mean: list[float]
    std: list[float] | None


@dataclass(frozen=True)
class Ellipse:
    """One-standard-deviation contour of a covariance matrix."""

    center: tuple[float, float]
    axes: tuple[float, float]  # half lengths, the longer first
    angle: float  # of the longer axis, radians

    def outline(self, n_points: int = 49) -> tuple[list[float], list[float]]:
        """Points on the contour, the last equal to the first."""
        turn = np.linspace(0.0, 2.0 * math.pi, n_points)
        along, across = self.axes[0] * np.cos(turn), self.axes[1] * np.sin(turn)
        cos, sin = math.cos(self.angle), math.sin(self.angle)
        x = self.center[0] + along * cos - across * sin
        y = self.center[1] + along * sin + across * cos
        return x.tolist(), y.tolist()


@dataclass(frozen=True)
class Spot:
    """Where a method stands in the plane after some rounds."""

    checkpoint: int
    average: list[float]  # one entry a seed
    simple: list[float]
    center: tuple[float, float]
    ellipse: Ellipse | None


@dataclass(frozen=True)
class Split:
    """Average regret in two parts, eq. (oracle-decomposition)."""

    method: str
    best_gap: float
    cost: float
    off_best: float
    loss_off_best: float

    @property
    def average(self) -> float:
        """The sum of the two parts, R_T / T."""
        return self.best_gap + self.cost


@dataclass(frozen=True)
class Quantiles:
    """A distribution in six numbers."""

    label: str
    low: float  # 5 %
    lower: float  # 25 %
    median: float
    upper: float  # 75 %
    high: float  # 95 %
    mean: float
    count: int


def natural(name: str) -> list[str | int]:
    """A sorting key that puts tpe-50 before tpe-100.

    Example:
        >>> sorted(["tpe-100", "tpe-50"], key=natural)
        ['tpe-50', 'tpe-100']
    """
    return [int(part) if i % 2 else part for i, part in enumerate(re.split(r"(\d+)", name))]


def label_of(run: Run, delays: set[str]) -> str:
    """A name for a run's method: its own, unless it ran under several ``delays`` side by side."""
    if len(delays) == 1:
        return run.method
    if not run.delay:
        return f"{run.method} (no delay)"
    return f"{run.method} ({'delayed' if len(delays - {''}) == 1 else run.delay})"


def groups_of(runs: Sequence[Run]) -> list[Group]:
    """Sort runs into groups, in the order in which problems first appear."""
    budgets: dict[str, dict[int, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        budgets[run.problem][run.rounds].append(run)
    return [
        Group(
            title=problem if len(by_rounds) == 1 else f"{problem}, {rounds:,} rounds",
            problem=problem,
            rounds=rounds,
            methods=_by_method(by_rounds[rounds]),
        )
        for problem, by_rounds in budgets.items()
        for rounds in sorted(by_rounds)
    ]


def _by_method(runs: Sequence[Run]) -> dict[str, list[Run]]:
    delays: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        delays[run.method].add(run.delay)
    found: dict[str, list[Run]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: (natural(run.method), run.delay, run.seed)):
        found[label_of(run, delays[run.method])].append(run)
    return dict(found)


def spread_of(values: Iterable[float]) -> Spread:
    """Mean and sample standard deviation; NaNs (nothing to report) are left out."""
    array = np.array(list(values), dtype=np.float64)
    array = array[~np.isnan(array)]
    if not len(array):
        return Spread(math.nan, None, 0)
    std = float(array.std(ddof=1)) if len(array) > 1 else None
    return Spread(float(array.mean()), std, len(array))


def curves_of(group: Group, quantity: Callable[[Run], Floats]) -> list[Curve]:
    """A column over the rounds for each method that has it.

    Args:
        group: The runs.
        quantity: Takes the column from a run; an empty one means the run has none.
    """
    found = (_curve(method, runs, quantity) for method, runs in group.methods.items())
    return [curve for curve in found if curve is not None]


def rewards_per_arm(run: Run) -> Floats:
    """Rewards received so far for each arm, which lateness and loss make few."""
    return run.rewards / np.maximum(run.arms, 1.0)


def _curve(method: str, runs: Sequence[Run], quantity: Callable[[Run], Floats]) -> Curve | None:
    columns: list[dict[float, float]] = []
    for run in runs:
        pairs = zip(run.checkpoints.tolist(), quantity(run).tolist(), strict=False)
        column = {t: value for t, value in pairs if not math.isnan(value)}
        if column:
            columns.append(column)
    # Only rounds that every seed reached: a mean over changing seeds would jump.
    shared = sorted(set[float]().union(*columns).intersection(*columns))
    if not shared:
        return None
    table = np.array([[column[t] for t in shared] for column in columns])
    std = table.std(axis=0, ddof=1).tolist() if len(columns) > 1 else None
    return Curve(method, shared, table.mean(axis=0).tolist(), std)


def ellipse_of(x: Sequence[float], y: Sequence[float]) -> Ellipse | None:
    """One-standard-deviation contour of the sample covariance; None for fewer than two points."""
    if len(x) < 2:
        return None
    variances, directions = np.linalg.eigh(np.cov(x, y))
    small, large = np.sqrt(np.maximum(variances, 0.0))
    angle = math.atan2(directions[1, 1], directions[0, 1])
    center = (float(np.mean(x)), float(np.mean(y)))
    return Ellipse(center, (float(large), float(small)), angle)


def plane_of(group: Group) -> dict[str, list[Spot]]:
    """Average and simple regret at the paper's budgets (and at the end) for each method."""
    wanted = sorted({*(t for t in PLANE_CHECKPOINTS if t < group.rounds), group.rounds})
    trails = {}
    for method, runs in group.methods.items():
        spots = (_spot(runs, checkpoint) for checkpoint in wanted)
        trails[method] = [spot for spot in spots if spot is not None]
    return trails


def _spot(runs: Sequence[Run], checkpoint: int) -> Spot | None:
    pairs = []
    for run in runs:
        # A schedule that ended before the last round has its end stand for it.
        is_end = checkpoint == run.rounds
        at = len(run.checkpoints) - 1 if is_end else np.searchsorted(run.checkpoints, checkpoint)
        if at == len(run.checkpoints) or not (is_end or run.checkpoints[at] == checkpoint):
            continue
        if not math.isnan(run.simple[at]):
            pairs.append((float(run.average[at]), float(run.simple[at])))
    if not pairs:
        return None
    average, simple = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    center = (float(np.mean(average)), float(np.mean(simple)))
    return Spot(checkpoint, average, simple, center, ellipse_of(average, simple))


def splits_of(group: Group) -> list[Split]:
    """The decomposition of average regret for each method, lowest average first."""
    splits = []
    for method, runs in group.methods.items():
        best_gap = float(np.mean([run.best_gap for run in runs]))
        # eq. (oracle-decomposition), solved for the cost of the other arms
        cost = float(np.mean([run.average_regret for run in runs])) - best_gap
        off_best = float(np.mean([run.off_best for run in runs]))
        loss = float(np.mean([run.loss_off_best for run in runs]))
        splits.append(Split(method, best_gap, cost, off_best, loss))
    return sorted(splits, key=lambda split: split.average)


def quantiles_of(label: str, values: Floats) -> Quantiles:
    """Five quantiles and the mean of a non-empty sample."""
    low, lower, median, upper, high = np.quantile(values, (0.05, 0.25, 0.5, 0.75, 0.95)).tolist()
    return Quantiles(label, low, lower, median, upper, high, float(values.mean()), len(values))


def arm_quantiles(group: Group) -> list[Quantiles]:
    """True means of the arms each method admitted, pooled over seeds."""
    pooled = {
        method: np.concatenate([run.arm_means for run in runs])
        for method, runs in group.methods.items()
    }
    return [quantiles_of(method, means) for method, means in pooled.items() if len(means)]
