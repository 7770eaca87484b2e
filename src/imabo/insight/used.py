"""What the requests of a study use, beside what they may: its signals in columns, read once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from imabo.arms import ActiveSet, Bools, Floats, Ints
from imabo.errors import InvalidSignal
from imabo.objective import Constraint, Objective, Signal
from imabo.recommend import cautious_means, estimates, mixed_rows, mixer_of, prices_now
from imabo.space.scalars import show
from imabo.stores.base import StudyRecord
from imabo.stores.signalling import used_by

if TYPE_CHECKING:
    from imabo.insight.arm_columns import Arms
    from imabo.insight.snapshot import StudySnapshot
    from imabo.study import Study


_LEVEL: Final = 0.95  # of ``Study.best`` and ``Study.frontier`` where none is named


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
        estimates: What is believed of the mean reward of each arm that is served and has rewards,
            as ``Study.best`` has it; NaN for the others.
        cautious: The careful estimate of the same.
        is_mixed: Which arms may be part of a mix.
        unkept: The constraints that nothing can keep, alone or together; none where a mix does.
    """

    signals: Mapping[str, Signal]
    constraints: Sequence[Constraint]
    told: Sequence[Mapping[str, Sequence[float]] | None]
    n_pulls: Floats
    configs: Sequence[Mapping[str, Any]]
    prices: Mapping[str, float]
    expected: Mapping[str, Floats]
    estimates: Floats
    cautious: Floats
    is_mixed: Bools
    unkept: Sequence[str] = ()

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

    return study.read(lambda view: _read(view, record, objective, arms))


def _read(view: ActiveSet, record: StudyRecord, objective: Objective | None, arms: Arms) -> Used:
    at = np.searchsorted(arms.ids, view.ids)
    is_here = view.servable & (at < len(arms))

    def column(rows: Ints, values: Floats) -> Floats:
        found = np.full(len(arms), np.nan)
        keep = is_here[rows]
        found[at[rows[keep]]] = values[keep]
        return found

    expected, unkept = {}, list[str]()
    rows = np.flatnonzero(view.servable & (view.n_rewards > 0))
    mixed = mixed_rows(view, rows)
    means = careful = np.zeros(0)
    if len(rows):
        means, careful = estimates(view).means[rows], cautious_means(view, rows, _LEVEL)
    if view.spending is not None:
        names = [one.name for one in view.spending.constraints]
        uses = view.spending.means(len(view))
        expected = {
            name: column(np.arange(len(view)), row) for name, row in zip(names, uses, strict=True)
        }
        if len(mixed):
            places = np.isin(rows, mixed)
            unkept = [
                names[i] for i in mixer_of(view, mixed, means[places], careful[places]).unkept()
            ]
    is_mixed = np.zeros(len(arms), dtype=np.bool_)
    is_mixed[at[mixed[is_here[mixed]]]] = True
    return Used(
        signals={name: Signal.restore(one) for name, one in (record.signals or {}).items()},
        constraints=() if objective is None else objective.constraints,
        told=arms.signals,
        n_pulls=arms.n_pulls,
        configs=arms.configs,
        prices=prices_now(view),
        expected=expected,
        estimates=column(rows, np.array([view.from_unit(float(one)) for one in means])),
        cautious=column(rows, np.array([view.from_unit(float(one)) for one in careful])),
        is_mixed=is_mixed,
        unkept=unkept,
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
