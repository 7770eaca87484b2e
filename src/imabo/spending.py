"""What the arms' requests use up, beside what they may: the columns that prices are made from.

Arrays only. Uses are in budgets here: 1 is what a request may use on average. Labels are those of
docs/algorithm.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from imabo.objective import Constraint, Signal
from imabo.space import Space

BankRule = tuple[float, float, float, float, str | None]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_AIM: Final = 0.99  # part of a budget that is aimed at: what requests use scatters
LEAST_BANK: Final = -10.0  # budgets that may be saved up ...
MOST_BANK: Final = 400.0  # ... and those that have to be paid back, at most
_SAVED: Final = 4.0  # the same of a limit, in requests above it, which use many budgets at once ...
_OWED: Final = 10.0  # ... and what has to be paid back
_FEW: Final = 0.5  # requests that the average arm says about any other, without a model
_MODELLED: Final = 2.0  # the same of a model's expectation
LONG: Final = 1000.0  # requests over which a budget is to hold
ON_BUDGET: Final = 1.0  # what lately was used before anything was, in budgets ...
_MOST_LATELY: Final = 1.1  # ... and at most: what was explored at first is soon forgotten
_FAR: Final = 4.0  # standard deviations above the mean that one request may use
_WIDE: Final = 1.5  # standard deviation of what requests use, in their mean, where few say so ...
_SUPPOSED: Final = 10.0  # ... and for how many requests that counts


def bank_after(bank: float, use: float, one: Constraint) -> float:
    """The bank after a request: what was used beyond the budget, in budgets; eq. (bank).

    Example:
        >>> cost, slow = Constraint("cost", "cost", 1.0), Constraint("s > 2", "s", 0.05, 2.0)
        >>> round(bank_after(0.0, 3.0, cost), 2), bank_after(-10.0, 0.0, cost)
        (2.03, -10.0)
        >>> round(bank_after(0.0, 1.0, slow), 1), bank_after(-80.0, 0.0, slow)
        (19.2, -80.0)
    """
    return moved(bank, use, bank_rule(one))


def bank_rule(one: Constraint) -> BankRule:
    """What a request may use, as it is aimed at, and the least and the most that a bank may be.

    Last, what it may use by the budget, and where ``lately_after`` is kept: None for a limit.
    """
    least, most = LEAST_BANK, MOST_BANK
    if one.above is not None:
        least, most = min(least, -_SAVED / one.budget), max(most, _OWED / one.budget)
        return _AIM * one.budget, least, most, one.budget, None
    return _AIM * one.budget, least, most, one.budget, lately_key(one.name)


def moved(bank: float, use: float, rule: BankRule) -> float:
    """``bank_after``, by what ``bank_rule`` worked out once."""
    bank += use / rule[0] - 1.0  # (bank)
    return rule[1] if bank < rule[1] else rule[2] if bank > rule[2] else bank


def lately_after(lately: float, use: float, budget: float) -> float:
    """What requests used lately, after one more, in budgets: about the last thousand; eq. (lately).

    Example:
        >>> lately_after(1.0, 101.0, 1.0), lately_after(1.0, 0.0, 1.0), lately_after(1.0, 1e6, 1.0)
        (1.1, 0.999, 1.1)
    """
    lately += (use / budget - lately) / LONG  # (lately)
    return lately if lately < _MOST_LATELY else _MOST_LATELY


def lately_key(name: str) -> str:
    """Where it is kept, beside the banks. No constraint has such a name."""
    return f"{name} lately"


def of_arms(uses: Mapping[str, Any], old: Sequence[int], new: Sequence[int]) -> dict[str, Any]:
    """What a model expected of some arms and of one more, for the arms that there are by now.

    Example:
        >>> of_arms({"cost": {"expected": [1.0, 2.0, 9.0]}}, [1, 2], [1, 2, 3])
        {'cost': {'expected': [1.0, 2.0, None, 9.0]}}
    """
    found = {}
    for name, one in uses.items():
        *known, last = one["expected"]
        by_arm = dict(zip(old, known, strict=True))
        found[name] = {**one, "expected": [*(by_arm.get(arm) for arm in new), last]}
    return found


class _Priors(NamedTuple):
    """What stands beside what arms used: how much, for how many requests, and for whom.

    An arm is alone where no model speaks of it: then it is the average of all arms.
    """

    prior: Floats
    weight: Floats
    is_alone: Bools
    has_alone: bool


class Spending:
    """Uses of every arm, for each constraint of a study's objective; one column an arm.

    Args:
        constraints: The budgets and limits.
        signals: Those of the study; price lists are read from them.

    Example:
        >>> spending = Spending([Constraint("cost", "cost", 2.0)])
        >>> for row, cost in ((0, 1.0), (1, 6.0), (0, 1.0)):
        ...     spending.count(row, {"cost": cost})
        >>> spending.costs(2).round(1).tolist(), bool(spending.banks[0] > 0)
        ([[0.4, 1.2]], True)
    """

    def __init__(
        self, constraints: Sequence[Constraint], signals: Mapping[str, Signal] | None = None
    ) -> None:
        self.constraints = tuple(constraints)
        self._signals = dict(signals or {})
        m = len(self.constraints)
        self.budgets: Floats = np.array([one.budget for one in self.constraints])
        self.aims: Floats = _AIM * self.budgets
        self._is_limit = np.array([[one.above is not None] for one in self.constraints])
        self._keys = [lately_key(one.name) for one in self.constraints]
        self.banks: Floats = np.zeros(m)
        self.lately: Floats = np.full(m, ON_BUDGET)
        self._squares: Floats = np.zeros((m, 16))
        self._counts: Floats = np.zeros((m, 16))
        self._sums: Floats = np.zeros((m, 16))
        self._expected: Floats = np.full((m, 16), np.nan)
        self._known: Floats = np.full((m, 16), np.nan)
        self._known_at = [place for place in range(m) if self.is_known(place)]
        self._has_known = bool(self._known_at)
        self._costs: Floats | None = None  # what ``costs`` found, until anything changes
        self._most: Floats | None = None  # the same of ``most``
        self._priors: _Priors | None = None  # what of it does not change with reports

    # --- reading --------------------------------------------------------------------------------

    def counts(self, n_rows: int) -> Floats:
        """How many requests of each arm said what they used."""
        self._widen(n_rows)
        return self._counts[:, :n_rows]

    def sums(self, n_rows: int) -> Floats:
        """What they used together, in the signals' own units."""
        self._widen(n_rows)
        return self._sums[:, :n_rows]

    def costs(self, n_rows: int) -> Floats:
        """What a request of each arm is expected to use, in budgets; eq. (use).

        A few requests of what a model expects, or of the average, stand beside the arm's own. Of a
        limit they are as many as one request above it is allowed for, and without a model at the
        limit: the first few requests say little about so rare a thing.
        """
        if self._costs is not None and self._costs.shape[1] == n_rows:
            return self._costs  # a decision asks several times between two reports
        counts, sums = self.counts(n_rows), self.sums(n_rows)
        if self._priors is None or self._priors.weight.shape[1] != n_rows:
            self._priors = self._prior_of(n_rows)
        prior, weight, is_alone = self._priors.prior, self._priors.weight, self._priors.is_alone
        if self._priors.has_alone:
            seen = counts.sum(axis=1, keepdims=True)
            level = sums.sum(axis=1, keepdims=True) / np.maximum(seen, 1.0)
            prior = np.where(is_alone, level, prior)
        means = (sums + weight * prior) / (counts + weight)
        if self._priors.has_alone:
            # One dear request must not be the end of an arm that no model speaks of.
            less = means / (1.0 + 1.0 / np.maximum(counts, 1.0))
            means = np.where(is_alone & (counts > 0.0), less, means)
        if self._has_known:
            known = self._known[:, :n_rows]
            means = np.where(np.isfinite(known), known, means)
        self._costs, self._most = np.asarray(means / self.aims[:, None]), None
        return self._costs

    def most(self, n_rows: int) -> Floats:
        """What a single request of each arm may well use, in budgets; eq. (most).

        Of a price list it is what that says, and of a limit nothing: a request above it uses what
        it is known to use.
        """
        costs = self.costs(n_rows)
        if self._most is not None:
            return self._most
        counts, sums = self.counts(n_rows), self.sums(n_rows)
        means = sums / np.maximum(counts, 1.0)
        spare = np.maximum(self._squares[:, :n_rows] - sums * means, 0.0)
        expected = costs * self.aims[:, None]
        wide = _WIDE * expected
        spread = np.sqrt((spare + _SUPPOSED * wide * wide) / (counts + _SUPPOSED))
        if self._has_known:
            spread = np.where(np.isfinite(self._known[:, :n_rows]), 0.0, spread)
        most = (expected + _FAR * spread) / self.budgets[:, None]
        self._most = np.where(self._is_limit, 0.0, most)
        return self._most

    def _prior_of(self, n_rows: int) -> _Priors:
        expected = self._expected[:, :n_rows]
        has_model = np.isfinite(expected)
        prior = np.where(has_model, expected, self.budgets[:, None])
        weight = np.where(has_model, _MODELLED, _FEW)
        weight = np.where(self._is_limit, 1.0 / self.budgets[:, None], weight)
        is_alone = ~has_model & ~self._is_limit
        return _Priors(prior, weight, is_alone, bool(is_alone.any()))

    def means(self, n_rows: int) -> Floats:
        """What a request of each arm is expected to use, in the signals' own units."""
        counts = np.maximum(self.counts(n_rows), 1.0)
        own = self.sums(n_rows) / counts
        guessed = self.costs(n_rows) * self.aims[:, None]
        return np.where((self.counts(n_rows) > 0.0) & ~self._is_limit, own, guessed)

    def banks_ahead(self, n_pulls: Floats, n_pending: Floats) -> Floats:
        """The banks when the requests that are out have said what they used.

        A request that still waits for its reward, and has not said what it used, may yet do so.
        """
        if not n_pending.any():
            return self.banks
        late = np.minimum(n_pending, np.maximum(n_pulls - self.counts(len(n_pulls)), 0.0))
        return np.asarray(self.banks + ((self.costs(len(n_pulls)) - 1.0) * late).sum(axis=1))

    def is_known(self, place: int) -> bool:
        """Whether a price list says what is used."""
        signal = self._signals.get(self.constraints[place].signal)
        return signal is not None and signal.known is not None

    def guess(self, place: int, n_rows: int, units: Floats, space: Space) -> Floats:
        """What configurations use that no model speaks of: by the price list, or the average."""
        one = self.constraints[place]
        if self.is_known(place):
            signal = self._signals[one.signal]
            return np.array([one.use(signal.expected(space.decode(unit))) for unit in units])
        total = float(self.sums(n_rows)[place].sum())
        return np.full(len(units), total / max(float(self.counts(n_rows)[place].sum()), 1.0))

    # --- updating (the study only) --------------------------------------------------------------

    def count(self, row: int | None, values: Mapping[str, float]) -> None:
        """A request of an arm said what it used; ``row`` is None for an arm that is not here."""
        for place, one in enumerate(self.constraints):
            if one.signal in values and not self.is_known(place):
                # Of a price list it was used when the request was served.
                self._move(place, one.use(values[one.signal]))
        if row is not None:
            self.learn(row, values)

    def learn(self, row: int, values: Mapping[str, float]) -> None:
        """``count`` but for the banks, which the store has moved already."""
        if row >= self._counts.shape[1]:
            self._widen(row + 1)
        costs, priors = self._costs, self._priors
        if costs is None or priors is None or priors.has_alone or row >= costs.shape[1]:
            self._costs = costs = None  # what one arm used says something about others
        if self._has_known:
            self._costs = costs = None
        for place, one in enumerate(self.constraints):
            value = values.get(one.signal)
            if value is None:
                continue
            # Plain numbers take less than those of arrays.
            count, total = self._counts.item(place, row) + 1.0, self._sums.item(place, row)
            self._counts[place, row], total = count, total + one.use(value)
            self._sums[place, row] = total
            squares = 0.0
            if one.above is None:
                squares = self._squares.item(place, row) + value * value
                self._squares[place, row] = squares
            if costs is not None and priors is not None:
                weight = priors.weight.item(place, row)  # as ``costs`` has it
                mean = (total + weight * priors.prior.item(place, row)) / (count + weight)
                aim = self.aims.item(place)
                costs[place, row] = cost = mean / aim
                if self._most is not None and one.above is None:  # as ``most`` has it
                    spare, expected = max(squares - total * (total / count), 0.0), cost * aim
                    wide = _WIDE * expected
                    spread = sqrt((spare + _SUPPOSED * wide * wide) / (count + _SUPPOSED))
                    self._most[place, row] = (expected + _FAR * spread) / one.budget

    def serve(self, row: int) -> dict[str, float] | None:
        """A request is served; what price lists say that it uses is used now. None without any."""
        if not self._has_known:
            return None
        uses = {}
        for place in self._known_at:
            uses[self.constraints[place].name] = use = float(self._known[place, row])
            self._move(place, use)
        return uses

    def put_sums(self, row: int, signals: Mapping[str, Sequence[float]]) -> None:
        """Overwrite the counters of a row with what a store has of its signals."""
        for one in self.constraints:
            # A limit has sums of its own; what a budget counts are those of its signal.
            name = one.signal if one.above is None else one.name
            count, total, *squares = signals.get(name, (0, 0.0))
            self.put(row, one.name, count, total, *squares)

    def put(self, row: int, name: str, count: float, total: float, squares: float = 0.0) -> None:
        """Overwrite the counters of a row with the store's."""
        self._widen(row + 1)
        self._costs = None
        for place, one in enumerate(self.constraints):
            if one.name == name:
                self._counts[place, row], self._sums[place, row] = count, total
                self._squares[place, row] = squares

    def put_banks(self, banks: Mapping[str, float]) -> None:
        """Overwrite the banks with the store's."""
        for place, one in enumerate(self.constraints):
            self.banks[place] = banks.get(one.name, 0.0)
            self.lately[place] = banks.get(self._keys[place], ON_BUDGET)

    def load(self, uses: Mapping[str, Any], arms: Sequence[int], rows: Mapping[int, int]) -> None:
        """Take what a model expects of some arms (see ``Charges.state``), and of no others."""
        self._expected[:] = np.nan
        self._costs = self._priors = None
        for place, one in enumerate(self.constraints):
            for arm, use in zip(arms, uses.get(one.name, {}).get("expected", ()), strict=False):
                row = rows.get(arm)
                if row is not None and use is not None:
                    self._widen(row + 1)
                    self._expected[place, row] = use

    def admit(self, row: int, config: Mapping[str, Any]) -> None:
        """A row is there now; what a price list says of it is known."""
        self._widen(row + 1)
        self._costs = None
        for place, one in enumerate(self.constraints):
            if self.is_known(place):
                self._known[place, row] = one.use(self._signals[one.signal].expected(config))

    def _move(self, place: int, use: float) -> None:
        one = self.constraints[place]
        self.banks[place] = bank_after(float(self.banks[place]), use, one)
        if one.above is None:
            self.lately[place] = lately_after(float(self.lately[place]), use, one.budget)

    def _widen(self, n_rows: int) -> None:
        wide = self._counts.shape[1]
        if n_rows > wide:
            more = [(0, 0), (0, max(n_rows, 2 * wide) - wide)]
            self._counts, self._sums = np.pad(self._counts, more), np.pad(self._sums, more)
            self._squares = np.pad(self._squares, more)
            self._expected = np.pad(self._expected, more, constant_values=np.nan)
            self._known = np.pad(self._known, more, constant_values=np.nan)
