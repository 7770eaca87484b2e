"""What the parameters do: the reward of each value or range, and which parameters matter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from imabo.arms import Floats, Ints
from imabo.insight.arm_columns import Rewards
from imabo.insight.estimates import mean_intervals, number
from imabo.insight.grouping import Group
from imabo.insight.snapshot import StudySnapshot
from imabo.space.scalars import Scalar


@dataclass(frozen=True, slots=True)
class Effect:
    """What was seen with the arms of a group; the mean is over their ``n_rewards`` rewards."""

    label: str
    value: Scalar
    low: float | None
    high: float | None
    n_arms: int
    n_pulls: int
    n_rewards: int
    mean: float | None
    mean_low: float | None
    mean_high: float | None


@dataclass(frozen=True, slots=True)
class ParameterEffects:
    """The groups of one parameter; ``kind`` is ``choice``, ``int`` or ``float``."""

    name: str
    kind: str
    log: bool
    effects: list[Effect]


@dataclass(frozen=True, slots=True)
class Importance:
    """How much a parameter matters: ``share`` of the differences between arms, from 0 to 1.

    ``raw`` is the same before the correction for chance. ``share`` is None while there
    are too few arms to tell: three, and two for each group.
    """

    name: str
    share: float | None
    raw: float | None
    n_groups: int


@dataclass(frozen=True, slots=True)
class Importances:
    """The parameters, the most important first, from ``n_arms`` arms with rewards."""

    parameters: list[Importance]
    n_arms: int
    note: str


def effects(snapshot: StudySnapshot) -> list[ParameterEffects]:
    """For each parameter, the mean reward with each of its values or ranges, and how much of it.

    All arms count, retired ones too. Each mean is over all rewards of a group's arms, so much
    served arms weigh more; the other parameters differ between groups as well, so a difference need
    not be this parameter's doing. The interval is for the noise of the rewards (see
    ``estimates.mean_intervals``), for the arms that were tried and as often as they were. After a
    change that the study noticed only rewards that speak of now count.

    Example:
        >>> from imabo import Choice, Space, Study, insight
        >>> study = Study.create("s", Space(model=Choice("a", "b")), seed=0)
        >>> for _ in range(20):
        ...     pull = study.ask()
        ...     study.tell(pull.id, float(pull.config["model"] == "b"))
        >>> (found,) = insight.effects(insight.read(study))
        >>> [(effect.label, effect.n_arms, effect.mean) for effect in found.effects]
        [('a', 1, 0.0), ('b', 1, 1.0)]
    """
    known, names = snapshot.arms, snapshot.space.names
    groupings = [snapshot.grouping(name) for name in names]
    starts = np.cumsum([0, *(len(one.groups) for one in groupings)]).tolist()
    columns = (np.ones(len(known)), known.n_pulls, *known.rewards_now)

    def summed(weights: Floats) -> Floats:
        parts = [np.bincount(one.codes, weights, len(one.groups)) for one in groupings]
        return np.concatenate(parts)

    totals = np.array([summed(weights) for weights in columns])
    # One call for the groups of all parameters: the search for the ends is the slow part.
    ends = np.array(mean_intervals(totals[2], totals[3], totals[4], snapshot.reward_range))
    found = []
    for name, grouped, start in zip(names, groupings, starts, strict=False):
        parameter = snapshot.space.parameters[name]
        rows = slice(start, start + len(grouped.groups))
        cells = zip(grouped.groups, *totals[:4, rows], *ends[:, rows], strict=True)
        log = bool(getattr(parameter, "log", False))
        found.append(
            ParameterEffects(name, parameter.type_name, log, [_effect(*one) for one in cells])
        )
    return found


def _effect(
    group: Group, n_arms: float, n_pulls: float, n: float, total: float, low: float, high: float
) -> Effect:
    mean = [float(total / n), number(low), number(high)] if n else [None] * 3
    counts = int(n_arms), int(n_pulls), int(n)
    return Effect(group.label, group.value, group.low, group.high, *counts, *mean)


def importance(snapshot: StudySnapshot) -> Importances:
    """Which parameters matter: the share of the differences between arms that each explains alone.

    A one-way analysis of variance of the arms' means over the groups of ``effects``, corrected for
    what any grouping explains by chance (omega squared, at least 0). An arm weighs as its mean is
    known: with its rewards, up to where more of them would say nothing new because arms differ.
    Each parameter is looked at alone, so what only a combination of values does is not seen, and
    parameters that were varied together share the credit. After a change that the study noticed
    only rewards that speak of now count.

    Example:
        >>> from imabo import Choice, Float, Space, Study, insight, oracles, policies
        >>> study = Study.create(
        ...     "s", Space(model=Choice("a", "b"), x=Float(0, 1)), seed=0,
        ...     policy=policies.IMOSS(warmup=30), oracle=oracles.Random())
        >>> for _ in range(60):
        ...     pull = study.ask()
        ...     study.tell(pull.id, 0.9 if pull.config["model"] == "b" else 0.2)
        >>> found = insight.importance(insight.read(study)).parameters
        >>> [(one.name, round(one.share, 2)) for one in found]
        [('model', 1.0), ('x', 0.0)]
    """
    rewards = snapshot.arms.rewards_now
    rewarded = rewards.n > 0
    kept = Rewards(*(column[rewarded] for column in rewards))
    weights, means = _weights(kept), kept.sums / kept.n
    found = [
        _importance_of(name, snapshot.grouping(name).codes[rewarded], weights, means)
        for name in snapshot.space.names
    ]
    order = sorted(range(len(found)), key=lambda i: (-(found[i].share or 0.0), i))
    return Importances(
        parameters=[found[i] for i in order],
        n_arms=int(rewarded.sum()),
        note="Each parameter alone: effects of combinations are not seen.",
    )


def _weights(rewards: Rewards) -> Floats:
    """Inverse variances of the arms' means: the noise of their rewards and what arms differ by."""
    n, sums, squares = rewards
    k, total = len(n), n.sum()
    freedom = total - k
    if k < 2 or freedom <= 0:
        return np.ones(k)
    within = max(float((squares - sums**2 / n).sum() / freedom), 0.0)
    spread = float((n * (sums / n - sums.sum() / total) ** 2).sum())
    between = max((spread - (k - 1) * within) / (total - (n**2).sum() / total), 0.0)
    # The method of moments, as in random-effects models.
    variances = between + within / n
    return np.ones(k) if variances.min() <= 0 else variances.min() / variances


def _importance_of(name: str, codes: Ints, weights: Floats, means: Floats) -> Importance:
    is_used = np.bincount(codes) > 0
    codes = (np.cumsum(is_used) - 1)[codes]  # without the groups that none of these arms is in
    k, n = int(is_used.sum()), len(means)
    if n < max(3, 2 * k):
        return Importance(name, None, None, k)
    w = np.bincount(codes, weights=weights)
    centres = np.bincount(codes, weights=weights * means) / w
    centre = float((weights * means).sum() / weights.sum())
    total = float((weights * (means - centre) ** 2).sum())
    between = float((w * (centres - centre) ** 2).sum())
    if total <= 1e-12 * max(centre**2, 1e-300) or k < 2:
        return Importance(name, 0.0, 0.0, k)
    noise = max(total - between, 0.0) / (n - k)
    share = (between - (k - 1) * noise) / (total + noise)
    return Importance(name, min(max(share, 0.0), 1.0), min(between / total, 1.0), k)
