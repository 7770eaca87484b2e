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
        if unordered:
            yield (difference != 0.0).astype(np.float64)
        else:
            difference *= difference
            yield difference


def correlation(a: Points, b: Points, scales: Floats, share: float) -> Floats:
    """A part, ``share``, of the mean of one-axis kernels, and the rest of one on all axes.

    The first part carries over what an axis does wherever the others are, and so reaches corners
    that no arm is near; the second has the interactions.
    """
    along = np.zeros((len(a.units), len(b.units)))
    total, room = np.zeros_like(along), np.empty_like(along)
    axes = zip(squared_distances(a, b), a.unordered, scales, strict=True)
    for scaled, unordered, scale in axes:
        scaled /= scale * scale
        total += scaled
        if unordered:  # two values in all
            equal, other = _matern(np.array([0.0, 1.0]) / (scale * scale), np.empty(2))
            along += np.where(scaled > 0.0, other, equal)
        else:
            along += _matern(scaled, room)
    along *= share / len(scales)
    total = _matern(total, room)
    total *= 1.0 - share
    along += total
    return along


def kernel(a: Points, b: Points, scales: Floats, share: float) -> Floats:
    """``correlation`` and the slope of ``outwardness``, in variances of the signal."""
    found = correlation(a, b, scales, share)
    found += np.outer(outwardness(a), outwardness(b))
    return found


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
        r = 5.0 * scaled
        np.maximum(r, _TINY, out=r)
        np.sqrt(r, out=r)
        decay = np.exp(-r)
        slopes = 1.0 + r  # of Matern 5/2, over the scaled distance; in place, as in _matern
        values = r
        values *= r
        values /= 3.0
        values += slopes
        values *= decay
        slopes *= 5.0 / 3.0
        slopes *= decay
        along = values[:d].mean(axis=0)
        by_scale = scaled[:d] * (share / d * slopes[:d] + (1.0 - share) * slopes[d])
        near = share * along + (1.0 - share) * values[d]
        return Related(near + self._outward, along - values[d], by_scale)


class Related(NamedTuple):
    """The kernel of pairs, and its derivatives."""

    values: Floats
    by_share: Floats
    by_scale: Floats  # one row an axis: by the log of its length scale


def _matern(squared: Floats, found: Floats) -> Floats:
    """Matern 5/2 of a squared, scaled distance, written to ``found``; the distance is gone then.

    In place, because most of a proposal's time is spent here, and much of it on fresh memory.
    """
    r = squared
    r *= 5.0
    np.maximum(r, _TINY, out=r)
    np.sqrt(r, out=r)
    np.divide(r, 3.0, out=found)
    found += 1.0
    found *= r
    found += 1.0  # 1 + r + r^2 / 3
    np.negative(r, out=r)
    np.exp(r, out=r)
    found *= r
    return found
