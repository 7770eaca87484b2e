"""Who gets the control: setting it, changing it, rolling back and going on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from imabo.control import Control, Replaced, Rollout, Start, check_watched, with_settings
from imabo.engine.comparison import Comparison
from imabo.engine.replica import Replica
from imabo.errors import InvalidSetting, NoControl
from imabo.evaluation import Guardrail
from imabo.events import Event, rollout_event
from imabo.oracles.base import Proposal
from imabo.settings import unfit
from imabo.space import Config, Space
from imabo.space.scalars import show
from imabo.stores.base import Change, NewArm, StaleView


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
        arm, arms = None, list[NewArm]()
        if control.config is not None:
            config = checked_config(replica.view.space, control.config)
            control = replace(control, config=config)
            row = replica.view.row_of_config(config)
            if row is None:
                arms = [replica.new_arm(Proposal(config, origin="control"), now)]
            arm = arms[0].id if row is None else int(replica.view.ids[row])
        after = replace(after, control=control, arm=arm)
        if before.control is not None and before.control.config == control.config:
            return after, arms
        # Another control is another comparison; another share is not.
        snapshot = replica.store.load(replica.record.name, since=replica.seq)
        if snapshot.seq != replica.seq:
            raise StaleView
        n_pulls = snapshot.totals.n_pulls
        start = Start(replica.seq + 1, n_pulls, now, snapshot.n_tuned, snapshot.n_control)
        changed_at = now if before.changed_at is None else before.changed_at
        return replace(after, start=start, changed_at=changed_at, mark=None), arms


def _watched(rollout: Rollout) -> tuple[str | None, str] | None:
    guardrail = rollout.guardrail
    return None if guardrail is None else (guardrail.signal, guardrail.worse)


def first_change(
    space: Space, rollout: Rollout, at: float, signals: Mapping[str, Any] | None
) -> Change:
    """The change that a study is created with when it has a control from the start."""
    check_watched(rollout.guardrail, signals or {})
    control, arms, arm = rollout.control, list[NewArm](), None
    if control is None:
        raise InvalidSetting("the rollout has no control", "it needs one", "pass one")
    if control.config is not None:
        config = checked_config(space, control.config)
        control, arm = replace(control, config=config), 1
        arms = [NewArm(1, config, space.identity(config), "control", None, None, at)]
    first = replace(rollout, control=control, arm=arm, start=Start(1, 0, at), changed_at=at)
    return Change("control", settings_of(first), arms=arms, rollout=first.document())


def settings_of(rollout: Rollout) -> dict[str, Any]:
    """What the log says of a change of the rollout."""
    document = rollout.document()
    told = {key: document[key] for key in ("control", "exposure", "guardrail", "arm")}
    return told | ({"replaced": document["replaced"]} if "replaced" in document else {})


def settings_from(data: dict[str, Any]) -> tuple[object, object, object]:
    """What ``settings_of`` wrote, as ``Rollouts.update`` takes it."""
    rollout = Rollout.from_document({**Rollout().document(), **_known(data)})
    # With what a roll-back replaced still to come back, the control was left as it is.
    control = SAME if "replaced" in data else rollout.control
    return control, rollout.exposure, rollout.guardrail


def _known(data: dict[str, Any]) -> dict[str, Any]:
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
                "set another control with update_control(), or end it with update_control(None), "
                "and change the space then",
            )


def no_control(name: str, why: str) -> NoControl:
    """The refusal of what needs a control."""
    fix = "pass what you serve today, with update_control(Control({...})) or roll_back(config)"
    return NoControl(f"study {name!r} has no control", why, fix)
