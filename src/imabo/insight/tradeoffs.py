"""Reward against a signal: the arms, the best mixes of them, and what other budgets would buy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from imabo.arms import Floats, Ints
from imabo.insight.budgets import price_text
from imabo.insight.compared import percent
from imabo.insight.estimates import number
from imabo.insight.snapshot import StudySnapshot
from imabo.insight.used import Used
from imabo.mixing import Mixer
from imabo.space import Config

MOST_POINTS: Final = 30  # arms of the figure, besides those on the frontier
_CURVE: Final = 40  # budgets that the curve is made from
_BEYOND: Final = 1.25  # times what the best arm uses, up to which the curve goes


@dataclass(frozen=True, slots=True)
class TradeoffArm:
    """An arm on the plane of use and reward, with intervals; ``share`` is that of the best mix.

    ``mean`` is not flattered by luck, as that of ``Study.best``; ``observed`` is the plain average.
    """

    arm: int
    label: str
    config: Config
    mean: float
    low: float | None
    high: float | None
    use: float
    use_low: float
    use_high: float
    n_rewards: int
    n_signals: int
    is_on_frontier: bool
    share: float
    observed: float


@dataclass(frozen=True, slots=True)
class Bought:
    """What a budget buys: the mean reward of its best mix, what that uses, and its parts.

    ``mean`` is None where no mix is within the budget and the other limits.
    """

    budget: float
    mean: float | None
    use: float | None
    parts: list[tuple[int, float]]
    text: str


@dataclass(frozen=True, slots=True)
class Tradeoff:
    """Reward against one signal; ``curve`` has what each budget would buy, the lowest first.

    ``now`` is what the budget of today buys, None without one. ``n_arms`` counts the arms that have
    both a reward and the signal, of which some are shown; ``n_others`` the other budgets and limits
    that the curve keeps.
    """

    signal: str
    unit: str
    arms: list[TradeoffArm]
    n_arms: int
    curve: list[Bought]
    budget: float | None
    now: Bought | None
    price_text: str
    n_others: int


def tradeoff(snapshot: StudySnapshot, signal: str | None = None) -> Tradeoff | None:
    """Reward against a signal: arms with intervals, the frontier, and what other budgets would buy.

    Args:
        snapshot: From ``insight.read``.
        signal: Its name; that of the first budget by default.

    Returns:
        None where no signals are declared.

    Example:
        >>> from imabo import Choice, Signal, Space, Study, insight
        >>> study = Study.create("s", Space(model=Choice("small", "large")), seed=0,
        ...     signals={"cost": Signal(unit="$")})
        >>> for _ in range(40):
        ...     pull = study.ask()
        ...     large = pull.config["model"] == "large"
        ...     study.tell(pull.id, 0.9 if large else 0.6, signals={"cost": 3.0 if large else 1.0})
        >>> found = insight.tradeoff(insight.read(study))
        >>> [(one.label, one.use, round(one.mean, 3)) for one in found.arms]
        [('small', 1.0, 0.602), ('large', 3.0, 0.9)]
    """
    used = snapshot.used
    if used is None:
        return None
    name = used.named(signal)
    if name not in used.found:
        used.found[name] = _tradeoff(snapshot, used, name)
    made: Tradeoff = used.found[name]
    return made


def _tradeoff(snapshot: StudySnapshot, used: Used, name: str) -> Tradeoff:
    known, means = snapshot.arms, used.estimates
    n, sums, squares = used.columns(name)
    rows = np.flatnonzero((known.n_rewards > 0) & (n > 0) & np.isfinite(means))
    uses = sums[rows] / n[rows]
    mixed, mixer = _mixer(used, name, rows, uses)
    is_on = np.zeros(len(rows), dtype=np.bool_)
    if mixer is not None:
        is_on[mixed] = mixer.served()
    mix = {} if snapshot.best is None else dict(snapshot.best.shares or {})
    in_mix = np.isin(known.ids[rows], list(mix))
    usual = np.argsort(-known.n_pulls[rows], kind="stable")[:MOST_POINTS]
    shown = np.flatnonzero(is_on | in_mix | np.isin(np.arange(len(rows)), usual))
    shown = shown[np.lexsort((-means[rows][shown], uses[shown]))]
    places = rows[shown]
    # What the other arms say may draw the mean past what its own rewards allow for.
    low, high = known.intervals_of(places)
    low, high = np.minimum(low, means[places]), np.maximum(high, means[places])
    deviations = np.sqrt(np.maximum(squares[places] / n[places] - uses[shown] ** 2, 0.0))
    errors = 1.96 * deviations / np.sqrt(n[places])
    configs = [known.configs[row] for row in places.tolist()]
    listed = [
        TradeoffArm(
            arm=int(known.ids[row]),
            label=label,
            config=dict(config),
            mean=float(means[row]),
            low=number(low[i]),
            high=number(high[i]),
            use=float(uses[at]),
            use_low=float(uses[at] - errors[i]),
            use_high=float(uses[at] + errors[i]),
            n_rewards=int(known.n_rewards[row]),
            n_signals=int(n[row]),
            is_on_frontier=bool(is_on[at]),
            share=mix.get(int(known.ids[row]), 0.0),
            observed=float(known.means[row]),
        )
        for i, (row, at, label, config) in enumerate(
            zip(places.tolist(), shown.tolist(), snapshot.labels(configs), configs, strict=True)
        )
    ]
    unit = used.signals[name].unit
    budget = used.budgets.get(name)
    curve: list[Bought] = []
    now = None
    if mixer is not None:
        curve, now = _curve(snapshot, used, name, known.ids[rows[mixed]], mixer)
    words, allowed = "", None
    if budget is not None:
        words = price_text(snapshot, used, budget)
        allowed = budget.budget
    n_others = sum(one.name != name for one in used.constraints)
    return Tradeoff(name, unit, listed, len(rows), curve, allowed, now, words, n_others)


def _mixer(used: Used, name: str, rows: Ints, uses: Floats) -> tuple[Ints, Mixer | None]:
    """Which of some arms may be part of a mix, and their mixes, as ``Frontier`` has them."""
    mixed = np.flatnonzero(used.is_mixed[rows])
    if not len(mixed):
        mixed = np.arange(len(rows))
    if not len(mixed):
        return mixed, None
    others = [one for one in used.constraints if one.name != name and one.name in used.expected]
    matrix = [uses[mixed], *(used.expected[one.name][rows[mixed]] for one in others)]
    mine = used.budgets.get(name)
    allowed = [0.0 if mine is None else mine.budget, *(one.budget for one in others)]
    means, careful = used.estimates[rows[mixed]], used.cautious[rows[mixed]]
    return mixed, Mixer(means, careful, np.array(matrix), np.array(allowed))


def _curve(
    snapshot: StudySnapshot, used: Used, name: str, ids: Ints, mixer: Mixer
) -> tuple[list[Bought], Bought | None]:
    """What budgets of a signal would buy, from the least that anything uses; and that of today."""
    uses, means = mixer.uses[0], mixer.means
    on = uses[mixer.served()]
    low, high = float(uses.min()), float(on.max() if len(on) else uses.max())
    mine = used.budgets.get(name)
    most = max(_BEYOND * high, low) if high > 0.0 else high
    if mine is not None:
        most = max(most, min(_BEYOND * mine.budget, 4.0 * most))
    spaced = np.geomspace(low, most, _CURVE) if low > 0.0 else np.linspace(low, most, _CURVE)
    wanted = {*spaced.tolist(), *on.tolist()}
    if mine is not None and mine.budget >= low:
        wanted.add(mine.budget)

    def buy(budget: float) -> Bought:
        shares, is_within = mixer.at(budget)
        parts = [(int(ids[i]), float(shares[i])) for i in np.flatnonzero(shares).tolist()]
        text = mix_words(snapshot, parts)
        if not is_within:
            return Bought(budget, None, None, parts, text)
        return Bought(budget, float(shares @ means), float(shares @ uses), parts, text)

    curve = [buy(budget) for budget in sorted(wanted)]
    return curve, None if mine is None else buy(mine.budget)


def mix_words(snapshot: StudySnapshot, parts: Sequence[tuple[int, float]]) -> str:
    """A mix of arms by their labels, the largest share first."""
    ordered = sorted(parts, key=lambda part: -part[1])
    configs = [snapshot.arms.configs[snapshot.arms.row_of(arm)] for arm, _ in ordered]
    labels = snapshot.labels(configs)
    if len(ordered) == 1:
        return labels[0]
    pairs = zip(ordered, labels, strict=True)
    return " + ".join(f"{percent(share)} {label}" for (_, share), label in pairs)
