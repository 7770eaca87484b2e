"""Parzen mixtures on a mixed unit cube: one product kernel per observed row, plus a prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from imabo.density.truncated import LOG_SQRT_TAU, Floats, log_mass, log_normaliser, quantile
from imabo.errors import InvalidSetting

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Bandwidth = Literal["scott", "neighbours"]

# Temporary arrays of a density evaluation hold at most about this many numbers.
_CHUNK = 1 << 18


@dataclass(frozen=True, eq=False, repr=False)
class Parzen:
    """A mixture of product kernels, one per observed row and a broad prior one.

    Use it as the density of a group of configurations: draw candidates from it and compare how
    likely they are under two groups. Build it with :meth:`fit`. An ordered coordinate has normal
    kernels truncated to [0, 1]; an unordered choice of k values has kernels that favour the
    observed value, value i being the cell [i/k, (i+1)/k).

    Example:
        >>> units = np.array([[0.2, 0.75], [0.3, 0.75]])
        >>> mask = np.ones((2, 2), dtype=bool)
        >>> density = Parzen.fit(units, mask, np.array([0, 2]))
        >>> points = np.array([[0.25, 0.75], [0.9, 0.25]])
        >>> near, far = density.log_density(points, points, np.ones((2, 2), dtype=bool))
        >>> bool(near > far)
        True
        >>> density.sample(np.random.default_rng(0), 3).shape
        (3, 2)
    """

    log_weights: Floats  # [kernels], the prior's last
    means: Floats  # [kernels, ordered coordinates]
    sigmas: Floats
    active: Bools  # [kernels, coordinates]; elsewhere the kernel is uniform
    spikes: Floats  # [kernels, unordered coordinates], mass above the uniform part
    chosen: Ints  # the value that mass goes to
    categories: Ints  # [coordinates]
    ordered: Ints  # indices of the coordinates of either kind
    unordered: Ints
    log_norms: Floats  # [kernels, ordered coordinates]
    quadratic: Floats  # [3 * ordered coordinates, kernels]
    choice_rows: Floats  # [values of all choices + 1, kernels], the last one 0
    offsets: Ints  # where each choice's values begin there

    @classmethod
    def fit(
        cls,
        units: Floats,
        mask: Bools,
        categories: Ints,
        *,
        bandwidth: Bandwidth = "scott",
        prior_weight: float = 1.0,
        weights: Floats | None = None,
    ) -> Parzen:
        """Put one kernel on each row.

        Args:
            units: Rows in [0, 1], shape [n, d]; n = 0 leaves the prior alone.
            mask: False where the row lacks the coordinate; its kernel is uniform there.
            categories: 0 for an ordered coordinate, k >= 1 for an unordered choice of k values.
            bandwidth: ``"scott"``, one width per coordinate, 0.2 n^(-1/(d+4)), suits kernels over
                several coordinates; ``"neighbours"``, each row's larger distance to the rows next
                to it, follows the data in one coordinate. Neither goes below 1/(n+2) or 1/100.
            prior_weight: Weight of the prior kernel, >= 0; it also smooths the unordered choices.
            weights: Weight of each row, >= 0; 1 each if not given.
        """
        units, mask, categories, mixture = _checked(units, mask, categories, prior_weight, weights)
        if bandwidth not in ("scott", "neighbours"):
            raise InvalidSetting(
                f"bandwidth={bandwidth!r}", "no such rule", 'use "scott" or "neighbours"'
            )
        n, d = units.shape
        ordered, unordered = np.flatnonzero(categories == 0), np.flatnonzero(categories)
        seen = mask.sum(axis=0)
        active = np.vstack([mask, categories == 0])

        # Ordered coordinates; the prior kernel sits in the middle and is as wide as the cube.
        means = np.full((n + 1, len(ordered)), 0.5)
        sigmas = np.ones((n + 1, len(ordered)))
        on, count = mask[:, ordered], seen[ordered]
        means[:n] = np.where(on, units[:, ordered], 0.5)
        if bandwidth == "scott":
            widths = np.broadcast_to(0.2 * np.maximum(count, 1) ** (-1.0 / (d + 4)), on.shape)
        else:
            widths = _neighbour_gaps(means[:n], on, count)
        # Narrow kernels on few rows would make the ratio of two densities mere noise.
        sigmas[:n] = np.clip(widths, 1.0 / np.minimum(100.0, 2.0 + count), 1.0)
        log_norms = log_normaliser(means, sigmas)

        # Log density of the ordered coordinates as a product of matrices: with y = x - 1/2 and
        # c = mean - 1/2, -(y - c)²/2σ² = y² · (-1/2σ²) + y · c/σ² + 1 · (-c²/2σ²).
        lively = active[:, ordered]
        precision = np.where(lively, sigmas**-2.0, 0.0)
        centre = means - 0.5
        constant = np.where(lively, -np.log(sigmas) - LOG_SQRT_TAU - log_norms, 0.0)
        constant -= 0.5 * centre * centre * precision
        quadratic = np.hstack([-0.5 * precision, centre * precision, constant]).T

        # Unordered choices: 1 for the row's own value plus a share of the prior for every value.
        k = categories[unordered]
        spikes = np.zeros((n + 1, len(unordered)))
        spikes[:n] = mask[:, unordered] / (1.0 + k * prior_weight / (seen[unordered] + 1.0))
        chosen = np.zeros((n + 1, len(unordered)), dtype=np.int64)
        chosen[:n] = np.where(mask[:, unordered], _category(units[:, unordered], k), 0)
        offsets = np.cumsum(k) - k
        with np.errstate(divide="ignore"):  # log 0 is meant: a weight or a prior of 0
            log_weights = np.log(mixture)
            choice_rows = _choice_rows(spikes, chosen, k, offsets)
        choices = spikes, chosen, categories, ordered, unordered
        terms = log_norms, quadratic, choice_rows, offsets
        return cls(log_weights, means, sigmas, active, *choices, *terms)

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Draw points of the cube, every coordinate filled.

        A coordinate that the drawn kernel's row lacks is uniform; a choice is returned as the
        middle of its cell.
        """
        cumulative = np.cumsum(np.exp(self.log_weights))
        # Scaling by the last sum keeps a draw next to 1 from falling behind the last kernel.
        kernel = np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")
        kernel = np.minimum(kernel, len(cumulative) - 1)
        out = rng.random((size, len(self.categories)))
        if len(self.ordered):
            q = out[:, self.ordered]
            drawn = quantile(q, self.means[kernel], self.sigmas[kernel])
            out[:, self.ordered] = np.where(self.active[kernel[:, None], self.ordered], drawn, q)
        if len(self.unordered):
            q, k = out[:, self.unordered], self.categories[self.unordered]
            spike = self.spikes[kernel]
            rest = np.maximum(q - spike, 0.0) / np.where(spike < 1.0, 1.0 - spike, 1.0)
            value = np.where(q < spike, self.chosen[kernel], _category(rest, k))
            out[:, self.unordered] = (value + 0.5) / k
        return out

    def log_density(self, lo: Floats, hi: Floats, mask: Bools) -> Floats:
        """Log density (log probability for discrete values) of points.

        Args:
            lo: Left edge of each point's cell, in [0, 1], shape [m, d].
            hi: Right edge. Where hi == lo the coordinate is continuous and its density counts;
                where hi > lo, the probability of the cell. Of an unordered choice only the
                middle matters.
            mask: False where the coordinate does not exist in that point; it contributes nothing.
        """
        m, d = len(lo), len(self.categories)
        if not lo.shape == hi.shape == mask.shape == (m, d):
            why = f"points here have {d} coordinates, and the three must have one shape"
            fix = f"pass arrays of shape [points, {d}]"
            raise InvalidSetting(f"lo {lo.shape}, hi {hi.shape}, mask {mask.shape}", why, fix)
        out = np.empty(m)
        step = max(1, _CHUNK // (len(self.log_weights) * max(1, d)))
        for start in range(0, m, step):
            rows = slice(start, start + step)
            joint = self._joint(lo[rows], hi[rows], mask[rows])
            top = joint.max(axis=1)
            top[np.isneginf(top)] = 0.0
            with np.errstate(divide="ignore", under="ignore"):
                out[rows] = np.log(np.exp(joint - top[:, None]).sum(axis=1)) + top
        return out

    def _joint(self, lo: Floats, hi: Floats, mask: Bools) -> Floats:
        """Log of weight times kernel, for each point and kernel."""
        # Rounding may leave an edge a hair outside the cube.
        lo, hi = np.clip(lo, 0.0, 1.0), np.clip(hi, 0.0, 1.0)
        left, right, on = lo[:, self.ordered], hi[:, self.ordered], mask[:, self.ordered]
        cell = on & (right > left)
        point = on & ~cell
        y = np.where(point, left - 0.5, 0.0)
        joint = np.hstack([y * y, y, point]) @ self.quadratic + self.log_weights
        if cell.any():
            # Entries come in the order of their points, so each point's are a run to add up.
            rows, columns = np.nonzero(cell)
            starts = np.flatnonzero(np.diff(rows, prepend=-1))
            values = self._log_cells(left[cell], right[cell], columns)
            joint[rows[starts]] += np.add.reduceat(values, starts, axis=0)
        if len(self.unordered):
            middle = 0.5 * (lo[:, self.unordered] + hi[:, self.unordered])
            there = mask[:, self.unordered]
            value = _category(np.where(there, middle, 0.0), self.categories[self.unordered])
            row = np.where(there, self.offsets + value, len(self.choice_rows) - 1)
            joint += self.choice_rows[row].sum(axis=1)
        return joint

    def _log_cells(self, lo: Floats, hi: Floats, columns: Ints) -> Floats:
        """Log probability of cells of the given ordered coordinates, [cells, kernels]."""
        # Discrete values repeat among points: work out each distinct cell once.
        order = np.lexsort((hi, lo, columns))
        lo, hi, columns = lo[order], hi[order], columns[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (np.diff(columns) != 0) | (np.diff(lo) != 0.0) | (np.diff(hi) != 0.0)
        which = np.empty(len(order), dtype=np.int64)
        which[order] = np.cumsum(new) - 1
        lo, hi, columns = lo[new, None], hi[new, None], columns[new]
        mean, sigma = self.means.T[columns], self.sigmas.T[columns]
        inside = log_mass((lo - mean) / sigma, (hi - mean) / sigma) - self.log_norms.T[columns]
        lively = self.active[:, self.ordered].T[columns]
        return np.where(lively, inside, np.log(hi - lo))[which]


def _category(units: Floats, k: Ints) -> Ints:
    return np.asarray(np.minimum((units * k).astype(np.int64), k - 1))


def _choice_rows(spikes: Floats, chosen: Ints, k: Ints, offsets: Ints) -> Floats:
    """Log probability of every value of every choice under each kernel, one row per value."""
    column = np.repeat(np.arange(len(k)), k)
    table = ((1.0 - spikes) / k)[:, column].T
    kernels = np.arange(len(spikes))[:, None]
    table[offsets + chosen, kernels] += spikes
    return np.vstack([np.log(table), np.zeros(len(spikes))])


def _neighbour_gaps(means: Floats, on: Bools, count: Ints) -> Floats:
    """Each row's larger distance to the rows next to it, coordinate by coordinate.

    The outermost rows look inwards only; a row without neighbours looks at the cube's two ends.
    """
    n = len(means)
    if n == 0:
        return means
    # Rows without the coordinate go behind the others and are cut off by the count. Of equal rows
    # only the outer ones see a gap; a stable sort makes which ones the same on every machine.
    order = np.argsort(np.where(on, means, 2.0), axis=0, kind="stable")
    line = np.take_along_axis(means, order, axis=0)
    gap = np.diff(line, axis=0)
    gap[np.arange(1, n)[:, None] >= count] = 0.0
    widths = np.zeros_like(line)
    widths[1:] = gap
    np.maximum(widths[:-1], gap, out=widths[:-1])
    widths[0] = np.where(count == 1, np.maximum(line[0], 1.0 - line[0]), widths[0])
    out = np.empty_like(widths)
    np.put_along_axis(out, order, widths, axis=0)
    return out


def _checked(
    units: Floats, mask: Bools, categories: Ints, prior_weight: float, weights: Floats | None
) -> tuple[Floats, Bools, Ints, Floats]:
    """The inputs in their own types, and the weights of all kernels, which sum to 1."""
    units = np.asarray(units, dtype=np.float64)
    mask = np.asarray(mask, dtype=bool)
    categories = np.asarray(categories, dtype=np.int64)
    if units.ndim != 2 or mask.shape != units.shape or categories.shape != units.shape[1:]:
        what = f"units {units.shape}, mask {mask.shape}, categories {categories.shape}"
        why = "they describe the same rows and coordinates"
        raise InvalidSetting(what, why, "pass shapes [n, d], [n, d] and [d]")
    if (categories < 0).any():
        why = "a choice has at least one value"
        fix = "use 0 for an ordered coordinate and k >= 1 for a choice of k values"
        raise InvalidSetting(f"categories={categories.tolist()}", why, fix)
    units = np.where(mask, units, 0.5)
    if not ((units >= 0.0) & (units <= 1.0)).all():
        why, fix = "rows are points of the unit cube", "scale every coordinate to [0, 1]"
        raise InvalidSetting(f"units from {units.min()} to {units.max()}", why, fix)
    n = len(units)
    mixture = np.ones(n + 1)
    mixture[n] = prior_weight
    if weights is not None:
        if np.shape(weights) != (n,):
            raise InvalidSetting(
                f"weights of shape {np.shape(weights)}", f"there are {n} rows", "pass one per row"
            )
        mixture[:n] = weights
    if not (np.isfinite(mixture).all() and (mixture >= 0.0).all()):
        why, fix = "weights are shares of the mixture", "use finite numbers >= 0"
        raise InvalidSetting(f"prior_weight={prior_weight}, weights={weights}", why, fix)
    if n == 0:
        mixture[:] = 1.0
    total = mixture.sum()
    if total <= 0.0:
        why, fix = "the mixture would be empty", "give some row, or the prior, a weight above 0"
        raise InvalidSetting(f"prior_weight={prior_weight} and {n} rows of weight 0", why, fix)
    return units, mask, categories, mixture / total
