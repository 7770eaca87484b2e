"""The reward surface: a Gaussian process fitted to the arms of a study.

Rewards with a range are modelled on the logit scale, where the difference between 0.99 and 0.999
is as large as that between 0.5 and 0.9; rewards without one as they are.

Noise without ends can drown a surface, and a model that fits noise is worse than none. So for
rewards without a range it also says how sure it is that near configurations have similar rewards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from imabo import late_scipy
from imabo.arms import ActiveSet, Beliefs, Bools, Floats, Ints
from imabo.gaussian.kernel import Points
from imabo.gaussian.process import Hyperparameters, Process, spread_subset

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_SEARCHED: Final = 150  # arms that the hyperparameters are fitted to, at most
_MODELLED: Final = 1000  # arms that the posterior rests on, at most
_GROWTH: Final = 1.04  # search again once there are so many times more arms
_ROUNDS: Final = 3  # of moving the latent observations to the posterior's mode
_FARTHEST: Final = 9.0  # logits beyond this are not told apart
_LONGEST: Final = 3.0  # largest move of one latent observation in a round
_LEAST_INFORMATION: Final = 1e-3
_LEAST_SCALE: Final = 0.05  # of latent observations that hardly differ
_LEAST_SPREAD: Final = 1e-150  # of rewards without ends; its square is still a number
_STRONG: Final = 8.0  # log odds at which the model and its absence are believed alike
_DOUBT: Final = 10.0  # squared errors of differences, below which the skill is not known
_LEAST_COUNT: Final = 0.05  # rewards that still speak of now, for an arm to be modelled
_LEAST_MEAN: Final = 1e-4  # expectations stay this far from 0 and 1, where a count means little


class Surface:
    """What the arms' rewards say about configurations that were never served.

    Args:
        arms: The active set; at least one arm must have a reward.

    Example:
        >>> from imabo import Float, Space
        >>> tried = [({"x": i / 12}, [1.0 - abs(i / 12 - 0.5)] * 20) for i in range(12)]
        >>> surface = Surface(ActiveSet.from_rewards(Space(x=Float(0, 1)), tried))
        >>> means, _ = surface.predict(np.array([[0.5], [0.0]]), np.array([[True], [True]]))
        >>> bool(means[0] > means[1])
        True
    """

    def __init__(self, arms: ActiveSet) -> None:
        self._arms = arms
        self._unordered: Bools = np.array([p.unordered for p in arms.space.parameters.values()])
        rewarded = np.flatnonzero(arms.n_now > _LEAST_COUNT)
        self.rows: Ints = rewarded[spread_subset(arms.n_now[rewarded], _MODELLED)]
        self._n = arms.n_now[self.rows]
        self._means = arms.sums_now[self.rows] / self._n
        self._bounded = arms.reward_range is not None
        if self._bounded:
            # Forgetting takes weighted sums apart: rounding may leave them past the ends.
            self._means = np.clip(self._means, 0.0, 1.0)
        self._dispersion = self._dispersed()
        values, noise = self._first_look()
        self._centre = float(values.mean())
        self._scale = max(float(values.std()), _LEAST_SCALE if self._bounded else 0.0)
        if not self._scale > 1e-9 * abs(self._centre) + _LEAST_SPREAD:
            self._scale = max(abs(self._centre), 1.0)  # rewards without any difference
        self._fit((values - self._centre) / self._scale, noise / self._scale**2)

    # --- fitting --------------------------------------------------------------------------------

    def _dispersed(self) -> float:
        """Variance of a reward: over p (1 - p) with a range (1 for coin flips), else as it is."""
        arms, rows = self._arms, self.rows
        n = arms.n_rewards[rows]  # all of them: how rewards scatter does not change with their mean
        within = float((n * arms.variances()[rows]).sum())
        spare = float(n.sum()) - len(rows)
        pooled = within / spare if spare > 0 else 0.0
        if self._bounded:
            means = arms.means[rows]
            most = float((n * means * (1.0 - means)).sum() / n.sum())
            known = most > 0.0 and spare > 0
            return min(max(pooled / most, 0.01), 1.0) if known else 1.0
        # At least what rounding leaves of the squares, whatever unit the rewards are in.
        rounding = 1e-16 * float(np.mean(self._means**2))
        return max(pooled, 1e-6 * float(np.var(self._means)), rounding, _LEAST_SPREAD**2)

    def _first_look(self) -> tuple[Floats, Floats]:
        """Latent observations and their variances, before the model is asked."""
        if not self._bounded:
            return self._means, self._dispersion / self._n
        n = self._n / self._dispersion
        # One imaginary reward of the overall mean keeps an arm with nothing but ones finite.
        overall = (self._n @ self._means + 0.5) / (self._n.sum() + 1.0)
        p = np.clip((n * self._means + overall) / (n + 1.0), _LEAST_MEAN, 1.0 - _LEAST_MEAN)
        return late_scipy.logit(p), 1.0 / ((n + 1.0) * p * (1.0 - p))

    def _fit(self, values: Floats, noise: Floats) -> None:
        arms = self._arms
        points = Points.place(arms.units[self.rows], arms.mask[self.rows], self._unordered)
        start, n_searched, self._evidence = _remembered(arms)
        self._n_searched = n_searched
        process = Process(points, values, noise, start)
        if self._bounded:
            for _ in range(_ROUNDS - 1):
                process.observe(*self._at_mode(process))
        if not n_searched <= len(arms) < _GROWTH * n_searched:  # fewer after a change of the space
            few = spread_subset(self._n, _SEARCHED)
            seen = points.take(few), process.values[few], process.noise[few]
            found = Process.search(*seen, start)
            self._evidence = 0.0 if self._bounded else Process.evidence(*seen, found)
            process = Process(points, process.values, process.noise, found)
            self._n_searched = len(arms)
        self.process = process
        waiting = np.flatnonzero((arms.n_rewards == 0) & (arms.n_pending > 0))[:_MODELLED]
        ahead = Points.place(arms.units[waiting], arms.mask[waiting], self._unordered)
        self._ahead = process.given(ahead) if len(waiting) else process

    def _at_mode(self, process: Process) -> tuple[Floats, Floats]:
        """Laplace's approximation of the coin flips' likelihood around the posterior mean."""
        n = self._n / self._dispersion
        f = np.clip(self._centre + self._scale * process.at_points(), -_FARTHEST, _FARTHEST)
        p = late_scipy.expit(f)
        information = np.maximum(n * p * (1.0 - p), _LEAST_INFORMATION)
        z = f + np.clip(n * (self._means - p) / information, -_LONGEST, _LONGEST)
        return (z - self._centre) / self._scale, 1.0 / (information * self._scale**2)

    # --- reading --------------------------------------------------------------------------------

    @cached_property
    def _left_out(self) -> tuple[Floats, Floats]:
        """What to expect of each arm that the model rests on, given all others."""
        return self.process.leave_one_out()

    @cached_property
    def skill(self) -> float:
        """Share of what tells arms apart that the others' rewards said, in [0, 1]; eq. (skill).

        An arm's own luck is in its mean and not in what the others say of it, so that on average
        their product is what was truly known.
        """
        if not self._bounded:
            return self.certainty
        expected, _ = self._as_rewards(*self._left_out)
        level = float(self._n @ self._means / self._n.sum())
        weights = self._n / (self._dispersion * max(level * (1.0 - level), _LEAST_MEAN))
        known, seen = expected - level, self._means - level
        differences = max(float(weights @ seen**2) - len(seen), 0.0)
        foreseen = float(weights @ (known * seen)) + 0.5 * _DOUBT
        return min(max(foreseen / (differences + _DOUBT), 0.0), 1.0)

    @property
    def certainty(self) -> float:
        """Probability that the model knows something; 1 for rewards with a range."""
        return 1.0 if self._bounded else float(late_scipy.expit(self._evidence - _STRONG))

    def predict(self, units: Floats, mask: Bools, *, slope: bool = True) -> tuple[Floats, Floats]:
        """Mean and variance of the smooth part at configurations, on the model's own scale.

        An arm whose first reward is still out counts as seen: the variance next to it is small, so
        that no second arm is sent to where an answer is on its way. Without the ``slope``, ends of
        the ranges that no arm is near are neither good nor poor, whatever other ends were.
        """
        process = self._ahead if slope else self._unsloped
        return process.predict(Points.place(units, mask, self._unordered))

    @property
    def has_ends(self) -> bool:
        """Whether any parameter has an order, and so ends."""
        return not bool(self._unordered.all())

    @cached_property
    def _unsloped(self) -> Process:
        return self._ahead.without_slope()

    def to_unit(self, values: Floats) -> Floats:
        """Values on the model's own scale as rewards."""
        latent = self._centre + self._scale * values
        return np.asarray(late_scipy.expit(latent)) if self._bounded else latent

    def leaders(self, count: int) -> Ints:
        """Rows of the arms with the highest expected reward, shrunk towards their neighbours."""
        order = self.rows[np.argsort(-self.process.at_points(), kind="stable")]
        return order[~self._arms.retired[order]][:count]

    def beliefs(self, units: Floats, mask: Bools) -> Beliefs:
        """What to expect of every arm without its own rewards, and of one more configuration."""
        arms = self._arms
        means, variances = np.empty(len(arms) + 1), np.empty(len(arms) + 1)
        others = np.setdiff1d(np.arange(len(arms)), self.rows)
        means[self.rows], variances[self.rows] = self._left_out
        rest = np.append(others, len(arms))
        means[rest], variances[rest] = self.process.predict(
            Points.place(
                np.vstack([arms.units[others], units]),
                np.vstack([arms.mask[others], mask]),
                self._unordered,
            )
        )
        variances[rest] += self.process.own
        expected, counts = self._as_rewards(means, variances)
        state = _remember(arms, self.process, self._n_searched) | {"evidence": self._evidence}
        return Beliefs(expected, self.certainty * counts, state, self.skill)

    def _as_rewards(self, means: Floats, variances: Floats) -> tuple[Floats, Floats]:
        """A normal belief on the model's scale as a mean reward and the count it is worth."""
        centre, spread = self._centre + self._scale * means, self._scale * np.sqrt(variances)
        if not self._bounded:
            return centre, self._dispersion / np.maximum(spread**2, 1e-300)
        p = late_scipy.expit(centre[:, None] + spread[:, None] * _NODES)
        mean = p @ _WEIGHTS
        variance = np.maximum((p * p) @ _WEIGHTS - mean * mean, 1e-12)
        mean = np.clip(mean, _LEAST_MEAN, 1.0 - _LEAST_MEAN)
        # A Beta prior of that mean and variance is worth a + b rewards.
        counts = mean * (1.0 - mean) / variance - 1.0
        return mean, np.maximum(counts, 0.0) * self._dispersion


def _remember(arms: ActiveSet, process: Process, n_searched: int) -> dict[str, Any]:
    h = process.hyperparameters
    return {
        "scales": dict(zip(arms.space.names, h.scales, strict=True)),
        "signal": h.signal,
        "own": h.own,
        "share": h.share,
        "arms": n_searched,
    }


def _remembered(arms: ActiveSet) -> tuple[Hyperparameters, int, float]:
    """Where the last search ended, how many arms it had and its evidence; else the prior."""
    prior, state = Hyperparameters.prior(len(arms.space)), arms.model_state
    known: Mapping[str, Any] = {} if state is None else state.get("scales", {})
    if state is None or set(known) != set(arms.space.names):
        return prior, 0, 0.0
    scales = tuple(float(known[name]) for name in arms.space.names)
    rest = {name: float(state[name]) for name in ("signal", "own", "share")}
    evidence = float(state.get("evidence", 0.0))  # not in what earlier versions remembered
    return replace(prior, scales=scales, **rest), int(state["arms"]), evidence
