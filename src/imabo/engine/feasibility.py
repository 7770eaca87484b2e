"""Whether anything is within the budgets and limits, and saying so when that changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from imabo.arms import ActiveSet, Bools
from imabo.engine.replica import Replica
from imabo.events import Event, study_event
from imabo.mixing import best_shares
from imabo.spending import Spending
from imabo.stores.base import Change

_ENOUGH: Final = 30  # requests of an arm that said what they used, before it is sure to be too dear
_FEW: Final = 8  # ... before it is believed to be within
_SURE: Final = 3.5  # standard errors: it looks again and again
_NEWEST: Final = 10_000  # changes of the log that are looked through for what was said last

Facts = dict[str, Any]


class Feasibility:
    """Looks now and then, and keeps in the log what it finds, once each time it changes.

    Args:
        replica: The study.

    Attributes:
        is_said: Whether the last word was that nothing is within; None before it was looked up.
    """

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self.is_said: bool | None = None

    def look(self) -> Event | None:
        """Called now and then; what was found, if that is new."""
        if self.is_said is None:
            self.is_said = self._last_word()
        if self._found(self.is_said) is None:
            return None
        return self._replica.retrying(self._note)

    def follow(self, kind: str, data: Mapping[str, Any]) -> None:
        """What a log says, for a replay."""
        self._replica.retrying(lambda now: self._commit(kind == "infeasible", dict(data), now))

    def _note(self, now: float) -> Event | None:
        # Another process may have said it meanwhile.
        self._replica.refresh()
        self.is_said = self._last_word()
        found = self._found(self.is_said)
        if found is None:
            return None
        is_infeasible = not self.is_said
        self._commit(is_infeasible, found, now)
        self.is_said = is_infeasible
        return study_event("infeasible" if is_infeasible else "feasible", now, found)

    def _commit(self, is_infeasible: bool, data: Facts, now: float) -> None:
        change = Change("infeasible" if is_infeasible else "feasible", data)
        self._replica.change(change, now)

    def _last_word(self) -> bool:
        replica = self._replica
        for entry in reversed(replica.store.changes(replica.record.name, limit=_NEWEST)):
            if entry.kind in ("infeasible", "feasible"):
                return entry.kind == "infeasible"
        return False

    def _found(self, is_said: bool) -> Facts | None:
        """What is to be said now, if it is something else than before."""
        view = self._replica.view
        if is_said:
            return _within(view)
        return None if view.spending is None else self._beyond(view, view.spending)

    def _beyond(self, view: ActiveSet, spending: Spending) -> Facts | None:
        """The arm that exceeds what is allowed least, if it surely does and no mix does not."""
        rows = np.flatnonzero(view.servable)
        if not len(rows):
            return None
        uses = spending.means(len(view))[:, rows]
        excess = uses / spending.budgets[:, None]
        if (excess <= 1.0).all(axis=0).any():
            return None
        least = int(excess.max(axis=0).argmin())
        place, arm = int(excess[:, least].argmax()), int(view.ids[rows[least]])
        if not self._is_sure(spending, place, arm):
            return None
        if len(excess) > 1 and best_shares(np.zeros(len(rows)), uses, spending.budgets)[1]:
            return None  # a mix is within
        one = spending.constraints[place]
        signal = self._replica.signals.get(one.signal)
        return {
            "name": one.name,
            "signal": one.signal,
            "above": one.above,
            "unit": "" if signal is None else signal.unit,
            "budget": one.budget,
            "use": float(uses[place, least]),
            "arm": arm,
        }

    def _is_sure(self, spending: Spending, place: int, arm: int) -> bool:
        """Whether what an arm used is too much, beyond the luck of few requests."""
        if spending.is_known(place):
            return True
        replica, one = self._replica, spending.constraints[place]
        (record,) = replica.store.arms(replica.record.name, [arm])
        told = (record.signals or {}).get(one.signal if one.above is None else one.name)
        if told is None or told[0] < _ENOUGH:
            return False
        n, total = told[0], told[1]
        squares = total if one.above is not None else told[2]  # of zeros and ones
        mean = total / n
        error = (max(squares / n - mean**2, 0.0) / n) ** 0.5
        return bool(mean - _SURE * error > one.budget)


def _within(view: ActiveSet) -> Facts | None:
    """The arm, or a mix of several (None), that is within what is allowed; None where none is."""
    spending = view.spending
    if spending is None:
        return {"arm": None}
    rows = np.flatnonzero(view.servable & _is_told(spending, len(view)))
    if not len(rows):
        return None
    uses = spending.means(len(view))[:, rows]
    fits = np.flatnonzero((uses <= spending.budgets[:, None]).all(axis=0))
    if len(fits):
        return {"arm": int(view.ids[rows[int(fits[0])]])}
    if len(uses) > 1 and best_shares(np.zeros(len(rows)), uses, spending.budgets)[1]:
        return {"arm": None}
    return None


def _is_told(spending: Spending, n_rows: int) -> Bools:
    """Which arms have said often enough what they use."""
    counts = spending.counts(n_rows)
    known = np.array([[spending.is_known(place)] for place in range(len(counts))])
    return np.asarray(((counts >= _FEW) | known).all(axis=0))
