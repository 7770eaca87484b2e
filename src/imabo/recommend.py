"""The recommendation: which arm to keep if learning stopped now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import numpy as np

from imabo.arms import ActiveSet, Floats, Ints
from imabo.confidence import bounded_interval, contenders, open_interval
from imabo.errors import NoRewards
from imabo.evaluation import Shrunk, level_of_each, shrink
from imabo.markup import number, table
from imabo.mixing import Mixer
from imabo.policies.counts import expected_means, pooled_variance, prior_counts
from imabo.settings import check_fraction
from imabo.space import Config

_MOMENTS: Final = 8.0  # that a study looks back to for a change, about


@dataclass(frozen=True, slots=True)
class Best:
    """The arm to keep, what is known of its mean (see ``Study.best`` for what is promised).

    ``mean``, ``interval`` and ``observed`` are in the study's own reward units. ``since`` is when
    the study last noticed a change, or None: then all numbers rest on what speaks of now, and
    ``n_rewards`` and ``observed`` are of the rewards after the change.

    Attributes:
        arm: Its id.
        config: Its configuration.
        mean: An estimate of its mean that is not flattered by its having been chosen: drawn towards
            what the other arms' rewards and the model say.
        interval: Covers its mean, whichever arm was chosen.
        level: Coverage of the interval.
        n_rewards: Its own rewards.
        since: When the study last noticed a change.
        observed: The plain average of its own rewards, which is too high where few rewards decided;
            None where it has none after a change.
        chance: How likely it is to be the best of the active arms; None from a service of before.
        shares: With an objective, the mix of arms to serve within its budgets and limits, by id;
            this arm is the one with the largest share.
        mix_mean: What that mix would earn on average: the arms' means as ``mean`` has them, by
            their shares. None without an objective, and from a service of before.
        is_within: False where no active arm is within them: then it is the one that exceeds them
            least.
    """

    arm: int
    config: Config
    mean: float
    interval: tuple[float, float]
    level: float
    n_rewards: int
    since: datetime | None = None
    observed: float | None = None
    chance: float | None = None
    shares: Mapping[int, float] | None = None
    is_within: bool = True
    mix_mean: float | None = None

    def _repr_html_(self) -> str:
        """For notebooks: the configuration, and what is known of it."""
        low, high = self.interval
        ends = f"{number(low)} to {number(high)} ({self.level:.0%})"
        rows = [*self.config.items(), ("mean reward", number(self.mean)), ("interval", ends)]
        rows.append(("rewards", self.n_rewards))
        if self.chance is not None:
            rows.append(("chance that no other is better", f"{self.chance:.0%}"))
        if self.shares is not None:
            mixed = ", ".join(f"{share:.0%} arm {arm}" for arm, share in self.shares.items())
            rows.append(("within the budget" if self.is_within else "nothing is within", mixed))
        if self.mix_mean is not None:
            rows.append(("mean reward of these", number(self.mix_mean)))
        return table(f"best: arm {self.arm}", [], rows)


@dataclass(frozen=True, slots=True, eq=False)
class Present:
    """What is known of arms as they are now, after a change was noticed; on the unit scale.

    Args:
        ids: The arms.
        shrunk: Estimates of their means.
        stretches: Of each, rewards that may be all that speak of now, and their sums.
        variances: Of the rewards of each; None where rewards have a range.
        usual: Variance of a reward of any arm.
    """

    ids: Ints
    shrunk: Shrunk
    stretches: Sequence[Sequence[tuple[float, float]]]
    variances: Floats | None
    usual: float

    def intervals_of(self, rows: Ints, level: float) -> tuple[Floats, Floats]:
        """Both ends for some of the arms, with all that any of their stretches allows for."""
        chosen = [self.stretches[row] for row in rows.tolist()]
        if not chosen:
            return np.empty(0), np.empty(0)
        lengths = np.array([len(one) for one in chosen])
        n, sums = np.array([stretch for one in chosen for stretch in one]).T
        own = None if self.variances is None else np.repeat(self.variances[rows], lengths)
        low, high = _stretch_ends(n, sums, own, self.usual, _shared(level))
        starts = np.cumsum(lengths) - lengths
        return np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)


def present(arms: ActiveSet) -> Present | None:
    """What is known of the arms as they are now, or None where no change was noticed.

    Example:
        >>> from imabo import Float, Space
        >>> present(ActiveSet.from_rewards(Space(x=Float(0, 1)), [({"x": 0.2}, [1.0])])) is None
        True
    """
    if arms.memory is None or arms.memory.since is None:
        return None
    is_open = arms.reward_range is None
    return Present(
        ids=arms.ids.copy(),
        shrunk=estimates(arms),
        stretches=[_stretches(arms, row) for row in range(len(arms))],
        variances=arms.variances() if is_open else None,
        usual=pooled_variance(arms) if is_open else 0.0,
    )


def recommend(arms: ActiveSet, level: float) -> Best:
    """The servable arm with the highest cautious estimate of its mean.

    With a model's expectations (see ``ActiveSet.prior_means``) that is the mean shrunk towards
    them, less one standard error; without, the lower end of the arm's interval. Either way an arm
    does not win because it was lucky with a few rewards, as it would by its mean.

    Example:
        >>> from imabo import Float, Space
        >>> arms = ActiveSet.from_rewards(
        ...     Space(x=Float(0, 1)), [({"x": 0.2}, [1.0]), ({"x": 0.7}, [0.9] * 50)])
        >>> recommend(arms, 0.95).config
        {'x': 0.7}
    """
    check_fraction("level", level)
    rows = np.flatnonzero(arms.servable & (arms.n_rewards > 0))
    if not len(rows):
        why = "the best arm is chosen by its rewards"
        fix = "serve some requests with ask() and report them with tell() first"
        raise NoRewards("no active arm has a reward yet", why, fix)
    since = None if arms.memory is None else arms.memory.since
    found = estimates(arms)
    shares, is_within, mix_mean = None, True, None
    if arms.spending is not None:
        rows = mixed_rows(arms, rows)
        mixer = mixer_of(arms, rows, found.means[rows], cautious_means(arms, rows, level))
        mix, is_within = mixer.within()
        row = int(rows[int(mix.argmax())])
        shares = {int(arms.ids[rows[i]]): float(mix[i]) for i in np.flatnonzero(mix).tolist()}
        mix_mean = arms.from_unit(float(mix @ mixer.means))
    else:
        if not _is_expected(arms):
            rows = _contenders(arms, rows, level)
        cautious = cautious_means(arms, rows, level)
        # Equal estimates: the higher mean first, then more rewards, then the older arm.
        order = (arms.ids[rows], -arms.n_rewards[rows], -arms.means[rows], -cautious)
        row = int(rows[np.lexsort(order)[0]])
    stretches = _stretches(arms, row)
    n, total = stretches[0]
    mean = float(found.means[row])
    each = level_of_each(level, int(np.count_nonzero(arms.n_rewards)))
    low, high = _interval(arms, row, stretches, each if since is None else _shared(each))
    if since is None:
        observed: float | None = float(arms.reward_sums[row] / arms.n_rewards[row])
    else:
        observed = arms.from_unit(total / n) if n else None
    return Best(
        arm=int(arms.ids[row]),
        config=dict(arms.configs[row]),
        mean=arms.from_unit(mean),
        # What the other arms say may draw the mean past what its own rewards allow for.
        interval=(arms.from_unit(min(low, mean)), arms.from_unit(max(high, mean))),
        level=level,
        n_rewards=round(n),
        since=None if since is None else datetime.fromtimestamp(since["at"], UTC),
        observed=observed,
        chance=found.chance(row, arms.servable),
        shares=shares,
        is_within=is_within,
        mix_mean=mix_mean,
    )


def mixed_rows(arms: ActiveSet, rows: Ints) -> Ints:
    """Those of some arms that have said what they use, if any has: others are no part of a mix."""
    if arms.spending is None:
        return rows
    counts = arms.spending.counts(len(arms))[:, rows]
    known = np.array([[arms.spending.is_known(place)] for place in range(len(counts))])
    told = ((counts > 0.0) | known).all(axis=0)
    return rows[told] if told.any() else rows


def mixer_of(arms: ActiveSet, rows: Ints, means: Floats, cautious: Floats) -> Mixer:
    """Mixes of some arms within the budgets and limits of the study, which has some."""
    if arms.spending is None:
        raise ValueError("a study without an objective has nothing to keep")
    uses = arms.spending.means(len(arms))[:, rows]
    return Mixer(means, cautious, uses, arms.spending.budgets)


def prices_now(arms: ActiveSet, level: float = 0.95) -> dict[str, float]:
    """What one more of each budget or limit a request buys in reward now, by their names."""
    spending = arms.spending
    if spending is None:
        return {}
    rows = mixed_rows(arms, np.flatnonzero(arms.servable & (arms.n_rewards > 0)))
    if not len(rows):
        return {one.name: 0.0 for one in spending.constraints}
    mixer = mixer_of(arms, rows, estimates(arms).means[rows], cautious_means(arms, rows, level))
    scale = arms.from_unit(1.0) - arms.from_unit(0.0)
    return {one.name: scale * mixer.price(i) for i, one in enumerate(spending.constraints)}


def _is_expected(arms: ActiveSet) -> bool:
    """Whether more than an arm's own rewards speaks of it: a model, or a change."""
    is_changed = arms.memory is not None and arms.memory.since is not None
    return bool(arms.prior_counts.any()) or is_changed


def cautious_means(arms: ActiveSet, rows: Ints, level: float) -> Floats:
    """Careful estimates of some arms' means, which few lucky rewards do not make high."""
    return _shrunk(arms)[rows] if _is_expected(arms) else _ends(arms, rows, level)[0]


def estimates(arms: ActiveSet) -> Shrunk:
    """What is known of all arms' means, on the unit scale; after a change, as they are now."""
    is_changed = arms.memory is not None and arms.memory.since is not None
    is_bounded = arms.reward_range is not None
    n = arms.n_now if is_changed else arms.n_rewards
    sums = arms.sums_now if is_changed else arms.unit_sums()
    if is_bounded:
        sums = np.clip(sums, 0.0, n)
    means = np.divide(sums, n, out=np.zeros(len(n)), where=n > 0.0)
    return shrink(
        n,
        sums,
        squares=n * (arms.variances() + means**2),
        prior_means=arms.prior_means,
        prior_counts=prior_counts(arms),
        is_bounded=is_bounded,
    )


def _stretches(arms: ActiveSet, row: int) -> list[tuple[float, float]]:
    """Rewards of an arm that may be all that speak of now, and their sums; see ``Memory``."""
    n, total = float(arms.n_rewards[row]), float(arms.unit_sums()[row])
    return [(n, total)] if arms.memory is None else arms.memory.stretches(row, n, total)


def _shared(level: float) -> float:
    """The moment of a change was picked as the clearest of several: these share the level."""
    return 1.0 - (1.0 - level) / _MOMENTS


def _interval(
    arms: ActiveSet, row: int, stretches: Sequence[tuple[float, float]], level: float
) -> tuple[float, float]:
    """Both ends on the unit scale, with all that any of the stretches allows for."""
    n, sums = np.array(stretches).T
    own, usual = None, 0.0
    if arms.reward_range is None:
        own, usual = np.full(len(n), arms.variances()[row]), pooled_variance(arms)
    low, high = _stretch_ends(n, sums, own, usual, level)
    return float(low.min()), float(high.max())


def _stretch_ends(
    n: Floats, sums: Floats, own: Floats | None, usual: float, level: float
) -> tuple[Floats, Floats]:
    """Both ends for so many rewards of such sums; ``own`` is None where rewards have a range."""
    if own is None:
        return bounded_interval(n, sums, level)
    means = np.divide(sums, n, out=np.zeros_like(n), where=n > 0.0)
    # A few rewards may be the same by luck: so two more of the usual variance count.
    variances = np.maximum(own, (n * own + 2.0 * usual) / (n + 2.0))
    return open_interval(n, means, variances, level)


def _contenders(arms: ActiveSet, rows: Ints, level: float) -> Ints:
    """Those of some arms whose lower ends may be the highest."""
    if arms.reward_range is None:
        return rows
    n = arms.n_rewards[rows]
    return rows[contenders(n, n * arms.means[rows], level, 1)]


def _ends(arms: ActiveSet, rows: Ints, level: float) -> tuple[Floats, Floats]:
    """Both ends of the intervals of some arms, on the unit scale."""
    n, means = arms.n_rewards[rows], arms.means[rows]
    if arms.reward_range is None:
        return open_interval(n, means, arms.variances()[rows], level)
    return bounded_interval(n, n * means, level)


def _shrunk(arms: ActiveSet) -> Floats:
    """Each arm's mean with the model's expectation as prior rewards, less one standard error."""
    prior = prior_counts(arms)
    means, counts = expected_means(arms, prior), np.maximum(prior + arms.n_now, 1.0)
    if arms.reward_range is None:
        return means - np.sqrt(pooled_variance(arms) / counts)
    return means - np.sqrt(np.clip(means * (1.0 - means), 1e-4, None) / counts)
