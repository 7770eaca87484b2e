"""The recommended arm, as the key figures and the figures show it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from imabo.insight.estimates import Interval, number
from imabo.insight.snapshot import StudySnapshot
from imabo.insight.used import Used
from imabo.space import Config

_OTHERS: Final = 8  # configurations that it is told apart from


@dataclass(frozen=True, slots=True)
class MixPart:
    """An arm of a mix: its share of the requests, its mean reward, and what it uses by signal.

    ``mean`` is not flattered by the choice, as that of ``Study.best``.
    """

    arm: int
    share: float
    label: str
    config: Config
    mean: float
    uses: dict[str, float]


@dataclass(frozen=True, slots=True)
class BestMix:
    """The arms to serve within budgets and limits, the largest share first (see ``Study.best``).

    ``mean`` and ``uses`` are what they would earn and use together. ``is_within`` is False where no
    arm is within them: then it is the one that exceeds them least.
    """

    parts: list[MixPart]
    mean: float
    uses: dict[str, float]
    is_within: bool


@dataclass(frozen=True, slots=True)
class BestArm:
    """The arm to keep if learning stopped now (see ``Study.best``).

    ``mean`` is not flattered by the choice, ``observed`` is the plain average, ``chance`` how
    likely it is the best of the active arms. ``since`` is when the study last noticed a change, in
    seconds since 1970, or None: then the numbers are of what speaks of now. ``label`` names it by
    what sets it apart (see ``insight.labels``). ``mix`` is there with an objective: the arms to
    serve within it, of which this one has the largest share.
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
    mix: BestMix | None = None


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
        mix=best_mix(snapshot),
    )


def best_mix(snapshot: StudySnapshot) -> BestMix | None:
    """The recommended mix as the snapshot shows it, None without an objective or rewards."""
    found, used, known = snapshot.best, snapshot.used, snapshot.arms
    if found is None or found.shares is None or used is None:
        return None
    shares = sorted(found.shares.items(), key=lambda pair: -pair[1])
    rows = [known.row_of(arm) for arm, _ in shares]
    labels = snapshot.labels([known.configs[row] for row in rows])
    if len(rows) == 1:
        labels = [_label(snapshot, known.configs[rows[0]])]
    parts = [
        MixPart(
            arm=arm,
            share=share,
            label=label,
            config=dict(known.configs[row]),
            mean=_estimate(snapshot, used, row),
            uses=used.means_of(row),
        )
        for (arm, share), row, label in zip(shares, rows, labels, strict=True)
    ]
    everywhere = [name for name in used.signals if all(name in part.uses for part in parts)]
    return BestMix(
        parts=parts,
        mean=found.mean if found.mix_mean is None else found.mix_mean,
        uses={name: sum(part.share * part.uses[name] for part in parts) for name in everywhere},
        is_within=found.is_within,
    )


def _estimate(snapshot: StudySnapshot, used: Used, row: int) -> float:
    mean = float(used.estimates[row])
    # An arm may have been paused between two reads.
    return mean if math.isfinite(mean) else float(snapshot.arms.estimates[row])


def best_of_all(snapshot: StudySnapshot) -> BestArm | None:
    """The recommended arm with all of its rewards, those from before a change too."""
    if snapshot.best is None or snapshot.best.since is None:
        return best(snapshot)
    row = snapshot.arms.row_of(snapshot.best.arm)
    record = snapshot.arms.records[row]
    low, high = snapshot.arms.intervals_of_all(np.array([row]))
    return BestArm(
        arm=record.id,
        config=dict(record.config),
        mean=float(snapshot.arms.estimates_of_all[row]),
        interval=(number(low[0]), number(high[0])),
        n_rewards=record.tally.n_rewards,
        observed=float(snapshot.arms.means[row]),
        chance=snapshot.best.chance,
        label=_label(snapshot, record.config),
        mix=best_mix(snapshot),
    )


def _label(snapshot: StudySnapshot, config: Config) -> str:
    """What sets it apart from those that are served most."""
    known = snapshot.arms
    others = [known.configs[row] for row in known.best_by(known.n_pulls, _OTHERS).tolist()]
    return snapshot.labels([config, *(one for one in others if one != config)])[0]
