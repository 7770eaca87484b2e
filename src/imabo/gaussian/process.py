"""The process itself: hyperparameters by MAP, posterior, leave-one-out predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from imabo import late_scipy
from imabo.arms import Floats, Ints
from imabo.gaussian.kernel import Pairs, Points, correlation, kernel, variances

_REFUSED = 1e10  # the objective where the matrix is not positive definite
_SPREAD = 4.0  # the search stays within so many prior standard deviations
_STEPS = 20  # of L-BFGS, from where the last search ended
_JITTERS = (0.0, 1e-8, 1e-6, 1e-4, 1e-2)
_LEAST_VARIANCE = 1e-12
_EXACTLY = 1e-4  # of the signal's variance: as good as none, and safe to invert


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """What the kernel is made of, on the scale of standardised observations.

    Logs of the length scales, of the signal's variance and of an arm's own, and the logit of the
    share of the one-axis kernels.
    """

    scales: tuple[float, ...]
    signal: float = 0.0
    own: float = -4.0
    share: float = 0.0

    @classmethod
    def prior(cls, n_axes: int) -> Hyperparameters:
        """The centre of the prior: with more axes, more of them will not matter much."""
        return cls((0.5 * math.log(n_axes) - 1.0,) * n_axes)

    def as_array(self) -> Floats:
        """All of them in one row."""
        return np.array([*self.scales, self.signal, self.own, self.share])

    @classmethod
    def from_array(cls, row: Floats) -> Hyperparameters:
        """The inverse of ``as_array``."""
        *scales, signal, own, share = row.tolist()
        return cls(tuple(scales), signal, own, share)


class Process:
    """A Gaussian process given noisy observations of some points.

    f(x) = mean + g(x) + e, where g is smooth and e is the point's own deviation from it, which
    every observation of that point shares. An observation adds noise of a known variance.

    Args:
        points: Where it was observed.
        values: Observations, standardised.
        noise: Their variances.
        hyperparameters: Of the kernel; see ``Process.search``.
        slope: Whether the kernel has the slope of ``outwardness``.

    Example:
        >>> grid = np.linspace(0, 1, 9)[:, None]
        >>> points = Points(grid, np.array([False]))
        >>> process = Process(
        ...     points, np.sin(6 * grid[:, 0]), np.full(9, 0.01), Hyperparameters.prior(1))
        >>> mean, variance = process.predict(Points(np.array([[0.26]]), np.array([False])))
        >>> bool(abs(mean[0] - np.sin(6 * 0.26)) < 0.1)
        True
    """

    def __init__(
        self,
        points: Points,
        values: Floats,
        noise: Floats,
        hyperparameters: Hyperparameters,
        *,
        slope: bool = True,
    ) -> None:
        self.points, self.noise = points, noise
        self.hyperparameters, self._slope = hyperparameters, slope
        self.signal, self.own = math.exp(hyperparameters.signal), math.exp(hyperparameters.own)
        self._related = self._relate(points, points)
        self.observe(values, noise)

    def observe(self, values: Floats, noise: Floats) -> None:
        """Take other observations of the same points (an approximate likelihood moves them)."""
        self.values, self.noise = values, noise
        n = len(values)
        covariance = self.signal * self._related
        covariance.flat[:: n + 1] += noise + self.own
        self._factor = _factorise(covariance)
        sides = np.column_stack([np.ones(n), values])
        ones, weighted = late_scipy.dpotrs(self._factor, sides, lower=1)[0].T
        self.mean = float(weighted.sum() / max(ones.sum(), _LEAST_VARIANCE))
        self._weights = weighted - self.mean * ones
        self._ones = ones

    def at_points(self) -> Floats:
        """The posterior mean of f at the observed points, their own deviation included."""
        found: Floats = self.values - self.noise * self._weights
        return found

    def leave_one_out(self) -> tuple[Floats, Floats]:
        """Mean and variance of f at each point, given the observations of all others."""
        precisions = np.diag(late_scipy.dpotri(self._factor, lower=1)[0])
        # The mean, too, is then estimated without the point: one rank less.
        precisions = precisions - self._ones**2 / self._ones.sum()
        precisions = np.maximum(precisions, _LEAST_VARIANCE)
        means = self.values - self._weights / precisions
        left = 1.0 / precisions - self.noise
        return means, np.maximum(left, _LEAST_VARIANCE)

    def predict(self, points: Points) -> tuple[Floats, Floats]:
        """Mean and variance of mean + g at other points, without their own deviation."""
        shared = self._relate(points, self.points)
        shared *= self.signal
        means = self.mean + shared @ self._weights
        reduced = late_scipy.solve_triangular(
            self._factor, shared.T, lower=True, overwrite_b=True, check_finite=False
        )
        before = self.signal * (variances(points) if self._slope else 1.0)
        left = before - np.einsum("ij,ij->j", reduced, reduced)
        return means, np.maximum(left, _LEAST_VARIANCE)

    def given(self, points: Points) -> Process:
        """The process that has also seen, exactly, what it predicts at some points."""
        units = np.vstack([self.points.units, points.units])
        expected, _ = self.predict(points)
        # Seen is g itself, so the noise takes away the own deviation that an observation has.
        exact = np.full(len(expected), _EXACTLY * self.signal - self.own)
        return Process(
            Points(units, points.unordered),
            np.append(self.values, expected),
            np.append(self.noise, exact),
            self.hyperparameters,
            slope=self._slope,
        )

    def without_slope(self) -> Process:
        """The same observations where nothing is known of how far out a point is."""
        return Process(self.points, self.values, self.noise, self.hyperparameters, slope=False)

    def _relate(self, a: Points, b: Points) -> Floats:
        h = self.hyperparameters
        related = kernel if self._slope else correlation
        return related(a, b, np.exp(np.array(h.scales)), _logistic(h.share))

    @staticmethod
    def search(
        points: Points, values: Floats, noise: Floats, start: Hyperparameters
    ) -> Hyperparameters:
        """Maximum a posteriori hyperparameters, by gradient from a start."""
        from scipy.optimize import minimize  # here: it takes longer to load than all of imabo

        prior = Hyperparameters.prior(len(points.unordered)).as_array()
        found = minimize(
            _objective,
            start.as_array(),
            args=(Pairs(points), values, noise, prior),
            jac=True,
            method="L-BFGS-B",
            bounds=[(centre - _SPREAD, centre + _SPREAD) for centre in prior],
            options={"maxiter": _STEPS, "maxfun": 2 * _STEPS},
        )
        return Hyperparameters.from_array(found.x)

    @staticmethod
    def evidence(points: Points, values: Floats, noise: Floats, found: Hyperparameters) -> float:
        """Log odds that near points have similar values, given what ``search`` found for them."""
        from scipy.optimize import minimize_scalar  # here: see search

        prior = Hyperparameters.prior(len(points.unordered)).as_array()
        related, _ = _objective(found.as_array(), Pairs(points), values, noise, prior)
        unrelated = minimize_scalar(
            _scattered, bounds=(-_SPREAD, _SPREAD), args=(values, noise), method="bounded"
        )
        return float(unrelated.fun) - related


def spread_subset(weights: Floats, most: int) -> Ints:
    """Rows to fit on when there are too many: half of the heaviest, half spread over the rest."""
    if len(weights) <= most:
        return np.arange(len(weights))
    order = np.argsort(-weights, kind="stable")
    heavy, light = order[: most // 2], np.sort(order[most // 2 :])
    spread = light[np.linspace(0, len(light) - 1, most - len(heavy)).astype(np.int64)]
    return np.sort(np.concatenate([heavy, spread]))


def _objective(
    row: Floats, pairs: Pairs, values: Floats, noise: Floats, prior: Floats
) -> tuple[float, Floats]:
    """Minus the log posterior of the hyperparameters, and its gradient.

    Each has a normal prior of standard deviation 1 around ``prior``; the mean is profiled out.
    """
    n, d = len(values), len(row) - 3
    signal, own, share = math.exp(row[d]), math.exp(row[d + 1]), _logistic(row[d + 2])
    related = pairs.relate(np.exp(row[:d]), share)
    covariance = np.zeros((n, n), order="F")
    covariance.T[pairs.above] = signal * related.values  # the lower half, which is all dpotrf reads
    covariance.flat[:: n + 1] = signal * pairs.variances + own + noise
    factor, failed = late_scipy.dpotrf(covariance, lower=1, overwrite_a=1)
    if failed:
        return _REFUSED, np.zeros_like(row)
    log_determinant = 2.0 * np.log(np.diag(factor)).sum()
    inverse, _ = late_scipy.dpotri(factor, lower=1)
    below = inverse.T[pairs.above]
    precisions = np.diag(inverse)
    inverse += np.tril(inverse, -1).T
    ones, weighted = inverse.sum(axis=1), inverse @ values
    mean = weighted.sum() / ones.sum()
    weights = weighted - mean * ones
    offset = row - prior
    value = 0.5 * ((values - mean) @ weights + log_determinant + offset @ offset)
    # d log det K = tr(K^-1 dK), d (y' K^-1 y) = -(K^-1 y)' dK (K^-1 y); a pair counts twice.
    first, second = pairs.above
    off_diagonal = below - weights[first] * weights[second]
    diagonal = 0.5 * (precisions - weights * weights)
    gradient = np.empty_like(row)
    gradient[:d] = signal * (related.by_scale @ off_diagonal)
    gradient[d] = signal * (related.values @ off_diagonal + pairs.variances @ diagonal)
    gradient[d + 1] = own * diagonal.sum()
    gradient[d + 2] = signal * share * (1.0 - share) * (related.by_share @ off_diagonal)
    return float(value), gradient + offset


def _scattered(spread: float, values: Floats, noise: Floats) -> float:
    """Minus the log posterior when every point has a value of its own, exp(spread) in variance."""
    scattered = math.exp(spread) + noise
    mean = float((values / scattered).sum() / (1.0 / scattered).sum())
    fit = float(((values - mean) ** 2 / scattered).sum() + np.log(scattered).sum())
    return 0.5 * (fit + spread * spread)


def _factorise(covariance: Floats) -> Floats:
    """The lower Cholesky factor; with a little more on the diagonal where rounding asks for it."""
    scale = float(np.mean(np.diag(covariance)))
    for jitter in _JITTERS:
        raised = covariance + jitter * scale * np.eye(len(covariance)) if jitter else covariance
        factor, failed = late_scipy.dpotrf(raised, lower=1)
        if not failed:
            return np.asarray(np.tril(factor))
    # Not reached with finite numbers: a diagonal is always positive definite.
    return np.diag(np.sqrt(np.diag(covariance)))


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))
