"""Changes by hand: of the space, of an arm's state, of arms that are added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from imabo.arms import Arm, ArmState, Restart
from imabo.checks import valid_configs
from imabo.control import Rollout, check_watched
from imabo.drift import Drift, find_drift, forget
from imabo.engine.replica import Replica
from imabo.engine.rollouts import check_allowed, declared_rollout, rollout_of, settings_of
from imabo.errors import InvalidSetting, UnknownArm
from imabo.objective import check_prices, objective_document
from imabo.oracles.base import Proposal
from imabo.space import Space
from imabo.space.difference import space_difference
from imabo.stores.base import (
    ArmRecord,
    Change,
    NewArm,
    Settings,
    Snapshot,
    StaleView,
    StudyRecord,
)
from imabo.stores.records import SPARE
from imabo.stores.signalling import kept_banks

_LARGEST: Final = 2**63  # beyond the ids of arms


class Changes:
    """Makes the changes that somebody wants, not the policy."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica

    def update(
        self,
        space: Space | None = None,
        settings: Mapping[str, Any] | None = None,
        *,
        declared: Mapping[str, Any] | None = None,
        rollout: Mapping[str, Any] | None = None,
    ) -> None:
        """Move on to another space or other settings, in one transaction.

        A space retires arms and brings back others as it allows. Settings are those that
        ``stores.base.Settings`` has, as JSON; the others stay. ``rollout`` is what was declared of
        the control.
        """
        self._replica.retrying(
            lambda now: self.apply(now, space, settings or {}, declared, rollout)
        )
        self._replica.refresh()

    def apply(
        self,
        now: float,
        space: Space | None,
        settings: Mapping[str, Any],
        declared: Mapping[str, Any] | None = None,
        rollout: Mapping[str, Any] | None = None,
    ) -> None:
        """``update`` once, at a time; a declaration is kept even when it changes nothing."""
        replica = self._replica
        snapshot = replica.store.load(replica.record.name)
        settings, rolled, arms = self.checked(snapshot, now, space, settings, rollout)
        before, after = _changed(snapshot.study, settings)
        if "reward_range" in after and snapshot.totals.n_rewards:
            raise _fixed_range(after["reward_range"], snapshot.totals.n_rewards)
        wanted = snapshot.space if space is None else space.to_dict()
        data: dict[str, Any] = {"before": before, "after": after} if after else {}
        if declared is not None:
            data = {"before": {}, "after": {}, "declared": True} | data
        kept = _merged(snapshot.study, after) if after else None
        banks = None
        if kept is not None and "objective" in after:
            banks = kept_banks(snapshot.study.objective, kept.objective, snapshot.banks)
        told: dict[str, Any] = {"settings": kept, "declared": declared, "banks": banks}
        part: dict[str, Any] = {}
        if rollout is not None:
            current = rollout_of(snapshot)
            # Also where it stays as it is: what was declared must be known when an older one comes.
            part = {"rollout": {"before": settings_of(current), "after": settings_of(rolled)}}
            if rolled != current:
                told |= {"rollout": rolled.document(), "arms": arms}
        if space is None or wanted == snapshot.space:
            if not after and "rollout" in told:
                data = settings_of(rolled) | {"declared": True}
                replica.change(Change("control", data, **told), now, snapshot.seq)
            elif data:
                replica.change(Change("settings", data | part, **told), now, snapshot.seq)
            return
        states = states_under(space, snapshot.arms)
        n_arms = sum(states.get(arm.id, (arm.state, None))[0] != "retired" for arm in snapshot.arms)
        totals = snapshot.totals
        restart = Restart(totals.n_pulls, totals.n_rewards, totals.n_pending, n_arms)
        difference = space_difference(snapshot.space, wanted)
        data = {"space": wanted, "difference": difference, **({} if not after else data), **part}
        data |= {"declared": True} if declared is not None else {}
        change = Change("space", data, states, space=wanted, restart=restart, **told)
        replica.change(change, now, snapshot.seq)

    def checked(
        self,
        snapshot: Snapshot,
        now: float,
        space: Space | None,
        settings: Mapping[str, Any],
        rollout: Mapping[str, Any] | None,
    ) -> tuple[Mapping[str, Any], Rollout, list[NewArm]]:
        """What a change leaves: its settings, the rollout and its new arms; or the refusal.

        All of it is judged together: a new space with the control that comes with it.
        """
        target = Space.from_dict(snapshot.space) if space is None else space
        rolled, arms = rollout_of(snapshot), list[NewArm]()
        if rollout is not None:
            if snapshot.seq != self._replica.seq:
                raise StaleView
            rolled, arms = declared_rollout(self._replica, snapshot, target, rollout, now)
        if space is not None:
            check_allowed(rolled, space)
        signals = settings.get("signals", snapshot.study.signals)
        if rollout is not None or signals != snapshot.study.signals:
            check_watched(rolled.guardrail, signals or {})
        return _fitting(snapshot.study, settings, target), rolled, arms

    def add_arm(self, config: Mapping[str, object]) -> int:
        """Admit a configuration by hand, or make it active again; returns the arm's id."""
        return self._replica.retrying(lambda now: self._add_arm(config, now))

    def _add_arm(self, config: Mapping[str, object], now: float) -> int:
        view = self._replica.view
        valid = view.space.validate(config)
        row = view.row_of_config(valid)
        if row is not None:
            known = int(view.ids[row])
            self._put_state(known, "active", now)
            return known
        new = self._replica.new_arm(Proposal(valid, origin="manual"), now)
        self._replica.change(Change("arm", {"arm": new.id, "config": valid}, arms=[new]), now)
        return new.id

    def add_arms(self, configs: Sequence[Mapping[str, object]]) -> list[int]:
        """``add_arm`` for each of several, in one change; returns the arms' ids in their order."""
        return self._replica.retrying(lambda now: self._add_arms(configs, now))

    def _add_arms(self, configs: Sequence[Mapping[str, object]], now: float) -> list[int]:
        replica, view = self._replica, self._replica.view
        new: dict[str, NewArm] = {}
        resumed: dict[int, None] = {}  # in order
        ids = []
        for valid in valid_configs(view.space, configs):
            row, identity = view.row_of_config(valid), view.space.identity(valid)
            if row is not None:
                ids.append(int(view.ids[row]))
                if view.state_of(row) != "active":
                    resumed[ids[-1]] = None
                continue
            if identity not in new:
                proposal = Proposal(valid, origin="manual")
                new[identity] = replica.new_arm(proposal, now, further=len(new))
            ids.append(new[identity].id)
        if new or resumed:
            arms = list(new.values())
            data = {
                "first": arms[0].id if arms else None,
                "last": arms[-1].id if arms else None,
                "resumed": list(resumed),
            }
            back: tuple[ArmState, None] = ("active", None)
            states = dict.fromkeys(resumed, back)
            replica.change(Change("arms", data, states, arms=arms), now)
        return ids

    def arm(self, arm_id: object) -> ArmRecord:
        """An arm as the store has it."""
        replica = self._replica
        # What no arm can have is not looked for: a database may not have such numbers.
        if type(arm_id) is int and 0 < arm_id < _LARGEST:
            for record in replica.store.arms(replica.record.name, [arm_id]):
                return record
        replica.refresh()
        n, name = replica.n_arms, replica.record.name
        why = f"study {name!r} has arms 1 to {n}" if n else "there is no arm yet"
        raise UnknownArm(f"no arm has the id {arm_id!r}", why, "take the id from study.arms()")

    def change_state(self, arm: Arm | int, state: ArmState) -> ArmRecord:
        """Set the state of an arm that is not retired; returns it as it is then."""
        current = self.arm(arm.id if isinstance(arm, Arm) else arm)
        if current.state == "retired" and state != "retired":
            why = "retiring is for good, or the space no longer allows the arm"
            fix = "use add_arm(config) to serve this configuration again"
            raise InvalidSetting(f"arm {current.id} is retired", why, fix)
        self._replica.retrying(lambda now: self._put_state(current.id, state, now))
        return self.arm(current.id)

    def follow_state(self, arm: int, state: ArmState) -> None:
        """Set the state of an arm as a log says, which older versions did to a control, too."""
        self._replica.retrying(lambda now: self._put_state(arm, state, now, is_logged=True))

    def _put_state(self, arm: int, state: ArmState, now: float, *, is_logged: bool = False) -> None:
        view = self._replica.view
        row = view.row_of(arm)
        if row is None and state != "retired":
            return  # the space does not allow the arm, so it stays out of service
        current = self._lasting_state(arm) if row is None else view.state_of(row)
        is_spare = row is not None and view.is_spare(row)  # to be given up for good
        if current is None or (current == state and not is_spare):
            return
        if not is_logged and state != "active":
            self._check_no_control(arm, state)
        change = Change("state", {"arm": arm, "state": state}, {arm: (state, None)})
        self._replica.change(change, now)

    def _check_no_control(self, arm: int, state: ArmState) -> None:
        """Refuse to take the control's arm out of service: it would go on being served."""
        rollout, view = self._replica.rollout, self._replica.view
        back = None if rollout is None or rollout.replaced is None else rollout.replaced.control
        row = None if back is None or back.config is None else view.row_of_config(dict(back.config))
        if rollout is None or (rollout.arm != arm and (row is None or view.ids[row] != arm)):
            return
        why = "a share of the requests is served with it, whatever its state"
        if rollout.arm != arm:
            why = "resume() serves it again after this roll-back, whatever its state"
        raise InvalidSetting(
            f"arm {arm} is the control and cannot be {state}",
            why,
            "set another control first with update_control(Control({...})), or end it with "
            "update_control(None) (imabo control STUDY --end)",
        )

    def note_drift(self, drift: Drift | None = None) -> Drift | None:
        """Forget what a change made untrue, and keep it in the log.

        Without ``drift`` it is looked for; what there is by then, which may be None, is returned.
        """
        return self._replica.retrying(lambda now: self._note_drift(drift, now))

    def _note_drift(self, drift: Drift | None, now: float) -> Drift | None:
        view = self._replica.view
        drift = drift or find_drift(view)
        if drift is not None:
            memory = forget(view, drift, now)
            document = memory.document(view.ids.tolist())
            self._replica.change(Change("drift", drift.data(), memory=document), now)
            view.put_memory(memory)
        return drift

    def _lasting_state(self, arm: int) -> ArmState | None:
        """What an arm that the space does not allow goes back to when it is allowed again."""
        replica = self._replica
        for known in replica.store.load(replica.record.name).arms:
            if known.id == arm:
                return known.retired_from or known.state
        return None


def _changed(
    record: StudyRecord, settings: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Those of some settings that the study has otherwise: as they were, and as they will be."""
    ends = record.reward_range
    now = {
        "reward_range": None if ends is None else list(ends),
        "window_s": record.window_s,
        "revision": record.revision,
        "signals": record.signals,
        "objective": record.objective,
    }
    after = {name: value for name, value in settings.items() if now[name] != value}
    return {name: now[name] for name in after}, after


def _merged(record: StudyRecord, after: Mapping[str, Any]) -> Settings:
    ends = after.get("reward_range", record.reward_range)
    return Settings(
        reward_range=None if ends is None else (ends[0], ends[1]),
        window_s=after.get("window_s", record.window_s),
        revision=after.get("revision", record.revision),
        signals=after.get("signals", record.signals),
        objective=after.get("objective", record.objective),
    )


def _fitting(record: StudyRecord, settings: Mapping[str, Any], space: Space) -> Mapping[str, Any]:
    """The settings, with signals and an objective that fit each other and the space."""
    signals = settings.get("signals", record.signals)
    check_prices(signals, space)
    objective = objective_document(settings.get("objective", record.objective), signals)
    return {**settings, "objective": objective} if "objective" in settings else settings


def _fixed_range(ends: object, n_rewards: int) -> InvalidSetting:
    why = (
        f"the study has {n_rewards} rewards, and what it learned from them is on the scale of "
        "the range that it has"
    )
    fix = "map rewards into that range, or start another study with the new range"
    return InvalidSetting(f"reward_range cannot become {ends!r}", why, fix)


def states_under(
    space: Space, arms: Sequence[ArmRecord]
) -> dict[int, tuple[ArmState, ArmState | None]]:
    """The states of the arms that another space would change (see ``Change.states``).

    Arms that it does not allow are retired, and arms that an earlier space retired come back.
    """
    states: dict[int, tuple[ArmState, ArmState | None]] = {}
    for arm in arms:
        allowed = space.allows(arm.config)
        if arm.state != "retired" and not allowed:
            states[arm.id] = ("retired", arm.state)
        elif arm.retired_from is not None and allowed and (arm.state, arm.retired_from) != SPARE:
            states[arm.id] = (arm.retired_from, None)
    return states
