"""How alike two configurations are: a Matern kernel on mixed, conditional spaces."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from imabo.arms import Bools, Floats, Ints

_MIDDLE = 0.5  # where a number that is not active is taken to be
_NOWHERE = -1.0  # a category of its own for a choice that is not active
_TINY = 1e-20  # keeps the root differentiable where two points coincide
_OUTWARD = 4.0  # variance of the slope of ``outwardness``, in variances of the signal
_USUAL = 1.0 / 3.0  # mean square of a place between -1 and 1


@dataclass(frozen=True, slots=True)
class Points:
    """Configurations with a place on every axis, the inactive parameters included.

    Example:
        >>> points = Points.place(
        ...     np.array([[0.2, 0.25], [0.9, 0.75]]), np.array([[True, True], [False, True]]),
        ...     np.array([False, True]))
        >>> points.units.tolist()
        [[0.2, 0.25], [0.5, 0.75]]
    """

    units: Floats
    unordered: Bools

    @classmethod
    def place(cls, units: Floats, mask: Bools, unordered: Bools) -> Points:
        """Give the inactive parameters one fixed place each.

        With a place for every point the distance is one of a real space, so that the kernel stays
        positive definite; two points where the parameter sleeps do not differ on its axis.
        """
        return cls(np.where(mask, units, np.where(unordered, _NOWHERE, _MIDDLE)), unordered)

    def take(self, rows: Ints) -> Points:
        """Some of the points."""
        return Points(self.units[rows], self.unordered)


def outwardness(points: Points) -> Floats:
    """How far out points are, as a feature of unit prior variance; eq. (outward).

    The mean of (2 u - 1)^2 over the ordered axes: 1 in a corner, and 0 after centring for the
    average point. Far from every arm the rest of the kernel knows nothing and expects the mean,
    which flatters the ends of the ranges where they are poor; one slope for all axes is learned
    from a few dozen arms.

    Example:
        >>> points = Points(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([False, False]))
        >>> outwardness(points).round(3).tolist()
        [-0.667, 1.333]
    """
    ordered = ~points.unordered
    if not ordered.any():
        return np.zeros(len(points.units))
    squares = (2.0 * points.units[:, ordered] - 1.0) ** 2
    found: Floats = math.sqrt(_OUTWARD) * (squares.mean(axis=1) - _USUAL)
    return found


def squared_distances(a: Points, b: Points) -> Iterator[Floats]:
    """One matrix an axis: the squared difference, or 1 between two values of a choice."""
    for j, unordered in enumerate(a.unordered):
        difference = a.units[:, j, None] - b.units[None, :, j]
        yield (difference != 0.0).astype(np.float64) if unordered else difference * difference


def correlation(a: Points, b: Points, scales: Floats, share: float) -> Floats:
    """A part, ``share``, of the mean of one-axis kernels, and the rest of one on all axes.

    The first part carries over what an axis does wherever the others are, and so reaches corners
    that no arm is near; the second has the interactions.
    """
    along = np.zeros((len(a.units), len(b.units)))
    total = np.zeros_like(along)
    for squared, scale in zip(squared_distances(a, b), scales, strict=True):
        scaled = squared / (scale * scale)
        along += _matern(scaled)
        total += scaled
    return share / len(scales) * along + (1.0 - share) * _matern(total)


def kernel(a: Points, b: Points, scales: Floats, share: float) -> Floats:
    """``correlation`` and the slope of ``outwardness``, in variances of the signal."""
    return correlation(a, b, scales, share) + np.outer(outwardness(a), outwardness(b))


def variances(points: Points) -> Floats:
    """``kernel`` of each point with itself."""
    return 1.0 + outwardness(points) ** 2


class Pairs:
    """The same kernel between the pairs of one set of points, with its derivatives.

    Only the pairs above the diagonal are kept, one row an axis: a search evaluates the kernel
    dozens of times.
    """

    def __init__(self, points: Points) -> None:
        self.above = np.triu_indices(len(points.units), k=1)
        first, second = (points.units[rows] for rows in self.above)
        difference = (first - second).T
        different = (difference != 0.0).astype(np.float64)
        self._squared = np.where(points.unordered[:, None], different, difference * difference)
        self.variances = variances(points)
        outward = outwardness(points)
        self._outward = outward[self.above[0]] * outward[self.above[1]]

    def relate(self, scales: Floats, share: float) -> Related:
        """The kernel of every pair."""
        d = len(scales)
        scaled = np.empty((d + 1, self._squared.shape[1]))
        np.divide(self._squared, (scales * scales)[:, None], out=scaled[:d])
        scaled[:d].sum(axis=0, out=scaled[d])
        r = np.sqrt(np.maximum(5.0 * scaled, _TINY))
        decay = np.exp(-r)
        values = (1.0 + r + r * r / 3.0) * decay
        slopes = (5.0 / 3.0) * (1.0 + r) * decay  # of Matern 5/2, over the scaled distance
        along = values[:d].mean(axis=0)
        by_scale = scaled[:d] * (share / d * slopes[:d] + (1.0 - share) * slopes[d])
        near = share * along + (1.0 - share) * values[d]
        return Related(near + self._outward, along - values[d], by_scale)


class Related(NamedTuple):
    """The kernel of pairs, and its derivatives."""

    values: Floats
    by_share: Floats
    by_scale: Floats  # one row an axis: by the log of its length scale


def _matern(squared: Floats) -> Floats:
    """Matern 5/2 of a squared, scaled distance."""
    r = 5.0 * squared
    np.maximum(r, _TINY, out=r)
    np.sqrt(r, out=r)
    found: Floats = r / 3.0
    found += 1.0
    found *= r
    found += 1.0  # 1 + r + r^2 / 3; in place, because most of a proposal's time is spent here
    np.negative(r, out=r)
    np.exp(r, out=r)
    found *= r
    return found
