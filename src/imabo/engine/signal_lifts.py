"""The lift of a signal that a guardrail watches, kept in step with the store's log."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from imabo.engine.replica import Replica
from imabo.errors import StoreError
from imabo.evaluation import Guardrail, Lift, LiftEstimate, Outcome
from imabo.objective import Signal
from imabo.stores.base import KeptLift
from imabo.stores.history import SignalledRecord

_PAGE: Final = 1000
_LAST: Final = 2**62  # beyond the numbers of pulls
_KEPT_EVERY: Final = 1024  # values after which it is kept in the store
_DAY_S: Final = 86_400

Ends = tuple[float, float]


class SignalLift:
    """What the values of one signal say of both groups, read from the log as it grows.

    A pure function of the log, in the order in which the values came in. The lift that it gives is
    such that lower is worse, whichever way the signal is: ``shown`` turns it back.
    """

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._of: tuple[object, ...] = ()  # the comparison, the signal, its direction and its ends
        self._place = 0
        self._n_kept = 0
        self._name = ""
        self._sign = 1.0
        self.lift = Lift(None)

    def caught_up(self, guardrail: Guardrail, *, may_keep: bool = True) -> Lift:
        """With all values that the store has; ``may_keep``: it may be written down."""
        replica, name = self._replica, guardrail.signal
        start = None if replica.rollout is None else replica.rollout.start
        if start is None or name is None or name not in replica.signals:
            return Lift(None)
        self._name, self._sign = name, -1.0 if guardrail.worse == "higher" else 1.0
        ends = _ends(replica.signals[name], self._sign)
        if self._of != (start.seq, name, self._sign, ends):
            self._of = (start.seq, name, self._sign, ends)
            self._put(start.seq, Lift(ends))
        store = replica.store
        while True:
            told, last = self._read()
            # Somebody else may have taken in more, and deleted it since: then there are gaps.
            place = (start.seq, self._place, 0)
            kept = store.kept_lift(replica.record.name, after=place, signal=name)
            if kept is None or kept.since != start.seq or kept.document["of"] != self._described():
                break
            self._put(kept.seq, Lift.restore(ends, kept.document["head"], kept.document["past"]))
        # Pulls from before served another control, though their signals come now.
        outcomes = [self._outcome(one) for one in told if one.number > start.pull]
        self.lift, self._place = self.lift.update(outcomes), last
        if may_keep and self.lift.total.n - self._n_kept >= _KEPT_EVERY:
            with suppress(StoreError):  # it is made again from the log
                self.keep()
        return self.lift

    @property
    def taken(self) -> int:
        """The seq up to which it has all values."""
        return self._place

    def keep(self) -> None:
        """Write it down in the store; nothing before it was ever asked for."""
        if not self._of:
            return
        record = self._replica.record
        document = {"of": self._described(), "head": self.lift.head(), "past": self.lift.past()}
        since = self._of[0]
        if isinstance(since, int):
            kept = KeptLift(since, self._place, 0, document, self._name)
            self._replica.store.keep_lift(record.name, kept, token=record.token)
        self._n_kept = self.lift.total.n

    def shown(self, found: LiftEstimate) -> dict[str, Any]:
        """An estimate in the signal's own direction and units: tuned less control."""
        ends = found.interval
        if ends is not None and self._sign < 0.0:
            ends = (-ends[1], -ends[0])
        return {
            "method": found.kind,
            "lift": _times(self._sign, found.absolute),
            "interval": ends,
            "tuned_mean": _times(self._sign, found.tuned_mean),
            "control_mean": _times(self._sign, found.control_mean),
            "n_tuned": found.n_tuned,
            "n_control": found.n_control,
        }

    def _read(self) -> tuple[list[SignalledRecord], int]:
        """Requests whose value came after the present place, in that order, and the new place.

        A pull moves to the end when another signal of it comes. So all is read to the end before
        any of it counts: whatever moves on the way is met again.
        """
        found: dict[int, SignalledRecord] = {}
        name, store, after = self._replica.record.name, self._replica.store, (self._place, _LAST)
        while True:
            page = store.signalled(name, after=after, limit=_PAGE)
            for one in page:
                if self._name in one.told and one.told[self._name][2] > self._place:
                    found[one.number] = one
            if page:
                after = page[-1].seq, page[-1].number
            if len(page) < _PAGE:
                break
        came = sorted(found.values(), key=lambda one: (one.told[self._name][2], one.number))
        return came, after[0]

    def _outcome(self, one: SignalledRecord) -> Outcome:
        value, at, _ = one.told[self._name]
        value *= self._sign
        if self.lift.reward_range is not None:
            # Declared anew, the signal may have narrower ends than it had.
            value = min(max(value, self.lift.reward_range[0]), self.lift.reward_range[1])
        is_control = one.group == "control"
        share = one.propensity if is_control else 1.0 - one.propensity
        return Outcome(value, is_control, share, int(at // _DAY_S))

    def _described(self) -> list[Any]:
        """What a kept one must be of to go on with it."""
        _, name, sign, ends = self._of
        return [name, sign, list(ends) if isinstance(ends, tuple) else None]

    def _put(self, seq: int, lift: Lift) -> None:
        self._place, self.lift, self._n_kept = seq, lift, lift.total.n


def _ends(signal: Signal, sign: float) -> Ends | None:
    """The ends of a signal, turned if need be; None unless it has both."""
    if signal.low is None or signal.high is None:
        return None
    low, high = sorted((sign * float(signal.low), sign * float(signal.high)))
    return low, high


def _times(sign: float, value: float | None) -> float | None:
    return None if value is None else sign * value
