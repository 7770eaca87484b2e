"""The best mix of arms within budgets and limits: one answer for whoever asks.

Arrays only. The recommendation, the frontier and the page all ask here, so they cannot disagree.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np

from imabo import late_scipy
from imabo.arms import Bools, Floats, Ints

_LEAST_SHARE: Final = 1e-6  # of a mix, below which an arm is no part of it
_ROUNDING: Final = 1e-9  # part of what is allowed that a sum may be beyond it
_MOST: Final = 300  # arms that a mix within several constraints is sought among
_MORE: Final = 0.01  # part of what is allowed that a price is found with


class Mixer:
    """Mixes of arms: those that a careful estimate would serve, by what is believed of them.

    Of many little known arms some look good, and some look cheap, by luck. So only those are mixed
    that the careful estimate would have served within some budget. Among these the means decide,
    which are not flattered: then more of a budget never buys less.

    Args:
        means: What is believed of each arm's mean reward.
        cautious: A careful estimate of it, low for arms that are little known.
        uses: One row a constraint, one column an arm.
        allowed: Of each constraint.

    Example:
        >>> means, cautious = np.array([0.8, 0.95, 1.0]), np.array([0.7, 0.1, 0.9])
        >>> mixer = Mixer(means, cautious, np.array([[1.0, 1.0, 3.0]]), np.array([2.0]))
        >>> shares, is_within = mixer.within()
        >>> shares.tolist(), is_within, round(mixer.price(0), 6)
        ([0.5, 0.0, 0.5], True, 0.1)
    """

    def __init__(self, means: Floats, cautious: Floats, uses: Floats, allowed: Floats) -> None:
        self.means, self.uses, self.allowed = means, uses, allowed
        known = cautious[np.isfinite(cautious)]
        # Of a single reward without a range nothing is sure: such arms come last.
        least = known.min() - np.ptp(known) - 1.0 if len(known) else 0.0
        self._found: dict[tuple[float, ...], tuple[Floats, bool]] = {}
        self._cautious = np.where(np.isfinite(cautious), cautious, least)

    def within(self, allowed: Floats | None = None) -> tuple[Floats, bool]:
        """The shares of the best mix, and whether it is within what is allowed; see best_shares."""
        allowed = self.allowed if allowed is None else allowed
        key = tuple(allowed.tolist())  # a price, a curve and its ends ask for the same ones
        if key not in self._found:
            self._found[key] = self._within(allowed)
        return self._found[key]

    def _within(self, allowed: Floats) -> tuple[Floats, bool]:
        rows = self._candidates
        if len(self.uses) > 1:
            few = self._few(allowed)
            shares, is_within = best_shares(self._cautious[few], self.uses[:, few], allowed)
            if not is_within:
                return _put(len(self.means), few, shares), False
            rows = np.union1d(rows, few[shares > 0.0])
        shares, is_within = best_shares(self.means[rows], self.uses[:, rows], allowed)
        return _put(len(self.means), rows, shares), is_within

    def at(self, budget: float) -> tuple[Floats, bool]:
        """The same with another budget of the first constraint, and all others kept."""
        return self.within(np.array([budget, *self.allowed[1:]]))

    def price(self, place: int) -> float:
        """What one more of a constraint a request buys in reward; 0 where more buys nothing."""
        shares, is_within = self.within()
        if not is_within:
            return 0.0
        more = self.allowed.copy()
        more[place] *= 1.0 + _MORE
        gain = float((self.within(more)[0] - shares) @ self.means)
        return max(gain, 0.0) / (_MORE * float(self.allowed[place]))

    def unkept(self) -> list[int]:
        """The constraints that nothing keeps, or all where nothing keeps them together."""
        if self.within()[1]:
            return []
        alone = np.flatnonzero(self.uses.min(axis=1) > self.allowed).tolist()
        return alone or list(range(len(self.uses)))

    def served(self) -> Bools:
        """Which arms some budget of the first constraint would have served."""
        found = np.zeros(len(self.means), dtype=np.bool_)
        rows = self._candidates
        if len(self.uses) == 1:
            found[rows] = on_hull(self.uses[0, rows], self.means[rows])
            return found
        for budget in np.unique(self.uses[0, rows]).tolist():
            shares, is_within = self.at(budget)
            if is_within:
                found |= shares > 0.0
        return found

    @cached_property
    def _candidates(self) -> Ints:
        on = [on_hull(row, self._cautious) for row in self.uses]
        return np.flatnonzero(np.logical_or.reduce(on))

    def _few(self, allowed: Floats) -> Ints:
        """All arms or, of very many, the best ones and those that use least."""
        n = len(self.means)
        if n <= _MOST:
            return np.arange(n)
        best = np.argsort(-self._cautious, kind="stable")[:_MOST]
        least = np.argsort(_excess(self.uses, allowed), kind="stable")[:_MOST]
        return np.unique(np.concatenate([self._candidates, best, least]))


def best_shares(values: Floats, uses: Floats, allowed: Floats) -> tuple[Floats, bool]:
    """The mix of arms of highest mean value whose mean uses are allowed; False if none is.

    Then it is the arm that exceeds what is allowed least.

    Example:
        >>> best_shares(np.array([0.8, 1.0]), np.array([[1.0, 3.0]]), np.array([2.0]))
        (array([0.5, 0.5]), True)
        >>> best_shares(np.array([0.8, 1.0]), np.array([[1.0, 3.0]]), np.array([0.5]))
        (array([1., 0.]), False)
    """
    if len(uses) == 1:
        return _on_line(values, uses[0], float(allowed[0]))
    ones = np.ones((1, len(values)))
    found = late_scipy.linprog(-values, uses, allowed, ones, [1.0], (0.0, 1.0))
    if found.x is None:
        least = int(_excess(uses, allowed).argmin())
        return _put(len(values), np.array([least]), np.ones(1)), False
    shares = np.where(found.x < _LEAST_SHARE, 0.0, found.x)
    return shares / shares.sum(), True


def _on_line(values: Floats, uses: Floats, allowed: float) -> tuple[Floats, bool]:
    """Where a budget meets the upper hull: at most two arms."""
    on = np.flatnonzero(on_hull(uses, values))
    on = on[np.argsort(uses[on], kind="stable")]
    shares = np.zeros(len(values))
    after = int(np.searchsorted(uses[on], allowed + _ROUNDING * abs(allowed), side="right"))
    cheap = int(on[max(after - 1, 0)])
    shares[cheap] = 1.0
    if 0 < after < len(on):
        dear = int(on[after])
        share = float((allowed - uses[cheap]) / (uses[dear] - uses[cheap]))
        if share > _LEAST_SHARE:
            shares[cheap], shares[dear] = 1.0 - share, share
    return shares, after > 0


def _excess(uses: Floats, allowed: Floats) -> Floats:
    """How far each arm is beyond what is allowed, of the constraint where that is furthest."""
    usual = np.abs(uses).mean(axis=1)
    # Nothing can be said in parts of nothing.
    scale = np.where(allowed > 0.0, allowed, np.where(usual > 0.0, usual, 1.0))
    return np.asarray(((uses - allowed[:, None]) / scale[:, None]).max(axis=0))


def _put(n: int, rows: Ints, shares: Floats) -> Floats:
    found = np.zeros(n)
    found[rows] = shares
    return found


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
