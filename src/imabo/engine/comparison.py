"""The comparison of the groups: the lift, kept in step with the store's log."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from imabo.engine.replica import Replica
from imabo.engine.signal_lifts import SignalLift
from imabo.errors import StoreError
from imabo.evaluation import FeedbackBalance, Guardrail, Lift, Mark, Outcome
from imabo.stores.base import KeptLift, OutcomeRecord
from imabo.stores.history import ALL, Taken

_PAGE: Final = 1000
_KEPT_EVERY: Final = (256, 4096)  # outcomes after which it is kept in the store, at least, at most
_KEPT_SHARE: Final = 16  # ... and in between, this part of all
DAY_S: Final = 86_400


class Comparison:
    """What the rewards of both groups say, read from the log as it grows.

    A pure function of the log. The store keeps it now and then, so that a study which is opened
    reads few rewards, and ``Study.prune`` may delete them.
    """

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._place = (0, 0, 0)
        self._n_kept = 0
        self._signal = SignalLift(replica)
        self.lift = Lift(replica.record.reward_range)
        self.balance = FeedbackBalance()

    def caught_up(self, *, may_keep: bool = True) -> Lift:
        """The lift with all rewards that the store has; ``may_keep``: it may be written down."""
        replica = self._replica
        start = None if replica.rollout is None else replica.rollout.start
        if start is None:
            return Lift(replica.record.reward_range)
        if self._place[0] != start.seq:
            self._put((start.seq, start.seq, 0), None)
        name, store = replica.record.name, replica.store
        while True:
            page = store.outcomes(name, after=self._place[1:], limit=_PAGE)
            # Somebody else may have taken in more, and deleted it since: then this page has gaps.
            kept = store.kept_lift(name, after=self._place)
            if kept is not None and kept.since == start.seq:
                self._put(kept.place, kept)
                continue
            self._take(page, start.pull)
            if len(page) < _PAGE:
                break
        least, most = _KEPT_EVERY
        n = self.lift.total.n
        if may_keep and n - self._n_kept >= min(max(least, n // _KEPT_SHARE), most):
            with suppress(StoreError):  # it is made again from the log
                self.keep()
        return self.lift

    @property
    def taken(self) -> Taken:
        """Up to where ``keep_all`` has all of the log; all of it where there is no control now."""
        rollout = self._replica.rollout
        if rollout is None or rollout.start is None:
            return ALL
        guardrail = rollout.guardrail
        if guardrail is None or guardrail.signal is None:
            return Taken(*self._place[1:])
        return Taken(*self._place[1:], self._signal.taken)

    def keep(self) -> None:
        """Write it down in the store; nothing where there never was a control."""
        since, seq, number = self._place
        if not since:
            return
        document = {
            "head": self.lift.head(),
            "past": self.lift.past(),
            "balance": self.balance.to_dict(),
        }
        record = self._replica.record
        lift = KeptLift(since, seq, number, document)
        self._replica.store.keep_lift(record.name, lift, token=record.token)
        self._n_kept = self.lift.total.n

    def watched(self, guardrail: Guardrail | None, *, may_keep: bool = True) -> Lift:
        """The lift that a guardrail judges: of the reward, or of its signal; lower is worse."""
        if guardrail is None or guardrail.signal is None:
            return self.caught_up(may_keep=may_keep)
        return self._signal.caught_up(guardrail, may_keep=may_keep)

    def keep_all(self) -> None:
        """Take in all that the store has, and write it down: then pulls may be deleted."""
        rollout = self._replica.rollout
        self.caught_up(may_keep=False)
        self.keep()
        if rollout is not None and rollout.guardrail is not None and rollout.guardrail.signal:
            self.watched(rollout.guardrail, may_keep=False)
            self._signal.keep()

    def alarm(self, *, may_keep: bool = True) -> dict[str, Any] | None:
        """What the guardrail found, when it must be rolled back; None while all is well."""
        rollout = self._replica.rollout
        if rollout is None or rollout.guardrail is None or rollout.state != "tuning":
            return None
        guardrail = rollout.guardrail
        lift = self.watched(guardrail, may_keep=may_keep)
        since = None if rollout.mark is None else Mark.from_dict(rollout.mark)
        verdict = guardrail.check(lift, since)
        if not verdict.is_worse:
            return None
        found = lift.since(since)
        if guardrail.signal is not None:
            unit = self._replica.signals[guardrail.signal].unit
            beyond = f"{guardrail.margin:g}{unit and ' '}{unit}"
            reason = f"{guardrail.signal} is {guardrail.worse} than the control's by more than "
            told = {"by": "guardrail", "reason": reason + beyond, "margin": guardrail.margin}
            watched = {"signal": guardrail.signal, "worse": guardrail.worse}
            return told | watched | self._signal.shown(found)
        return {
            "by": "guardrail",
            "reason": f"worse than the control by more than {guardrail.margin:g}",
            "margin": guardrail.margin,
            "lift": found.absolute,
            "interval": found.interval,
            "tuned_mean": found.tuned_mean,
            "control_mean": found.control_mean,
            "n_tuned": found.n_tuned,
            "n_control": found.n_control,
        }

    def _take(self, page: list[OutcomeRecord], after_pull: int) -> None:
        if not page:
            return
        # Pulls from before served another control, though their rewards come now.
        outcomes = [outcome_of(one) for one in page if one.number > after_pull]
        self.lift = self.lift.update(outcomes)
        self.balance = self.balance.update(outcomes)
        self._place = self._place[0], page[-1].seq, page[-1].number

    def _put(self, place: tuple[int, int, int], kept: KeptLift | None) -> None:
        ends = self._replica.record.reward_range
        self._place = place
        self.lift, self.balance = Lift(ends), FeedbackBalance()
        if kept is not None:
            document = kept.document
            self.lift = Lift.restore(ends, document["head"], document["past"])
            self.balance = FeedbackBalance.from_dict(document["balance"])
        self._n_kept = self.lift.total.n


def outcome_of(record: OutcomeRecord) -> Outcome:
    """A reward of the log, as the lift takes it."""
    is_control = record.group == "control"
    share = record.propensity if is_control else 1.0 - record.propensity
    return Outcome(record.reward, is_control, share, int(record.at // DAY_S))
