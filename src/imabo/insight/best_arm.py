"""The recommended arm, as the key figures and the figures show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from imabo.insight.estimates import Interval, number
from imabo.insight.snapshot import StudySnapshot
from imabo.space import Config

_OTHERS: Final = 8  # configurations that it is told apart from


@dataclass(frozen=True, slots=True)
class BestArm:
    """The arm to keep if learning stopped now (see ``Study.best``).

    ``mean`` is not flattered by the choice, ``observed`` is the plain average, ``chance`` how
    likely it is the best of the active arms. ``since`` is when the study last noticed a change, in
    seconds since 1970, or None: then the numbers are of what speaks of now. ``label`` names it by
    what sets it apart (see ``insight.labels``).
    """

    arm: int
    config: Config
    mean: float
    interval: Interval
    n_rewards: int
    since: float | None = None
    observed: float | None = None
    chance: float | None = None
    label: str = ""


def best(snapshot: StudySnapshot) -> BestArm | None:
    """The recommended arm as the snapshot shows it, None without rewards."""
    found = snapshot.best
    if found is None:
        return None
    low, high = found.interval
    return BestArm(
        arm=found.arm,
        config=dict(found.config),
        mean=found.mean,
        interval=(number(low), number(high)),
        n_rewards=found.n_rewards,
        since=None if found.since is None else found.since.timestamp(),
        observed=found.observed,
        chance=found.chance,
        label=_label(snapshot, found.config),
    )


def best_of_all(snapshot: StudySnapshot) -> BestArm | None:
    """The recommended arm with all of its rewards, those from before a change too."""
    if snapshot.best is None or snapshot.best.since is None:
        return best(snapshot)
    row = snapshot.arms.row_of(snapshot.best.arm)
    record = snapshot.arms.records[row]
    low, high = snapshot.arms.intervals_of(np.array([row]))
    return BestArm(
        arm=record.id,
        config=dict(record.config),
        mean=float(snapshot.arms.estimates[row]),
        interval=(number(low[0]), number(high[0])),
        n_rewards=record.tally.n_rewards,
        observed=float(snapshot.arms.means[row]),
        chance=snapshot.best.chance,
        label=_label(snapshot, record.config),
    )


def _label(snapshot: StudySnapshot, config: Config) -> str:
    """What sets it apart from those that are served most."""
    known = snapshot.arms
    others = [known.configs[row] for row in known.best_by(known.n_pulls, _OTHERS).tolist()]
    return snapshot.labels([config, *(one for one in others if one != config)])[0]
