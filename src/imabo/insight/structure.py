"""The arms as a set: parallel coordinates, and how arms descend from each other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from imabo.arms import Ints
from imabo.insight.arm_table import rows_of
from imabo.insight.estimates import numbers
from imabo.insight.grouping import INACTIVE, config_text, numbers_of, value_text
from imabo.insight.snapshot import StudySnapshot
from imabo.space import Choice

MOST_ARMS: Final = 200
_TICKS: Final = 5
_GAP: Final = 0.12  # of the axis, below its start, where arms without the parameter are put


@dataclass(frozen=True, slots=True)
class Axis:
    """One coordinate: a place for each arm, and what is written beside some places."""

    name: str
    values: list[float | None]
    start: float
    end: float
    ticks: list[float]
    labels: list[str]


@dataclass(frozen=True, slots=True)
class Parallel:
    """Parallel coordinates of the ``arms``; ``n_arms`` have rewards.

    ``means`` are drawn towards the other arms' where rewards are few (``ArmRow.estimate``).
    """

    arms: list[int]
    axes: list[Axis]
    means: list[float | None]
    n_arms: int


@dataclass(frozen=True, slots=True)
class Descendant:
    """An arm in the tree; ``generation`` counts from 0 for arms without a parent.

    ``mean`` is drawn towards the other arms' where rewards are few (``ArmRow.estimate``).
    """

    arm: int
    parent: int | None
    mutated: str | None
    origin: str
    state: str
    generation: int
    n_pulls: int
    mean: float | None
    low: float | None
    high: float | None
    config: str


@dataclass(frozen=True, slots=True)
class Descent:
    """The most pulled arms and all their ancestors, in order of admission.

    ``n_children`` of all ``n_arms`` arms have a parent.
    """

    arms: list[Descendant]
    n_arms: int
    n_children: int


def parallel(snapshot: StudySnapshot) -> Parallel:
    """The arms with rewards as lines through one axis for each parameter, at most 200.

    Those with the most pulls are shown. Values of a choice are ticks, numbers on a log scale are
    placed by their logarithms, and arms that do not have a parameter lie apart, below its axis.

    Example:
        >>> from imabo import Choice, Space, Study, insight
        >>> study = Study.create("s", Space(model=Choice("a", "b")), seed=0)
        >>> study.tell(study.ask().id, 0.5)
        >>> insight.parallel(insight.read(study)).axes[0].labels
        ['a', 'b']
    """
    known = snapshot.arms
    rows = known.best_by(np.where(known.n_rewards > 0, known.n_pulls, np.nan), MOST_ARMS)
    rows = rows[known.n_rewards[rows] > 0]
    return Parallel(
        arms=known.ids[rows].tolist(),
        axes=[_axis(snapshot, name, rows) for name in snapshot.space.names],
        means=numbers(known.estimates[rows]),
        n_arms=int((known.n_rewards > 0).sum()),
    )


def _axis(snapshot: StudySnapshot, name: str, rows: Ints) -> Axis:
    parameter = snapshot.space.parameters[name]
    if isinstance(parameter, Choice):
        grouped = snapshot.grouping(name)
        places = grouped.codes[rows].astype(np.float64)
        ticks = [float(i) for i in range(len(grouped.groups))]
        labels = [group.label for group in grouped.groups]
        return Axis(name, numbers(places), 0.0, max(len(ticks) - 1.0, 1.0), ticks, labels)
    log = bool(getattr(parameter, "log", False))
    low, high = float(getattr(parameter, "low", 0.0)), float(getattr(parameter, "high", 1.0))
    values = numbers_of([snapshot.groupings.values[name][row] for row in rows])
    # Arms of an earlier space may lie outside of the current one.
    seen = values[np.isfinite(values) & ((values > 0) | (not log))]
    low, high = min([low, *seen.tolist()]), max([high, *seen.tolist()])
    start, end = (math.log10(low), math.log10(high)) if log else (low, high)
    with np.errstate(divide="ignore", invalid="ignore"):
        places = np.log10(values) if log else values
    ticks = np.linspace(start, end, _TICKS if end > start else 1).tolist()
    shown = [10**tick if log else tick for tick in ticks]
    if parameter.type_name == "int":
        shown = sorted({float(round(value)) for value in shown})
        ticks = [math.log10(value) if log else value for value in shown]
    labels = [value_text(float(f"{value:.3g}")) for value in shown]
    end = end if end > start else start + 1.0
    apart = start - _GAP * (end - start)
    missing = ~np.isfinite(places)
    if missing.any():
        places = np.where(missing, apart, places)
        ticks, labels, start = [apart, *ticks], [INACTIVE, *labels], apart
    return Axis(name, numbers(places), start, end, ticks, labels)


def descent(snapshot: StudySnapshot) -> Descent:
    """Which arm was mutated from which, for the arms with the most pulls and their ancestors.

    At most 200 arms. Only oracles that change a known arm (``oracles.Mutate``) name a parent.

    Example:
        >>> from imabo import Float, Space, Study, insight
        >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
        >>> _ = study.ask()
        >>> [(arm.arm, arm.parent) for arm in insight.descent(insight.read(study)).arms]
        [(1, None)]
    """
    known = snapshot.arms
    parents = known.parents
    n_children = sum(parent is not None for parent in parents)
    place = {arm: row for row, arm in enumerate(known.ids.tolist())} if n_children else {}
    chosen: set[int] = set()
    for row in known.best_by(known.n_pulls, len(known)).tolist():
        line: list[int] = []
        above: int | None = row
        while above is not None and above not in chosen:
            line.append(above)
            above = place.get(parents[above] or 0)
        if len(chosen) + len(line) > MOST_ARMS:
            break
        chosen.update(line)
    rows = sorted(chosen)
    generation: dict[int, int] = {}
    found = []
    for row, arm in zip(rows, rows_of(snapshot, rows), strict=True):
        parent = place.get(arm.parent or 0)
        generation[row] = 0 if parent is None else generation.get(parent, -1) + 1
        found.append(
            Descendant(
                arm=arm.id,
                parent=None if parent is None else arm.parent,
                mutated=arm.mutated,
                origin=arm.origin,
                state=arm.state,
                generation=generation[row],
                n_pulls=arm.n_pulls,
                mean=arm.estimate,
                low=arm.low,
                high=arm.high,
                config=config_text(arm.config),
            )
        )
    return Descent(found, len(known), n_children)
