"""The part of a study that compares it with a control; ``Study`` has these methods."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Final, overload

from imabo.arms import Arm
from imabo.checks import checked_moment
from imabo.control import Control, Rollout, State
from imabo.engine.rollouts import SAME, Same, no_control
from imabo.errors import InvalidSetting
from imabo.evaluation import Guardrail
from imabo.events import log_event
from imabo.lifting import LiftReport, report_of
from imabo.settings import check_count, check_fraction
from imabo.study_changes import StudyChanges

_LONGEST_REASON = 500
_log: Final = logging.getLogger(__name__)


class Compared(StudyChanges):
    """See ``Study``."""

    def prune(self, before: datetime) -> int:
        """Forget finished pulls that were served before a time; returns how many.

        What they taught stays (arms, counts, means, ``best``, ``lift``). The history and the export
        no longer have them, a later reward is ``UnknownPull``, and their keys may be used again.
        """
        moment, n = checked_moment(before), 0
        while pruned := self.prune_some(moment):
            n += pruned
        return n

    def prune_some(self, before: float, limit: int = 10_000) -> int:
        """``prune``, for at most ``limit`` pulls and a time in seconds: for services."""
        with self._lock:
            engine = self._live()
            replica, comparison = engine.replica, engine.comparison
            if replica.rollout_seq:  # the lift must have what goes
                replica.refresh()
                comparison.keep_all()
            store, name, taken = replica.store, replica.record.name, comparison.taken
        return store.prune(name, before=before, limit=limit, taken=taken)

    def update_control(
        self,
        control: Control | Same | None = SAME,
        *,
        exposure: float | Same = SAME,
        guardrail: Guardrail | Same | None = SAME,
    ) -> None:
        """Set, change or end the control, the exposure and the guardrail; what is left out stays.

        Another configuration of the control begins another comparison, and its own lift. Another
        share, exposure or guardrail does not. ``update_control(None)`` ends the control, and with
        it the exposure and the guardrail.

        Args:
            control: What a share of the requests gets; None ends it.
            exposure: Share of the requests that may be tuned, in [0, 1]; the rest gets the control,
                and so does the control's share of these: exposure * (1 - share) of all are tuned.
            guardrail: When to roll back by itself; None is never.

        Example:
            >>> from imabo import Control, Float, Space, Study
            >>> study = Study.create("careful", Space(x=Float(0, 1)), seed=0)
            >>> study.update_control(Control({"x": 0.5}), exposure=0.1)
            >>> round(study.rollout.chance, 3)  # how likely a request is to get the control
            0.905
            >>> study.update_control(exposure=1.0)
            >>> study.rollout.chance
            0.05
        """
        with self._lock:
            self._live().rollouts.update(control, exposure, guardrail)

    def lift(self, level: float = 0.95, last: int = 1000) -> LiftReport:
        """How much better the tuned requests are than the control's, with an interval.

        The interval holds at every moment together, however the study chooses, as long as it does
        not depend on the group or on the reward whether a reward comes in (docs/evaluation.md).
        Without a control it is ``NoControl``.

        Args:
            level: Coverage, in (0, 1).
            last: Rewards that ``report.last`` is about, at least 1.

        Example:
            >>> from imabo import Choice, Control, Space, Study
            >>> space = Space(model=Choice("small", "large"))
            >>> today = Control({"model": "small"}, share=0.3)
            >>> study = Study.create("which", space, control=today, seed=0)
            >>> for pull in study.ask(count=2000):
            ...     study.tell(pull.id, 0.9 if pull.config["model"] == "large" else 0.6)
            >>> lift = study.lift()
            >>> round(lift.control_mean, 3), lift.interval[0] > 0.0
            (0.6, True)
        """
        check_fraction("level", level)
        check_count("last", last, least=1)
        with self._lock:
            engine = self._live()
            engine.replica.refresh()
            record, rollout = engine.replica.record, engine.replica.rollout
            if rollout is None or rollout.control is None:
                raise no_control(record.name, "there is nothing to compare it with")
            lift = engine.comparison.caught_up()
            now = engine.replica.store.load(record.name, since=engine.replica.seq)
            served = now.n_tuned, now.n_control
            balance = engine.comparison.balance
            return report_of(lift, balance, rollout, served, level=level, last=last)

    def lift_unless_busy(self) -> LiftReport | None:
        """``lift``, or None while a request holds the study: for those who must not wait."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            return self.lift()
        finally:
            self._lock.release()

    def roll_back(
        self, config: Mapping[str, object] | None = None, *, reason: str | None = None
    ) -> None:
        """Serve the control to everyone, until ``resume``; the kill switch.

        In all processes: no pull that is committed after this one returns is of anything else. What
        was learned stays, and rewards still teach. Doing it again changes nothing.

        Args:
            config: What to serve, where the study has no control or another one should be served.
                Without a control it is needed. ``resume`` brings back the control that there was,
                or none; the comparison with it begins anew.
            reason: Why, for those who read the events; at most 500 characters.

        Example:
            >>> from imabo import Float, Space, Study
            >>> study = Study.create("at-3-am", Space(x=Float(0, 1)), seed=0)
            >>> study.roll_back({"x": 0.5}, reason="complaints")
            >>> study.state, {pull.config["x"] for pull in study.ask(count=50)}
            ('rolled back', {0.5})
            >>> study.resume()
            >>> study.state, study.rollout.control
            ('tuning', None)
        """
        data = {"by": "hand", "reason": checked_reason(reason)}
        with self._lock:
            event = self._live().rollouts.roll_back(config, data)
        if event is not None:
            log_event(_log, self._engine.replica.record.name, event)

    @overload
    def resume(self) -> None: ...
    @overload
    def resume(self, arm: Arm | int) -> Arm: ...
    def resume(self, arm: Arm | int | Same = SAME) -> Arm | None:
        """Serve a paused arm again; without an arm, go on tuning after the study was rolled back.

        The guardrail then judges the rewards that come in from now on. The control is that from
        before the roll-back, also where ``roll_back(config)`` served another one meanwhile, unless
        ``update_control`` set one since.
        """
        if not isinstance(arm, Same):
            return self._put_state(arm, "active")
        with self._lock:
            event = self._live().rollouts.resume()
        if event is not None:
            log_event(_log, self._engine.replica.record.name, event)
        return None

    def random_rewards(self) -> tuple[int, float, float]:
        """Rewards of a random control of the present space: how many, their sum, their squares'.

        On the unit scale where rewards have a range; (0, 0.0, 0.0) without such a control. Nothing
        selected them, so they tell what serving at random gives.
        """
        with self._lock:
            engine = self._live()
            replica, rollout = engine.replica, self.rollout
            control, start = rollout.control, rollout.start
            if control is None or start is None or not control.is_random:
                return 0, 0.0, 0.0
            if start.pull < replica.view.restart.n_pulls:  # of another space, at first
                return 0, 0.0, 0.0
            return engine.comparison.caught_up().total.of_control()

    @property
    def n_rollbacks(self) -> int:
        """How often the guardrail rolled the study back in this object; ``events`` has them all."""
        return self._engine.rewards.n_rollbacks

    @property
    def state(self) -> State:
        """``tuning``, or ``rolled back``: then the control is served to everyone."""
        return self.rollout.state

    @property
    def rollout(self) -> Rollout:
        """Who gets the control: it, its share, the exposure, the guardrail and the state."""
        return self._engine.replica.rollout or Rollout()  # as other facts: without waiting


def checked_reason(reason: object) -> str | None:
    """Why a study is rolled back."""
    if reason is None or (isinstance(reason, str) and len(reason) <= _LONGEST_REASON):
        return reason
    why = f"it must be text of at most {_LONGEST_REASON} characters"
    raise InvalidSetting(f"reason is {reason!r:.200}", why, "make it shorter")
