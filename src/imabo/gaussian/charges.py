"""What configurations that were never served would use: a Gaussian process for each constraint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from imabo.arms import ActiveSet, Bools, Floats, Ints
from imabo.gaussian.kernel import Points
from imabo.gaussian.process import Hyperparameters, Process, spread_subset
from imabo.pricing import charges_now

_SEARCHED: Final = 100  # arms that the hyperparameters are fitted to, at most
_MODELLED: Final = 500  # arms that the posterior rests on, at most
_GROWTH: Final = 1.3  # search again once there are so many times more arms
_SCATTER: Final = 0.25  # variance of the log of what one request uses, about its arm's
_LEAST_SCALE: Final = 1e-3
_LEAST_NOISE: Final = 1e-4
_WIDEST: Final = 2.0  # variance of a log beyond which a mean is not corrected for it


class Charges:
    """What the arms' signals say about other configurations, and what that costs in reward.

    Positive uses are modelled on the log scale. A constraint that fewer than two arms have told of,
    or that is known from a price list, has no model: the average stands for it, or the list.

    Args:
        arms: The active set of a study with an objective.
        scores: The policy's index of every row, which sets the prices.
    """

    def __init__(self, arms: ActiveSet, scores: Floats) -> None:
        if arms.spending is None:
            raise ValueError("a study without an objective has no charges")
        self._arms, self._spending = arms, arms.spending
        self._unordered: Bools = np.array([p.unordered for p in arms.space.parameters.values()])
        self._prices = charges_now(arms, scores)
        state: Mapping[str, Any] = (arms.model_state or {}).get("uses", {})
        counts, sums = self._spending.counts(len(arms)), self._spending.sums(len(arms))
        self._models = [
            None
            if self._spending.is_known(place)
            else _Use.fit(arms, self._unordered, counts[place], sums[place], state.get(one.name))
            for place, one in enumerate(self._spending.constraints)
        ]

    def charge(self, units: Floats, mask: Bools) -> Floats:
        """What a request with each configuration costs, in reward on the unit scale."""
        return np.asarray(self._prices @ (self._uses(units, mask) / self._spending.aims[:, None]))

    def state(self, units: Floats, mask: Bools) -> dict[str, Any]:
        """What the next models start from, and what is expected of every arm without its own.

        The last expectation is of one more configuration.
        """
        pairs = zip(self._spending.constraints, self._models, strict=True)
        return {
            one.name: model.state | {"expected": model.expected(self._arms, units, mask).tolist()}
            for one, model in pairs
            if model is not None
        }

    def _uses(self, units: Floats, mask: Bools) -> Floats:
        rows = []
        for place, model in enumerate(self._models):
            if model is not None:
                rows.append(model.predict(units, mask))
            else:
                rows.append(self._spending.guess(place, len(self._arms), units, self._arms.space))
        return np.array(rows)


class _Use:
    """The model of one constraint."""

    def __init__(
        self,
        process: Process,
        rows: Ints,
        unordered: Bools,
        scaling: tuple[bool, float, float],
        state: dict[str, Any],
    ) -> None:
        self._process, self._rows, self._unordered = process, rows, unordered
        self._is_log, self._centre, self._scale = scaling
        self.state = state

    @classmethod
    def fit(
        cls,
        arms: ActiveSet,
        unordered: Bools,
        counts: Floats,
        sums: Floats,
        known: Mapping[str, Any] | None,
    ) -> _Use | None:
        told = np.flatnonzero(counts > 0.0)
        if len(told) < 2:
            return None
        rows = told[spread_subset(counts[told], _MODELLED)]
        n = counts[rows]
        means = sums[rows] / n
        is_log = bool((means > 0.0).all())
        if is_log:
            values, noise = np.log(means), _SCATTER / n
        else:
            level = float(sums[rows].sum() / n.sum())
            values = (sums[rows] + level) / (n + 1.0)  # a share of few requests is an extreme one
            noise = np.maximum(level * (1.0 - level), _LEAST_NOISE) / (n + 1.0)
        centre, scale = float(values.mean()), max(float(values.std()), _LEAST_SCALE)
        values, noise = (values - centre) / scale, np.maximum(noise / scale**2, _LEAST_NOISE)
        points = Points.place(arms.units[rows], arms.mask[rows], unordered)
        start, n_searched = _start(known, len(arms.space))
        if not n_searched <= len(told) < _GROWTH * n_searched:
            few = spread_subset(n, _SEARCHED)
            start = Process.search(points.take(few), values[few], noise[few], start)
            n_searched = len(told)
        state = {"row": start.as_array().tolist(), "arms": n_searched}
        process = Process(points, values, noise, start)
        return cls(process, rows, unordered, (is_log, centre, scale), state)

    def predict(self, units: Floats, mask: Bools) -> Floats:
        """What configurations use, in the signal's own units."""
        points = Points.place(units, mask, self._unordered)
        return self._as_uses(*self._process.predict(points))

    def expected(self, arms: ActiveSet, units: Floats, mask: Bools) -> Floats:
        means, variances = np.empty(len(arms) + 1), np.empty(len(arms) + 1)
        means[self._rows], variances[self._rows] = self._process.leave_one_out()
        rest = np.append(np.setdiff1d(np.arange(len(arms)), self._rows), len(arms))
        points = Points.place(
            np.vstack([arms.units, units])[rest],
            np.vstack([arms.mask, mask])[rest],
            self._unordered,
        )
        means[rest], variances[rest] = self._process.predict(points)
        return self._as_uses(means, variances)

    def _as_uses(self, means: Floats, variances: Floats) -> Floats:
        latent = self._centre + self._scale * means
        if not self._is_log:
            return np.maximum(latent, 0.0)
        spread = np.minimum(self._scale**2 * variances, _WIDEST)
        return np.exp(latent + 0.5 * spread)  # the mean, of which the log is normal


def _start(known: Mapping[str, Any] | None, n_axes: int) -> tuple[Hyperparameters, int]:
    if known is None or len(known["row"]) != n_axes + 3:
        return Hyperparameters.prior(n_axes), 0
    return Hyperparameters.from_array(np.array(known["row"])), int(known["arms"])
