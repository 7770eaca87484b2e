"""Means of arms that are not flattered by luck: a prior over all arms, learned from their rewards.

The arms' true means are taken as draws of one distribution, or as scattered around what a model
expects of them. Its parameters are not known, so they are summed over on a grid, weighted by how
well they explain all arms' rewards. What follows for an arm does not depend on why it was served or
picked, because that was decided by the rewards alone: eq. (posterior).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from imabo import late_scipy
from imabo.evaluation.bets import Floats
from imabo.settings import check_fraction

Bools = NDArray[np.bool_]

# The grid: the mean of the arms (log odds from the mean of all rewards), how much arms differ (in
# log odds, with a wide prior around 1), and how much of the model's expectations is believed.
_MEANS: Final = np.linspace(-2.4, 1.6, 17)
_SPREADS: Final = np.geomspace(0.05, 2.0, 13)
_USUAL: Final = 1.0
_USUAL_WITHIN: Final = 1.2
_TRUSTS: Final = np.array([0.0, 0.5, 1.0])
_SHARPEN: Final = 2.0  # the power of the evidence: grids that fit badly would draw the best too far
_FITTED: Final = 200  # arms that the grid is weighed by, at most
_WIDEN: Final = 1.15  # of intervals: a grid and a Beta prior are not all there is
_LEAST_DISPERSION: Final = 0.01
_NODES: Final = (np.arange(400) + 0.5) / 400
_MANY: Final = 40  # arms that may be better, from which on a few nodes must do
_HOPELESS: Final = 1e-7  # an arm that is better with this probability at most does not count
_ALL: Final = slice(None)
_LEAST_WEIGHT: Final = 1e-7  # of a point of the grid, to count


@cache
def _rough_nodes() -> Floats:
    return _NODES[np.unique((late_scipy.ndtr(np.linspace(-3.0, 3.0, 17)) * 400).astype(np.int64))]


@dataclass(frozen=True, slots=True, eq=False)
class Shrunk:
    """What is known of each arm's mean, given the rewards of all: a mean and a spread.

    On the unit scale, or in the rewards' own units where they have no range.

    Attributes:
        means: The estimates.
        spreads: Their standard deviations.
        is_bounded: Whether rewards have a range, so that means are in [0, 1].
    """

    means: Floats
    spreads: Floats
    is_bounded: bool

    def quantile(self, q: float) -> Floats:
        """What each arm's mean is below with probability q.

        A low one, such as 0.1, is what to sort arms by: high for those that are surely good.
        """
        check_fraction("q", q)
        if not self.is_bounded:
            return np.asarray(self.means + self.spreads * late_scipy.ndtri(q))
        return np.asarray(late_scipy.betaincinv(*self._beta(), q))

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Both ends of where each arm's mean lies with probability ``level``."""
        check_fraction("level", level)
        half = 0.5 * (1.0 - level)
        wide = replace(self, spreads=_WIDEN * self.spreads)
        return wide.quantile(half), wide.quantile(1.0 - half)

    def chance(self, row: int, among: Bools | None = None) -> float:
        """The probability that an arm has the highest mean of some; eq. (chance).

        By a sum over 400 quantiles of its own mean, so that the same arms give the same number.
        Arms that are surely worse are left out, and of very many that are not the product is found
        at 17 quantiles and interpolated, so that the work is bounded.
        """
        others = np.ones(len(self.means), bool) if among is None else among.copy()
        others[row] = False
        rows = np.flatnonzero(others)
        rows = rows[self._below(rows, self._points(row, _NODES[:1]))[:, 0] < 1.0 - _HOPELESS]
        if not len(rows):
            return 1.0
        if len(rows) <= _MANY:
            below = self._below(rows, self._points(row, _NODES))
            return float(np.prod(below, axis=0).mean())
        nodes = _rough_nodes()
        below = self._below(rows, self._points(row, nodes))
        # The logarithm of what is between the product and 1 is almost a line over normal scores.
        cost = -np.log(np.maximum(below, 1e-300)).sum(axis=0)
        scores = late_scipy.ndtri(_NODES), late_scipy.ndtri(nodes)
        smooth = np.interp(*scores, np.log(np.maximum(cost, 1e-300)))
        return float(np.exp(-np.exp(smooth)).mean())

    def _points(self, row: int, nodes: Floats) -> Floats:
        """Quantiles of an arm's mean."""
        if not self.is_bounded:
            return np.asarray(self.means[row] + self.spreads[row] * late_scipy.ndtri(nodes))
        a, b = self._beta(np.array([row]))
        return np.asarray(late_scipy.betaincinv(a, b, nodes))

    def _below(self, rows: NDArray[np.int64], points: Floats) -> Floats:
        """How likely the mean of each of some arms is below each of some points."""
        if not self.is_bounded:
            means, spreads = self.means[rows][:, None], self.spreads[rows][:, None]
            return np.asarray(late_scipy.ndtr((points - means) / spreads))
        a, b = self._beta(rows)
        return np.asarray(late_scipy.betainc(a[:, None], b[:, None], points))

    def _beta(self, rows: NDArray[np.int64] | slice = _ALL) -> tuple[Floats, Floats]:
        """The Beta distributions of these means and spreads."""
        m = self.means[rows]
        n = np.maximum(m * (1.0 - m) / self.spreads[rows] ** 2 - 1.0, 1e-3)
        return m * n, (1.0 - m) * n


def shrink(
    n: Floats,
    sums: Floats,
    *,
    squares: Floats | None = None,
    prior_means: Floats | None = None,
    prior_counts: Floats | None = None,
    is_bounded: bool = True,
) -> Shrunk:
    """Estimates of all arms' means, each drawn towards what the others say.

    Arms with few rewards are drawn far, those with many hardly. Give it every arm that has rewards,
    also those that are no longer served.

    Args:
        n: Rewards of each arm that speak of now.
        sums: Their sums; on the unit scale where rewards have a range.
        squares: Sums of their squares, for graded rewards: without them rewards count as coin
            flips. Needed where rewards have no range.
        prior_means: What a model expects of each arm, given the other arms' rewards.
        prior_counts: What that is worth; only whether it is above 0 counts, for each arm.
        is_bounded: Whether rewards have a range.

    Example:
        >>> found = shrink(np.array([2.0, 50.0, 50.0]), np.array([2.0, 40.0, 20.0]))
        >>> found.means[0] < found.means[1] < 0.8
        np.True_
    """
    n, sums = np.asarray(n, dtype=float), np.asarray(sums, dtype=float)
    trusted = np.zeros(len(n), bool) if prior_counts is None else np.asarray(prior_counts) > 0
    prior = np.zeros(len(n)) if prior_means is None else np.asarray(prior_means, dtype=float)
    if prior_means is None:
        trusted = np.zeros(len(n), bool)
    if is_bounded:
        return _bounded(n, sums, squares, prior, trusted)
    return _open(n, sums, sums**2 if squares is None else squares, prior, trusted)


def _bounded(
    n: Floats, sums: Floats, squares: Floats | None, prior: Floats, trusted: Bools
) -> Shrunk:
    worth = n / dispersion(n, sums, squares)  # coin flips that the rewards are worth
    ones = np.divide(sums, n, out=np.zeros(len(n)), where=n > 0) * worth
    fitted = _most_rewarded(n)
    overall = (sums.sum() + 0.5) / (n.sum() + 1.0)
    trusts = _TRUSTS if trusted[fitted].any() else _TRUSTS[:1]
    grid = np.meshgrid(_MEANS, _SPREADS, trusts, indexing="ij")
    shift, spread, trust = (axis.ravel()[:, None] for axis in grid)
    odds = overall / (1.0 - overall) * np.exp(shift)
    mean = odds / (1.0 + odds)
    strength = 1.0 / (spread**2 * mean * (1.0 - mean))  # (prior)

    def parts(points: Bools | slice, rows: NDArray[np.int64] | slice) -> tuple[Floats, Floats]:
        m, t, s = mean[points], trust[points], strength[points]
        model = np.where(trusted[rows], prior[rows], m)
        centre = np.clip((1.0 - t) * m + t * model, 1e-6, 1.0 - 1e-6)
        return s * centre, s * (1.0 - centre)

    a, b = parts(_ALL, fitted)
    ones_fitted, worth_fitted = ones[fitted], worth[fitted]
    evidence = late_scipy.betaln(
        a + ones_fitted, b + worth_fitted - ones_fitted
    ) - late_scipy.betaln(a, b)
    weights = _weights(evidence.sum(axis=1), spread[:, 0])
    # Most points fit so badly that they say nothing: of many arms they would only take time.
    likely = weights >= _LEAST_WEIGHT
    weights = weights[likely] / weights[likely].sum()
    a, b = parts(likely, _ALL)
    counts = strength[likely] + worth
    means = weights @ ((a + ones) / counts)  # (posterior)
    second = weights @ ((a + ones) * (a + ones + 1.0) / (counts * (counts + 1.0)))
    spreads = np.sqrt(np.maximum(second - means**2, 1e-12))
    return Shrunk(np.clip(means, 1e-6, 1.0 - 1e-6), spreads, True)


def _open(n: Floats, sums: Floats, squares: Floats, prior: Floats, trusted: Bools) -> Shrunk:
    """The same with normal distributions; the arms' mean is summed over in closed form."""
    has = n > 0
    y = np.divide(sums, n, out=np.zeros(len(n)), where=has)
    spare = n.sum() - np.count_nonzero(has)
    around = float(np.maximum(squares - n * y * y, 0.0)[has].sum())
    noise = around / spare if spare > 0 and around > 0 else float(np.var(y[has])) or 1.0
    fitted = _most_rewarded(n)
    trusts = _TRUSTS[:-1] if trusted[fitted].any() else _TRUSTS[:1]
    grid = np.meshgrid(_SPREADS, trusts, indexing="ij")
    spread, trust = (axis.ravel()[:, None] for axis in grid)
    model = np.where(trusted, prior, 0.0)
    part = np.where(trusted, 1.0 - trust, 1.0)  # of the arms' mean in what is expected of each
    variance = spread**2 * noise + noise / n[fitted]
    left = y[fitted] - trust * model[fitted]
    precision = (part[:, fitted] ** 2 / variance).sum(axis=1)
    mean = (part[:, fitted] * left / variance).sum(axis=1) / precision
    rest = left - part[:, fitted] * mean[:, None]
    evidence = -0.5 * (np.log(variance) + rest**2 / variance).sum(axis=1) - 0.5 * np.log(precision)
    weights = _weights(evidence, spread[:, 0])
    expected = part * mean[:, None] + trust * model
    keep = n / (n + 1.0 / spread**2)  # how much of an arm's own mean
    each = keep * y + (1.0 - keep) * expected
    own = (1.0 - keep) * spread**2 * noise + ((1.0 - keep) * part) ** 2 / precision[:, None]
    means = weights @ each
    second = weights @ (own + each**2)
    return Shrunk(means, np.sqrt(np.maximum(second - means**2, 1e-12 * noise)), False)


def _weights(evidence: Floats, spread: Floats) -> Floats:
    """What each point of the grid weighs, given how well it explains the rewards."""
    total = _SHARPEN * evidence - 0.5 * (np.log(spread / _USUAL) / _USUAL_WITHIN) ** 2
    return np.asarray(np.exp(total - late_scipy.logsumexp(total)))


def _most_rewarded(n: Floats) -> NDArray[np.int64]:
    """Arms to learn the prior from: all that have rewards or, of very many, an even part."""
    order = np.argsort(-n, kind="stable")[: np.count_nonzero(n > 0)]
    if len(order) <= _FITTED:
        return order
    return np.asarray(order[np.linspace(0, len(order) - 1, _FITTED).astype(np.int64)])


def dispersion(n: Floats, sums: Floats, squares: Floats | None) -> float:
    """Variance of rewards around their arm's mean, over that of coin flips; 1 for 0 and 1.

    Example:
        >>> dispersion(np.array([10.0, 10.0]), np.array([5.0, 5.0]), np.array([5.0, 5.0]))
        1.0
        >>> dispersion(np.array([10.0, 10.0]), np.array([5.0, 5.0]), np.array([2.6, 2.6])) < 0.1
        True
    """
    if squares is None:
        return 1.0
    has = n > 1
    if n[has].sum() - np.count_nonzero(has) < 5:
        return 1.0
    m = sums[has] / n[has]
    around = np.maximum(squares[has] - n[has] * m * m, 0.0).sum()
    flips = (n[has] * m * (1.0 - m)).sum()
    if flips <= 0:
        return 1.0
    return float(min(max(around / flips, _LEAST_DISPERSION), 1.0))
