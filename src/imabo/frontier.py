"""Reward against what requests use: the arms, the best mixes of them, and the price now."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np

from imabo import late_scipy
from imabo.amounts import amount as shown
from imabo.arms import ActiveSet, Floats, Ints
from imabo.confidence import bounded_interval, open_interval
from imabo.errors import InvalidSignal, NoRewards
from imabo.evaluation import level_of_each
from imabo.magnitude import LARGEST
from imabo.markup import config_text, number, table
from imabo.mixing import Mixer
from imabo.objective import Signal
from imabo.recommend import cautious_means, estimates, mixed_rows, prices_now
from imabo.settings import check_count, check_fraction, is_number, unfit
from imabo.space import Config
from imabo.space.scalars import show
from imabo.spelling import closest
from imabo.stores.base import Snapshot

DEAR: Final = 100.0  # budgets for a hundredth of reward: no one would call that a price


@dataclass(frozen=True, slots=True)
class FrontierArm:
    """An arm on the plane of use and reward.

    Args:
        arm: Its id.
        config: Its configuration.
        mean: An estimate of its mean reward, not flattered by luck, as ``Study.best`` has it.
        interval: Covers its mean reward.
        use: The mean of the signal over its requests that reported it.
        use_interval: Covers that mean, for many requests.
        n_rewards: Its rewards.
        n_signals: Requests that reported the signal.
        is_on_frontier: Whether some budget would have it served, the objective's others kept.
        observed: The plain average of its rewards, which is too high where few were lucky.
        cautious: The careful estimate that says which arms may be part of a mix.
        others: What it uses of the objective's other budgets and limits, by name; None where it
            has not said so, and then it is no part of a mix.
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
    observed: float | None = None
    cautious: float | None = None
    others: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Mix:
    """Shares of the requests by arm, with what they would earn and use on average.

    ``is_within`` is False where nothing is within the budget and the others that are kept: then it
    is the arm that exceeds them least.
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
        others: The objective's other budgets and limits by name, which are kept throughout.
    """

    signal: str
    unit: str
    level: float
    arms: Sequence[FrontierArm]
    spend: float
    budget: float | None = None
    price: float | None = None
    others: Mapping[str, float] = field(default_factory=dict)

    def at(self, budget: float) -> Mix:
        """The best mix that a budget buys, with the objective's other budgets and limits kept.

        It is the mix that ``Study.best`` would name with this budget. More never buys less.

        Example:
            >>> cheap = FrontierArm(1, {}, 0.8, (0, 1), 1.0, (1, 1), 9, 9, True)
            >>> dear = FrontierArm(2, {}, 1.0, (0, 1), 3.0, (3, 3), 9, 9, True)
            >>> found = Frontier("cost", "$", 0.95, [cheap, dear], 1.0).at(2.0)
            >>> dict(found.shares), found.mean
            ({1: 0.5, 2: 0.5}, 0.9)
        """
        if not is_number(budget) or not 0.0 <= budget <= LARGEST:
            why = f"it must be a number from 0 to {LARGEST:g}"
            raise unfit("budget", budget, why, "pass what a request may use on average")
        return self._mixed(float(budget), *self._mixer())

    def curve(self, points: int = 50) -> list[tuple[float, float]]:
        """What other budgets would buy: pairs of a budget and the mean reward of its best mix.

        Budgets with which nothing keeps the objective's other budgets and limits are left out.
        """
        check_count("points", points, least=1)
        uses = [one.use for one in self.arms]
        low, high = min(uses), max(uses)
        spaced = np.geomspace(low, high, points) if low > 0.0 else np.linspace(low, high, points)
        arms, mixer = self._mixer()
        bought = [(budget, self._mixed(budget, arms, mixer)) for budget in spaced.tolist()]
        return [(budget, mix.mean) for budget, mix in bought if mix.is_within]

    def _mixed(self, budget: float, arms: Sequence[FrontierArm], mixer: Mixer) -> Mix:
        shares, is_within = mixer.at(budget)
        found = {arms[i].arm: float(shares[i]) for i in np.flatnonzero(shares).tolist()}
        return Mix(found, float(shares @ mixer.means), float(shares @ mixer.uses[0]), is_within)

    def _mixer(self) -> tuple[Sequence[FrontierArm], Mixer]:
        """The arms that may be part of a mix, and their mixes."""
        arms = [one for one in self.arms if self.others.keys() <= (one.others or {}).keys()]
        uses = [[one.use for one in arms]]
        uses += [[(one.others or {})[name] for one in arms] for name in self.others]
        means = np.array([one.mean for one in arms])
        # A service of before does not say it.
        careful = np.array([one.mean if one.cautious is None else one.cautious for one in arms])
        allowed = np.array([self.budget or 0.0, *self.others.values()])
        return arms, Mixer(means, careful, np.array(uses), allowed)

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
                lines.append(self._beyond())
            elif self.price and 0.01 / self.price <= DEAR * self.budget:
                more = self._shown(0.01 / self.price)
                lines.append(f"0.01 of reward costs {more} more a request")
        return "\n".join(lines)

    def _beyond(self) -> str:
        """Why nothing is within the budget and the others."""
        arms, _ = self._mixer()
        least = min(one.use for one in arms)
        if self.budget is not None and least > self.budget:
            return f"nothing is within the budget: the cheapest uses {self._shown(least)} a request"
        found = {name: min((one.others or {})[name] for one in arms) for name in self.others}
        unkept = [name for name, use in found.items() if use > self.others[name]]
        if unkept:
            return f"nothing keeps {' and '.join(unkept)}, whatever the budget of {self.signal} is"
        return f"nothing keeps {' and '.join([self.signal, *self.others])} together"

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
    counts, plain = arms.n_rewards[rows], arms.means[rows]
    if arms.reward_range is None:
        lows, highs = open_interval(counts, plain, arms.variances()[rows], each)
    else:
        lows, highs = bounded_interval(counts, counts * plain, each)
    n, sums, squares = np.array([told[int(arms.ids[row])][:3] for row in rows], dtype=float).T
    uses = sums / n
    beyond = float(late_scipy.ndtri(0.5 + each / 2))
    errors = np.sqrt(np.maximum(squares / n - uses**2, 0.0) / n) * beyond
    means, careful = estimates(arms).means[rows], cautious_means(arms, rows, level)
    others, kept = _others(arms, name)
    is_mixed = np.isin(rows, mixed_rows(arms, rows))
    is_on = np.zeros(len(rows), dtype=np.bool_)
    matrix = np.vstack([uses[None], others[:, rows]])[:, is_mixed]
    allowed = np.array([0.0, *kept.values()])
    is_on[is_mixed] = Mixer(means[is_mixed], careful[is_mixed], matrix, allowed).served()
    order = np.lexsort((-means, uses))
    listed = [
        FrontierArm(
            arm=int(arms.ids[rows[i]]),
            config=dict(arms.configs[rows[i]]),
            mean=arms.from_unit(float(means[i])),
            # What the other arms say may draw the mean past what its own rewards allow for.
            interval=(
                arms.from_unit(float(min(lows[i], means[i]))),
                arms.from_unit(float(max(highs[i], means[i]))),
            ),
            use=float(uses[i]),
            use_interval=(float(uses[i] - errors[i]), float(uses[i] + errors[i])),
            n_rewards=int(counts[i]),
            n_signals=int(n[i]),
            is_on_frontier=bool(is_on[i]),
            observed=arms.from_unit(float(plain[i])),
            cautious=arms.from_unit(float(careful[i])) if np.isfinite(careful[i]) else None,
            others=dict(zip(kept, others[:, rows[i]].tolist(), strict=True))
            if is_mixed[i]
            else None,
        )
        for i in order.tolist()
    ]
    budget, price = _budget(arms, name, level)
    every = np.array([one[:2] for one in told.values()], dtype=float)
    unit = (snapshot.study.signals or {})[name]["unit"]
    spend = float(every[:, 1].sum() / every[:, 0].sum())
    return Frontier(name, unit, level, listed, spend, budget, price, kept)


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


def _budget(arms: ActiveSet, name: str, level: float) -> tuple[float | None, float | None]:
    """The budget of a signal, and what one unit of it is worth in reward now."""
    spending = arms.spending
    budgets = {} if spending is None else {one.name: one.budget for one in spending.constraints}
    return budgets.get(name), prices_now(arms, level).get(name)


def _others(arms: ActiveSet, name: str) -> tuple[Floats, dict[str, float]]:
    """What every row uses of all constraints but one, and what these allow."""
    spending = arms.spending
    if spending is None:
        return np.zeros((0, len(arms))), {}
    places = [i for i, one in enumerate(spending.constraints) if one.name != name]
    kept = {spending.constraints[i].name: spending.constraints[i].budget for i in places}
    return spending.means(len(arms))[places], kept


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
