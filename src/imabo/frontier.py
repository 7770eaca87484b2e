"""Reward against what requests use: the arms, the best mixes of them, and the price now."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from imabo import late_scipy
from imabo.amounts import amount as shown
from imabo.arms import ActiveSet, Bools, Floats, Ints
from imabo.confidence import bounded_interval, open_interval
from imabo.errors import InvalidSignal, NoRewards
from imabo.evaluation import level_of_each
from imabo.markup import config_text, number, table
from imabo.objective import Signal
from imabo.pricing import charges_now
from imabo.settings import check_fraction
from imabo.space import Config
from imabo.space.scalars import show
from imabo.spelling import closest
from imabo.stores.base import Snapshot

DEAR: Final = 100.0  # budgets for a hundredth of reward: no one would call that a price
_LEAST_SHARE: Final = 1e-6  # of a mix, below which an arm is no part of it


@dataclass(frozen=True, slots=True)
class FrontierArm:
    """An arm on the plane of use and reward.

    Args:
        arm: Its id.
        config: Its configuration.
        mean: The mean of its rewards.
        interval: Covers its mean reward.
        use: The mean of the signal over its requests that reported it.
        use_interval: Covers that mean, for many requests.
        n_rewards: Its rewards.
        n_signals: Requests that reported the signal.
        is_on_frontier: Whether some budget would have it served.
    """

    arm: int
    config: Config
    mean: float
    interval: tuple[float, float]
    use: float
    use_interval: tuple[float, float]
    n_rewards: int
    n_signals: int
    is_on_frontier: bool


@dataclass(frozen=True, slots=True)
class Mix:
    """Shares of the requests by arm, with what they would earn and use on average.

    ``is_within`` is False where no arm is within the budget: then it is the cheapest.
    """

    shares: Mapping[int, float]
    mean: float
    use: float
    is_within: bool = True


@dataclass(frozen=True, slots=True)
class Frontier:
    """What a study knows of reward against one signal; see ``Study.frontier``.

    Args:
        signal: Its name.
        unit: How it is shown.
        level: Coverage of the intervals.
        arms: Those with rewards and with the signal, the one that uses least first.
        spend: The mean of the signal over all requests that reported it.
        budget: What it may be, where the study has a budget of it.
        price: What one more of the signal a request buys in reward now; None without a budget.
    """

    signal: str
    unit: str
    level: float
    arms: Sequence[FrontierArm]
    spend: float
    budget: float | None = None
    price: float | None = None

    def at(self, budget: float) -> Mix:
        """The best mix that a budget buys, by the means so far: at most two arms.

        Example:
            >>> cheap = FrontierArm(1, {}, 0.8, (0, 1), 1.0, (1, 1), 9, 9, True)
            >>> dear = FrontierArm(2, {}, 1.0, (0, 1), 3.0, (3, 3), 9, 9, True)
            >>> found = Frontier("cost", "$", 0.95, [cheap, dear], 1.0).at(2.0)
            >>> dict(found.shares), found.mean
            ({1: 0.5, 2: 0.5}, 0.9)
        """
        means = np.array([one.mean for one in self.arms])
        uses = np.array([one.use for one in self.arms])
        shares, is_within = best_shares(means, uses[None], np.array([budget]))
        found = {self.arms[i].arm: float(shares[i]) for i in np.flatnonzero(shares).tolist()}
        return Mix(found, float(shares @ means), float(shares @ uses), is_within)

    def curve(self, points: int = 50) -> list[tuple[float, float]]:
        """What other budgets would buy: pairs of a budget and the mean reward of its best mix."""
        uses = [one.use for one in self.arms]
        low, high = min(uses), max(uses)
        spaced = np.geomspace(low, high, points) if low > 0.0 else np.linspace(low, high, points)
        return [(float(budget), self.at(float(budget)).mean) for budget in spaced]

    def document(self) -> dict[str, Any]:
        """All of it as JSON-safe values."""
        found = {name: getattr(self, name) for name in Frontier.__slots__ if name != "arms"}
        best = None if self.budget is None else mix_document(self.at(self.budget))
        arms = [asdict(one) for one in self.arms]
        for one in arms:
            for name in ("interval", "use_interval"):
                one[name] = [end if math.isfinite(end) else None for end in one[name]]
        return found | {"arms": arms, "best": best, "text": str(self)}

    def __str__(self) -> str:
        lines = [f"{self.signal}: {self._shown(self.spend)} a request so far"]
        if self.budget is not None:
            best = self.at(self.budget)
            mixed = ", ".join(f"{share:.0%} arm {arm}" for arm, share in best.shares.items())
            lines[0] += f", {self._shown(self.budget)} allowed"
            lines.append(f"best: {mixed}; mean reward {best.mean:.4g}")
            if not best.is_within:
                least = self._shown(best.use)
                lines.append(f"nothing is within the budget: the cheapest uses {least} a request")
            elif self.price and 0.01 / self.price <= DEAR * self.budget:
                more = self._shown(0.01 / self.price)
                lines.append(f"0.01 of reward costs {more} more a request")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """For notebooks: what it says in words, and every arm with its intervals."""
        best = {} if self.budget is None else self.at(self.budget).shares
        head = ["arm", self.signal, "interval", "reward", "interval", "rewards", "best mix", ""]
        rows = []
        for one in self.arms:
            share = best.get(one.arm)
            rows.append(
                [
                    f"{one.arm}{' *' if one.is_on_frontier else ''}",
                    self._shown(one.use),
                    " to ".join(self._shown(end) for end in one.use_interval),
                    number(one.mean),
                    " to ".join(number(end) for end in one.interval),
                    one.n_rewards,
                    "" if share is None else f"{share:.0%}",
                    config_text(dict(one.config)),
                ]
            )
        return table("; ".join(str(self).splitlines()) + " (* on the frontier)", head, rows)

    def _shown(self, amount: float) -> str:
        return shown(amount, self.unit)


def mix_document(mix: Mix) -> dict[str, Any]:
    """A mix as JSON-safe values; its shares are pairs of an arm and its share."""
    return asdict(mix) | {"shares": [[arm, share] for arm, share in mix.shares.items()]}


def best_shares(values: Floats, uses: Floats, allowed: Floats) -> tuple[Floats, bool]:
    """The mix of arms of highest mean value whose mean uses are allowed; False if none is.

    Then it is the arm that exceeds what is allowed least.

    Example:
        >>> best_shares(np.array([0.8, 1.0]), np.array([[1.0, 3.0]]), np.array([0.5]))
        (array([1., 0.]), False)
    """
    ones = np.ones((1, len(values)))
    found = late_scipy.linprog(-values, uses, allowed, ones, [1.0], (0.0, 1.0))
    if found.x is None:
        shares = np.zeros(len(values))
        shares[int((uses / allowed[:, None]).max(axis=0).argmin())] = 1.0
        return shares, False
    shares = np.where(found.x < _LEAST_SHARE, 0.0, found.x)
    return shares / shares.sum(), True


def frontier_of(snapshot: Snapshot, arms: ActiveSet, signal: str | None, level: float) -> Frontier:
    """See ``Study.frontier``."""
    check_fraction("level", level)
    name = _named(snapshot, signal)
    told = _told(snapshot, name)
    ready = np.flatnonzero(arms.servable & (arms.n_rewards > 0)).tolist()
    rows: Ints = np.array([row for row in ready if int(arms.ids[row]) in told], dtype=np.int64)
    if not len(rows):
        why = f"no active arm has both a reward and the signal {name!r} yet"
        fix = "report both for some requests first"
        raise NoRewards("there is no frontier yet", why, fix)
    each = level_of_each(level, len(rows))
    counts, means = arms.n_rewards[rows], arms.means[rows]
    if arms.reward_range is None:
        lows, highs = open_interval(counts, means, arms.variances()[rows], each)
    else:
        lows, highs = bounded_interval(counts, counts * means, each)
    n, sums, squares = np.array([told[int(arms.ids[row])][:3] for row in rows], dtype=float).T
    uses = sums / n
    beyond = float(late_scipy.ndtri(0.5 + each / 2))
    errors = np.sqrt(np.maximum(squares / n - uses**2, 0.0) / n) * beyond
    is_on = on_hull(uses, means)
    order = np.lexsort((-means, uses))
    listed = [
        FrontierArm(
            arm=int(arms.ids[rows[i]]),
            config=dict(arms.configs[rows[i]]),
            mean=arms.from_unit(float(means[i])),
            interval=(arms.from_unit(float(lows[i])), arms.from_unit(float(highs[i]))),
            use=float(uses[i]),
            use_interval=(float(uses[i] - errors[i]), float(uses[i] + errors[i])),
            n_rewards=int(counts[i]),
            n_signals=int(n[i]),
            is_on_frontier=bool(is_on[i]),
        )
        for i in order
    ]
    budget, price = _budget(arms, name)
    every = np.array([one[:2] for one in told.values()], dtype=float)
    unit = (snapshot.study.signals or {})[name]["unit"]
    spend = float(every[:, 1].sum() / every[:, 0].sum())
    return Frontier(name, unit, level, listed, spend, budget, price)


def _told(snapshot: Snapshot, name: str) -> dict[int, Sequence[float]]:
    """Requests, sum and squares of a signal by arm; a price list speaks for what was reported."""
    signal = Signal.restore((snapshot.study.signals or {})[name])
    if signal.known is None:
        return {
            one.id: one.signals[name]
            for one in snapshot.arms
            if one.signals is not None and name in one.signals
        }
    served = [(one, signal.expected(one.config)) for one in snapshot.arms if one.tally.n_pulls]
    return {
        one.id: (one.tally.n_pulls, one.tally.n_pulls * each, one.tally.n_pulls * each**2)
        for one, each in served
    }


def prices_now(arms: ActiveSet) -> dict[str, float]:
    """What one more of each budget or limit a request is worth in reward now, by their names."""
    spending = arms.spending
    if spending is None:
        return {}
    if not arms.n_servable:
        return {one.name: 0.0 for one in spending.constraints}
    scale = arms.from_unit(1.0) - arms.from_unit(0.0)
    charges = np.maximum(charges_now(arms, arms.known_means()) / spending.aims, 0.0) * scale
    named = zip(spending.constraints, charges.tolist(), strict=True)
    return {one.name: charge for one, charge in named}


def _budget(arms: ActiveSet, name: str) -> tuple[float | None, float | None]:
    """The budget of a signal, and what one unit of it is worth in reward now."""
    spending = arms.spending
    budgets = {} if spending is None else {one.name: one.budget for one in spending.constraints}
    return budgets.get(name), prices_now(arms).get(name)


def on_hull(uses: Floats, means: Floats) -> Bools:
    """Which points lie on the upper hull, from the cheapest up to the best."""
    order = np.lexsort((-means, uses))
    hull: list[int] = []
    for i in order.tolist():
        if hull and means[i] <= means[hull[-1]]:
            continue
        while len(hull) > 1 and _is_below(hull[-2], hull[-1], i, uses, means):
            hull.pop()
        hull.append(i)
    return np.isin(np.arange(len(uses)), hull)


def _is_below(a: int, b: int, c: int, uses: Floats, means: Floats) -> bool:
    return bool(
        (means[b] - means[a]) * (uses[c] - uses[a]) <= (means[c] - means[a]) * (uses[b] - uses[a])
    )


def _named(snapshot: Snapshot, signal: str | None) -> str:
    """The signal that is meant: that of the first budget where none is named."""
    declared = snapshot.study.signals or {}
    if signal is None:
        budgets = (snapshot.study.objective or {}).get("budgets", {})
        signal = next(iter([*budgets, *declared]), None)
    if signal in declared:
        return str(signal)
    known = ", ".join(map(repr, declared)) or "none"
    close = closest(signal, declared)
    fix = f"write {close!r}, if you meant that one" if close else "declare it with the study"
    raise InvalidSignal(
        f"no signal is named {show(signal)}", f"the study has declared {known}", fix
    )
