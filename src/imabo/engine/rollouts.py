"""Who gets the control: setting it, changing it, rolling back and going on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from imabo.control import Control, Replaced, Rollout, Start, check_watched, with_settings
from imabo.engine.comparison import Comparison
from imabo.engine.replica import Replica
from imabo.errors import ImaboError, InvalidSetting, NoControl
from imabo.evaluation import Guardrail
from imabo.events import Event, rollout_event
from imabo.settings import unfit
from imabo.space import Config, Space
from imabo.space.scalars import show
from imabo.stores.base import Change, NewArm, Snapshot, StaleView


class Same:
    """What an argument is that says: leave it as it is."""

    def __repr__(self) -> str:
        return "(as it is)"


SAME = Same()


class Rollouts:
    """Makes the changes of the rollout, by hand or because the guardrail says so."""

    def __init__(self, replica: Replica, comparison: Comparison) -> None:
        self._replica = replica
        self._comparison = comparison

    def update(self, control: object, exposure: object, guardrail: object) -> None:
        """Set, change or end the control; what is ``SAME`` stays."""
        self._replica.retrying(lambda now: self._update(control, exposure, guardrail, now))

    def _update(self, control: object, exposure: object, guardrail: object, now: float) -> None:
        before = self._replica.rollout or Rollout()
        wanted = before.control if isinstance(control, Same) else control
        is_end = wanted is None and before.control is not None
        if is_end and before.state == "rolled back":
            what = f"study {self._replica.record.name!r} is rolled back"
            why = "without a control there is nothing left that it could serve"
            raise InvalidSetting(what, why, "resume it first, and end the control then")
        default: tuple[Any, Any] = (1.0, None) if is_end else (before.exposure, before.guardrail)
        after = with_settings(
            before,
            wanted,
            default[0] if isinstance(exposure, Same) else exposure,
            default[1] if isinstance(guardrail, Same) else guardrail,
        )
        if before.replaced is not None and not (
            isinstance(control, Same) and before.replaced.control is not None
        ):
            # Who sets it while the study is rolled back wants it after that, too; and an exposure
            # or a guardrail is of the control that is served now, where there was none before.
            after = replace(after, replaced=None)
        check_watched(after.guardrail, self._replica.signals)
        after, arms = self._placed(before, after, now)
        if after.mark is not None and _watched(after) != _watched(before):
            # The mark is of what was watched until now: from here on the new one is judged.
            after = replace(after, mark=self._mark(after.guardrail))
        if after != before:
            self._commit("control", settings_of(after), after, arms, now)

    def roll_back(self, config: object, data: dict[str, Any]) -> Event | None:
        """Serve the control to everyone; ``config`` first makes it the control (None: as it is).

        Returns what happened; None where it was so already.
        """
        return self._replica.retrying(lambda now: self._roll_back(config, data, now))

    def _roll_back(self, config: object, data: dict[str, Any], now: float) -> Event | None:
        before = self._replica.rollout or Rollout()
        after, arms = before, list[NewArm]()
        if config is not None:
            valid = checked_config(self._replica.view.space, config)
            control = replace(before.control or Control(valid), config=valid)
            replaced = before.replaced
            if before.control is None or before.control.config != valid:
                replaced = replaced or Replaced(before.control)
            wanted = replace(before, control=control, replaced=replaced)
            after, arms = self._placed(before, wanted, now)
        if after.control is None:
            raise no_control(self._replica.record.name, "there is nothing to roll back to")
        if before.state == "rolled back" and after == before:
            return None
        told = {**data, "control": after.control.to_dict(), "arm": after.arm}
        after = replace(
            after, state="rolled back", changed_at=now, reason=data.get("reason"), mark=None
        )
        self._commit("rolled back", told, after, arms, now)
        return rollout_event("rolled back", now, told)

    def resume(self, *, restores: bool = True) -> Event | None:
        """Go on tuning after a roll-back; the guardrail judges what comes after it.

        What a roll-back to another configuration replaced is back then; not with ``restores``
        false, as in logs of older versions. Returns what happened; None where it was so already.
        """
        return self._replica.retrying(lambda now: self._resume(restores, now))

    def _resume(self, restores: bool, now: float) -> Event | None:
        before = self._replica.rollout
        if before is None or before.state != "rolled back":
            return None
        # What came in until this very change: it is refused if there is more by then.
        mark = self._mark(before.guardrail)
        after = replace(
            before, state="tuning", changed_at=now, reason=None, mark=mark, replaced=None
        )
        data, arms = dict[str, Any](), list[NewArm]()
        if before.replaced is not None and restores:
            control = before.replaced.control
            if control is None:
                after = Rollout(changed_at=now)
            else:
                after, arms = self._placed(before, replace(after, control=control), now)
                after = replace(after, changed_at=now)
            data = {key: settings_of(after)[key] for key in ("control", "arm")}
        self._commit("resumed", data, after, arms, now)
        return rollout_event("resumed", now, data)

    def _mark(self, guardrail: Guardrail | None) -> dict[str, Any] | None:
        mark = self._comparison.watched(guardrail, may_keep=False).mark()
        return None if mark is None else mark.to_dict()

    def alarm(self) -> dict[str, Any] | None:
        """What the guardrail found, when the study must be rolled back."""
        return self._comparison.alarm()

    def guard(self) -> Event | None:
        """Roll back when the guardrail fires; what happened then, else None."""
        return self._replica.retrying(self._guard)

    def _guard(self, now: float) -> Event | None:
        data = self._comparison.alarm(may_keep=False)
        return None if data is None else self._roll_back(None, data, now)

    def _commit(
        self, kind: Any, data: dict[str, Any], after: Rollout, arms: list[NewArm], now: float
    ) -> None:
        change = Change(kind, data, arms=arms, rollout=after.document())
        self._replica.change(change, now)

    def _placed(self, before: Rollout, after: Rollout, now: float) -> tuple[Rollout, list[NewArm]]:
        """A rollout with the arm of its control, and where the comparison with it begins."""
        replica, control = self._replica, after.control
        if control is None:
            none = Rollout(changed_at=before.changed_at)
            return (before if before.control is None else none), []
        view = replica.view

        def arm_of(config: Config) -> int | None:
            row = view.row_of_config(config)
            return None if row is None else int(view.ids[row])

        after, arms = _with_arm(after, view.space, arm_of, replica.n_arms + 1, now)
        if not _is_other(before, after):
            return after, arms
        snapshot = replica.store.load(replica.record.name, since=replica.seq)
        if snapshot.seq != replica.seq:
            raise StaleView
        return _begun(before, after, snapshot, now), arms


def declared_rollout(
    replica: Replica, snapshot: Snapshot, space: Space, part: Mapping[str, Any], now: float
) -> tuple[Rollout, list[NewArm]]:
    """The rollout of a study with what is declared (``control.declared_part``), in its space.

    The state stays. Where somebody rolled back to another configuration than the control, that goes
    on being served, and what is declared comes with ``resume``.
    """
    before = rollout_of(snapshot)
    control, exposure, guardrail = settings_from(part)
    after = with_settings(before, control, exposure, guardrail)
    if before.replaced is not None:
        return replace(after, control=before.control, replaced=Replaced(after.control)), []
    known = {}
    for arm in snapshot.arms:
        with suppress(ImaboError):  # not allowed in this space
            known[space.identity(space.validate(arm.config))] = arm.id
    if before.control is not None and before.arm is not None and not _is_other(before, after):
        known[space.identity(dict(before.control.config or {}))] = before.arm
    n_arms = max((arm.id for arm in snapshot.arms), default=0)
    after, arms = _with_arm(
        after, space, lambda config: known.get(space.identity(config)), n_arms + 1, now
    )
    if _is_other(before, after):
        return _begun(before, after, snapshot, now), arms
    if after.mark is not None and _watched(after) != _watched(before):
        # As in Rollouts.update. Of a signal that is declared just now there is nothing yet.
        signal = None if after.guardrail is None else after.guardrail.signal
        is_new = signal is not None and signal not in replica.signals
        after = replace(after, mark=None if is_new else mark_of(replica, after.guardrail))
    return after, arms


def rollout_of(snapshot: Snapshot) -> Rollout:
    """The rollout of a whole snapshot."""
    return Rollout() if snapshot.rollout is None else Rollout.from_document(snapshot.rollout)


def mark_of(replica: Replica, guardrail: Guardrail | None) -> dict[str, Any] | None:
    """What the lift that a guardrail watches is now, from the log."""
    mark = Comparison(replica).watched(guardrail, may_keep=False).mark()
    return None if mark is None else mark.to_dict()


def _with_arm(
    after: Rollout,
    space: Space,
    arm_of: Callable[[Config], int | None],
    next_arm: int,
    now: float,
) -> tuple[Rollout, list[NewArm]]:
    """A rollout with the arm of its control, which may have to be admitted."""
    control = after.control
    if control is None or control.config is None:
        return replace(after, arm=None), []
    config = checked_config(space, control.config)
    arm, arms = arm_of(config), list[NewArm]()
    if arm is None:
        arm = next_arm
        arms = [NewArm(arm, config, space.identity(config), "control", None, None, now)]
    return replace(after, control=replace(control, config=config), arm=arm), arms


def _is_other(before: Rollout, after: Rollout) -> bool:
    """Whether another comparison begins: with another control, not with another share."""
    if before.control is None or after.control is None:
        return True
    return before.control.config != after.control.config


def _begun(before: Rollout, after: Rollout, snapshot: Snapshot, now: float) -> Rollout:
    """A rollout whose comparison begins with the change that follows a snapshot."""
    n_pulls = snapshot.totals.n_pulls
    start = Start(snapshot.seq + 1, n_pulls, now, snapshot.n_tuned, snapshot.n_control)
    changed_at = now if before.changed_at is None else before.changed_at
    return replace(after, start=start, changed_at=changed_at, mark=None)


def _watched(rollout: Rollout) -> tuple[str | None, str] | None:
    guardrail = rollout.guardrail
    return None if guardrail is None else (guardrail.signal, guardrail.worse)


def first_change(
    space: Space, rollout: Rollout, at: float, signals: Mapping[str, Any] | None
) -> Change:
    """The change that a study is created with when it has a control from the start."""
    check_watched(rollout.guardrail, signals or {})
    if rollout.control is None:
        raise InvalidSetting("the rollout has no control", "it needs one", "pass one")
    first, arms = _with_arm(rollout, space, lambda _: None, 1, at)
    first = replace(first, start=Start(1, 0, at), changed_at=at)
    return Change("control", settings_of(first), arms=arms, rollout=first.document())


def settings_of(rollout: Rollout) -> dict[str, Any]:
    """What the log says of a change of the rollout."""
    document = rollout.document()
    told = {key: document[key] for key in ("control", "exposure", "guardrail", "arm")}
    return told | ({"replaced": document["replaced"]} if "replaced" in document else {})


def settings_from(data: Mapping[str, Any]) -> tuple[object, object, object]:
    """What ``settings_of`` wrote, as ``Rollouts.update`` takes it."""
    rollout = Rollout.from_document({**Rollout().document(), **_known(data)})
    # With what a roll-back replaced still to come back, the control was left as it is.
    control = SAME if "replaced" in data else rollout.control
    return control, rollout.exposure, rollout.guardrail


def _known(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: data[key] for key in ("control", "exposure", "guardrail")}


def checked_config(space: Space, config: object) -> Config:
    """A control's configuration, as the space has it."""
    if not isinstance(config, Mapping):
        why = "it must be a configuration, as a dict"
        raise unfit("the control's config", config, why, "pass what you serve today")
    return space.validate(config)


def check_allowed(rollout: Rollout | None, space: Space) -> None:
    """Refuse a space that does not allow what the control serves."""
    if rollout is None:
        return
    back = None if rollout.replaced is None else rollout.replaced.control
    for control, why in (
        (rollout.control, "a share of the requests is served with it"),
        (back, "resume() serves it again after this roll-back"),
    ):
        config = None if control is None else control.config
        if config is not None and not space.allows(config):
            raise InvalidSetting(
                f"the space does not allow the control {show(config, 300)}",
                why,
                "declare another control with the space, or set one with update_control(), or end "
                "it with update_control(None), and change the space then",
            )


def no_control(name: str, why: str) -> NoControl:
    """The refusal of what needs a control."""
    fix = "pass what you serve today, with update_control(Control({...})) or roll_back(config)"
    return NoControl(f"study {name!r} has no control", why, fix)
