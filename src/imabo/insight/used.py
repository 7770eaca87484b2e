"""What the requests of a study use, beside what they may: its signals in columns, read once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from imabo.arms import ActiveSet, Floats
from imabo.errors import InvalidSignal
from imabo.frontier import prices_now
from imabo.objective import Constraint, Objective, Signal
from imabo.space.scalars import show
from imabo.stores.base import StudyRecord
from imabo.stores.signalling import used_by

if TYPE_CHECKING:
    from imabo.insight.snapshot import Arms, StudySnapshot
    from imabo.study import Study


@dataclass(frozen=True, eq=False)
class Used:
    """The signals of a study's arms in columns, an entry for each arm; limits by their names.

    Attributes:
        signals: Those that are declared, by name.
        constraints: The budgets and limits there are, in one form.
        told: What the store has of each arm; see ``ArmRecord.signals``.
        n_pulls: The requests of each arm.
        configs: The arms' configurations.
        prices: What one more of each constraint a request buys in reward now.
        expected: What a request of each arm is expected to use of each constraint; NaN for arms
            that are not served.
    """

    signals: Mapping[str, Signal]
    constraints: Sequence[Constraint]
    told: Sequence[Mapping[str, Sequence[float]] | None]
    n_pulls: Floats
    configs: Sequence[Mapping[str, Any]]
    prices: Mapping[str, float]
    expected: Mapping[str, Floats]

    @cached_property
    def found(self) -> dict[str, Any]:
        """What was worked out of it already, by what it is: several figures show the same."""
        return {}

    @cached_property
    def totals(self) -> dict[str, list[float]]:
        """How many requests have said what they used, and what they used together, by name."""
        return used_by(self.told)

    @property
    def budgets(self) -> dict[str, Constraint]:
        """The budgets, by their signals."""
        return {one.signal: one for one in self.constraints if one.above is None}

    @property
    def limits(self) -> list[Constraint]:
        """The limits."""
        return [one for one in self.constraints if one.above is not None]

    def is_priced(self, signal: str) -> bool:
        """Whether a price list says what is used: then that counts, and not what is reported."""
        return self.signals[signal].known is not None

    def per_request(self, one: Constraint) -> Floats:
        """What a request of each arm uses by the price list."""
        signal = self.signals[one.signal]
        return np.array([one.use(signal.expected(config)) for config in self.configs], dtype=float)

    def columns(self, signal: str) -> tuple[Floats, Floats, Floats]:
        """Of each arm: the requests that said what they used, the sum, and the sum of squares."""
        if self.is_priced(signal):
            each = self.per_request(Constraint(signal, signal, 1.0))
            return self.n_pulls, self.n_pulls * each, self.n_pulls * each**2
        empty = (0.0, 0.0, 0.0)
        told = [(one or {}).get(signal, empty)[:3] for one in self.told]
        n, sums, squares = np.array(told, dtype=np.float64).reshape(len(told), 3).T
        return n, sums, squares

    def means(self, signal: str) -> Floats:
        """The mean of a signal over the requests of each arm; NaN where none has said it."""
        n, sums, _ = self.columns(signal)
        return np.where(n > 0, sums / np.maximum(n, 1.0), np.nan)

    def means_of(self, row: int) -> dict[str, float]:
        """The means of all signals over the requests of one arm, those that are known."""
        found = {}
        for name, signal in self.signals.items():
            if signal.known is not None:
                found[name] = signal.expected(self.configs[row])
            else:
                n, total, *_ = (self.told[row] or {}).get(name, (0, 0.0))
                if n:
                    found[name] = total / n
        return found

    def named(self, signal: str | None) -> str:
        """The signal that is meant: that of the first budget where none is named."""
        if signal is None:
            return next(iter([*self.budgets, *self.signals]))
        if signal in self.signals:
            return signal
        known = ", ".join(map(repr, self.signals))
        why = f"the study has declared {known}"
        raise InvalidSignal(f"no signal is named {show(signal)}", why, "take one of these")


def used_of(study: Study, record: StudyRecord, arms: Arms) -> Used | None:
    """What a study's requests use; None where no signals are declared."""
    if not record.signals:
        return None
    objective = None if record.objective is None else Objective.restore(record.objective)

    def now(view: ActiveSet) -> tuple[dict[str, float], dict[str, Floats]]:
        found: dict[str, Floats] = {}
        if view.spending is not None:
            rows = np.searchsorted(arms.ids, view.ids)
            is_here = view.servable & (rows < len(arms))
            for one, means in zip(
                view.spending.constraints, view.spending.means(len(view)), strict=True
            ):
                found[one.name] = np.full(len(arms), np.nan)
                found[one.name][rows[is_here]] = means[is_here]
        return prices_now(view), found

    prices, expected = study.read(now)
    return Used(
        signals={name: Signal.restore(one) for name, one in record.signals.items()},
        constraints=() if objective is None else objective.constraints,
        told=arms.signals,
        n_pulls=arms.n_pulls,
        configs=arms.configs,
        prices=prices,
        expected=expected,
    )


def over_time(snapshot: StudySnapshot, one: Constraint) -> tuple[Floats, Floats, Floats]:
    """What was used by each point of the past: which points are known, requests, and the sum.

    The first point is the study's creation, the last one now.
    """
    history, used = snapshot.history, snapshot.used
    if used is None:
        return np.zeros(0), np.zeros(0), np.zeros(0)
    if used.is_priced(one.signal):
        each = used.per_request(one)
        sums = np.array([row[: len(each)] @ each for row in history.by_arm])
        return np.arange(len(history), dtype=float), history.n_pulls, sums
    name = one.signal if one.above is None else one.name
    known = [(i, point) for i, point in enumerate(history.signals) if point is not None]
    told = [point.get(name, (0.0, 0.0)) for _, point in known]
    n, sums = np.array([pair[:2] for pair in told], dtype=np.float64).reshape(len(told), 2).T
    return np.array([i for i, _ in known], dtype=float), n, sums
