"""What comes after a pull: its reward, what that says of the world, or the end of its window."""

from __future__ import annotations

import logging
import math
import numbers
import re
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from imabo.drift import find_drift
from imabo.engine.asks import Asks
from imabo.engine.changes import Changes
from imabo.engine.feasibility import Feasibility
from imabo.engine.naming import check_any, keyed, number_of_named, unknown_key
from imabo.engine.replica import Replica
from imabo.engine.requests import Reward
from imabo.engine.rollouts import Rollouts
from imabo.errors import (
    ImaboError,
    InvalidReward,
    InvalidSignal,
    RewardConflict,
    StoreError,
    UnknownPull,
)
from imabo.events import Event, drift_event, log_event
from imabo.magnitude import LARGEST
from imabo.space.scalars import show
from imabo.spelling import closest
from imabo.stores.base import PullRecord, Report, Reported, Rewarded

_log: Final = logging.getLogger(__name__)

_LOOKS: Final = 8  # rewards between two looks for a change ...
_ARMS_PER_REWARD: Final = 8  # ... or more, where there are so many times more arms
_JUDGED: Final = 16  # reports between two looks at whether anything is within the budgets
_GUARDED: Final = 16  # rewards, or values of its signal, between two looks of the guardrail


class Rewards:
    """Has the replica record rewards and expire pulls, and looks for changes of the world.

    Args:
        replica: The study.
        asks: They say whether the view must be the newest, and whether changes matter.
        changes: Where a change that is noticed goes.
        rollouts: Where the guardrail looks, and rolls back.
        feasibility: Where it is noticed that nothing is within the budgets.

    Attributes:
        is_watching: Whether changes are looked for; a replay follows its log instead.
        n_drifts: Changes that were noticed here; another process counts its own.
        n_rollbacks: Times that the guardrail rolled the study back, so with these.
    """

    def __init__(
        self,
        replica: Replica,
        asks: Asks,
        changes: Changes,
        rollouts: Rollouts,
        feasibility: Feasibility,
    ) -> None:
        self._rollouts = rollouts
        self._feasibility = feasibility
        self._n_reports = 0  # of a study with an objective, here
        self._n_signalled = 0  # values of a signal that a guardrail watches, told here
        self.n_rollbacks = 0
        self._replica = replica
        self._asks = asks
        self._changes = changes
        self.is_watching = True
        self.n_drifts = 0

    def tell_many(self, rewards: Sequence[tuple[str, float] | Reward]) -> list[ImaboError | None]:
        """Check rewards and record them; see ``Study.tell_many``."""
        replica, ends = self._replica, self._replica.record.reward_range
        answers: list[ImaboError | None] = [None] * len(rewards)
        places: list[int] = []
        checked: list[tuple[int, float]] = []
        reports: list[tuple[int, Report]] = []  # those with signals, with their places
        named = [one for one in rewards if isinstance(one, Reward) and one.key is not None]
        known = keyed(replica, named) if named else {}
        for place, one in enumerate(rewards):
            try:
                if isinstance(one, Reward):
                    if one.signals is not None:
                        reports.append((place, self._report(one, known)))
                        continue
                    value = checked_reward(one.reward, ends)
                    number = number_of_named(replica, one.pull_id, one.key, one.part, known)
                else:
                    value, number = checked_reward(one[1], ends), replica.number(one[0])
                checked.append((number, value))
                places.append(place)
            except ImaboError as error:
                answers[place] = _first(error, one)
        done: Sequence[Rewarded | Reported | ImaboError | None]
        if reports:
            reports += [(place, Report(*pair)) for place, pair in zip(places, checked, strict=True)]
            places = [place for place, _ in reports]
            done = self.report_many([report for _, report in reports])
        else:
            done = self.reward_many(checked) if checked else []
        for place, did in zip(places, done, strict=True):
            if did is None:
                answers[place] = self._unknown(rewards[place])
            elif isinstance(did, ImaboError):
                answers[place] = _named(did, rewards[place])
        return answers

    def report(self, pull_id: object, reward: object, signals: object) -> None:
        """What ``Study.tell`` is mostly called with when it has signals; raises what refuses it."""
        replica = self._replica
        check_any(pull_id, None)
        found = checked_values(signals, replica)
        value = None
        if reward is not None or not found:
            value = checked_reward(reward, replica.record.reward_range)
        (did,) = self.report_many([Report(replica.number(pull_id), value, found)])
        if not isinstance(did, Reported):
            raise replica.unknown_pull(pull_id) if did is None else did

    def _report(self, one: Reward, known: Mapping[str, Sequence[PullRecord]]) -> Report:
        """A report with signals, checked."""
        replica = self._replica
        signals = checked_values(one.signals, replica)
        reward = None
        if one.reward is not None or not signals:
            reward = checked_reward(one.reward, replica.record.reward_range)
        return Report(
            number_of_named(replica, one.pull_id, one.key, one.part, known), reward, signals
        )

    def report_many(self, reports: Sequence[Report]) -> Sequence[Reported | ImaboError | None]:
        """Record rewards and signals; None stands for a pull that there is not."""
        may_lag = self._asks.proposer is not None
        done, n_fresh = self._replica.report(reports, may_lag=may_lag)
        self._look(n_fresh, done)
        return done

    def _unknown(self, one: tuple[str, float] | Reward) -> ImaboError:
        """The refusal of a pull that there is not, or not any more."""
        if not isinstance(one, Reward):
            return self._replica.unknown_pull(one[0])
        if one.key is None:
            return self._replica.unknown_pull(one.pull_id)
        return unknown_key(self._replica.record.name, one.key)

    def reward_many(
        self, rewards: Sequence[tuple[int, float]]
    ) -> list[Rewarded | RewardConflict | None]:
        """Record rewards; None stands for a pull that there is not."""
        may_lag = self._asks.proposer is not None
        done, n_fresh = self._replica.reward(rewards, may_lag=may_lag)
        self._look(n_fresh, ())
        return done

    def _look(self, n_fresh: int, reported: Sequence[Reported | ImaboError | None]) -> None:
        """See what new rewards and signals say of the world, and of the tuned side."""
        if not self.is_watching:
            return
        if n_fresh and self._asks.watches:
            self._watch(n_fresh)
        if self._replica.view.spending is not None or self._feasibility.is_said:
            self._n_reports += 1
            if self._n_reports % _JUDGED == 0:
                self._judge()
        rollout = self._replica.rollout
        if rollout is None or rollout.guardrail is None:
            return
        n, name = self._replica.view.totals.n_rewards, rollout.guardrail.signal
        if name is not None:
            n_fresh = sum(isinstance(one, Reported) and name in one.fresh for one in reported)
            n = self._n_signalled = self._n_signalled + n_fresh
        if (n - n_fresh) // _GUARDED != n // _GUARDED:
            self._guard()

    def _judge(self) -> None:
        """Say when nothing is within the budgets any more, or something is again."""
        try:
            event = self._feasibility.look()
        except StoreError:
            return  # as with a drift: the next look finds it again
        if event is not None:
            self._tell_of(event)

    def _guard(self) -> None:
        """Ask the guardrail."""
        try:
            event = self._rollouts.guard() if self._rollouts.alarm() else None
        except StoreError:
            return  # as with a drift: the next look finds it again
        if event is not None:
            self.n_rollbacks += 1
            self._tell_of(event)

    def _watch(self, n_fresh: int) -> None:
        """Look for a change, now and then."""
        view = self._replica.view
        n, every = view.totals.n_rewards, max(_LOOKS, len(view) // _ARMS_PER_REWARD)
        if (n - n_fresh) // every != n // every and find_drift(view) is not None:
            try:
                drift = self._changes.note_drift()
            except StoreError:
                # The rewards are recorded. The change is found again at the next look.
                return
            if drift is not None:
                self.n_drifts += 1
                record, at = self._replica.record, self._replica.last_at
                self._tell_of(drift_event(record, at, drift.data()))

    def _tell_of(self, event: Event) -> None:
        log_event(_log, self._replica.record.name, event)

    def expire_due(self) -> None:
        """Expire what was past its window at the last tick, when there may be something."""
        replica = self._replica
        if replica.record.window_s is not None:
            now = replica.now()
            # A clock that was set back: what is served from now on is due before what waits.
            if now >= replica.expiry.due_at or now < replica.last_at:
                replica.refresh()  # another process may have changed the window
                if replica.record.window_s is not None:
                    replica.expire(replica.expiry.limit(now))


def _first(error: ImaboError, one: tuple[str, float] | Reward) -> ImaboError:
    """What to say of a reward that is refused: that it names no pull comes before all else."""
    pull_id, key = (one.pull_id, one.key) if isinstance(one, Reward) else (one[0], None)
    try:
        check_any(pull_id, key)
    except UnknownPull as missing:
        return missing
    return error


def _named(error: ImaboError, one: tuple[str, float] | Reward) -> ImaboError:
    """A store's refusal, which knows the pull by its number, with the name that the caller has."""
    pull_id, key = (one.pull_id, one.key) if isinstance(one, Reward) else (one[0], None)
    name = f"pull {pull_id}" if key is None else f"the pull with the key {show(key)}"
    what = re.sub(r"^pull number \d+", lambda _: name, error.what)
    return type(error)(what, error.why, error.fix)


def checked_values(values: object, replica: Replica) -> dict[str, float]:
    """Signals of a pull, by names that the study declared and with values that it takes."""
    declared, found = replica.signals, {}
    if not isinstance(values, Mapping):
        why, fix = "it must be a dict of numbers by name", 'pass signals={"cost": 0.0004}, say'
        raise InvalidSignal(f"signals is {show(values)}", why, fix)
    for name, value in values.items():
        if name not in declared:
            known = ", ".join(map(repr, declared)) or "none"
            close = closest(name, declared)
            fix = f"declare it: signals={{{name!r}: Signal(low=0.0)}}"
            raise InvalidSignal(
                f"no signal is named {show(name)}",
                f"study {replica.record.name!r} has declared {known}",
                fix if close is None else f"write {close!r}, if you meant that one, or {fix}",
            )
        found[name] = declared[name].checked(name, value)
    return found


def thumb(value: object) -> object:
    """True and False as the rewards that they are; everything else as it is."""
    return float(value) if isinstance(value, bool) else value


def checked_reward(reward: object, ends: tuple[float, float] | None) -> float:
    """A reward: a finite number within the ends, and small enough to work with; True is 1.0."""
    if isinstance(reward, numbers.Real | np.bool_):
        try:
            value = float(reward)
        except OverflowError:  # an integer beyond the largest float
            value = math.inf
        if math.isfinite(value) and (ends is None or ends[0] <= value <= ends[1]):
            if abs(value) > LARGEST:
                why = f"it must be at most {LARGEST:g} from zero: sums of squares must be numbers"
                fix = "report the rewards in a larger unit, or leave the pull without a reward"
                raise InvalidReward(f"the reward is {show(reward)}", why, fix)
            return value
    limits = "" if ends is None else f" from {ends[0]} to {ends[1]}, the study's reward range"
    why = f"it must be a finite number{limits}"
    fix = "map it into the range before telling it, or leave the pull without a reward"
    raise InvalidReward(f"the reward is {show(reward)}", why, fix)
