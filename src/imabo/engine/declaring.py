"""A study that is declared again, as a deploy does: what differs, and what is done about it.

What a program declares with ``create`` is compared with the study that is there. The study knows
what was declared last and before (its changes have it), so that a program of an older version,
which starts late or again in a rolling deploy, does not undo what a newer one declared.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from imabo.checks import checked_range, checked_space, checked_window, fixed_differences
from imabo.control import Rollout, declared_part, rollout_difference
from imabo.engine.changes import Changes, states_under
from imabo.engine.replica import Replica
from imabo.engine.rollouts import rollout_of
from imabo.errors import InvalidConfig, InvalidSetting, StudyExists
from imabo.objective import Objective, signals_document
from imabo.settings import check_count, check_one_of
from imabo.space import Space
from imabo.space.difference import space_difference
from imabo.space.scalars import show
from imabo.stores.base import LogEntry, Snapshot, StudyRecord

IfChanged: TypeAlias = Literal["error", "update", "keep"]
Outcome: TypeAlias = Literal["created", "same", "updated", "kept"]

MODES: Final = ("error", "update", "keep")
_OF_SETTINGS: Final = ("space", "settings")  # kinds of changes
ALL_CHANGES: Final = 10**9
_GOAL: Final = ("signals", "objective")
_CONTROL: Final = "rollout"
_LISTED: Final = 5  # arms that an error names
_LARGEST: Final = 2**63
_DECISIONS: Final = "all decisions so far follow from it, and a replay makes them again"
_FIXED: Final = {
    "policy": _DECISIONS,
    "oracle": _DECISIONS,
    "seed": _DECISIONS,
    "name": "others know the study by it",
    "store": "a study is moved with export and import",
    "revision": "it is that of a declaration, which create() makes",
}

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of a declaration.

    Args:
        outcome: ``created``, ``same`` (nothing new was declared), ``updated``, or ``kept`` (the
            study goes on with what it has).
        difference: What the declaration has otherwise than the study had, a line each.
        why: Why it was kept.
    """

    outcome: Outcome
    difference: Sequence[str] = ()
    why: str = ""


def check_declaring(if_changed: object, revision: object) -> None:
    """Refuse what cannot say how a study is declared."""
    check_one_of("if_changed", if_changed, MODES)
    if revision is not None:
        check_count("revision", revision)
        if isinstance(revision, int) and revision >= _LARGEST:
            why = "it must be below 2**63"
            raise InvalidSetting(f"revision is {show(revision)}", why, "pass a build number, say")


def checked_settings(space: object, settings: Mapping[str, object]) -> dict[str, Any]:
    """Settings that a study may be given later, as JSON; refuses the others with the reason."""
    if space is None and not settings:
        why = "nothing is named that could change"
        raise InvalidSetting("there is nothing to update", why, "pass window_s, say")
    if space is not None:
        checked_space(space)
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if name == "window_s":
            found[name] = checked_window(value)
        elif name == "reward_range":
            ends = checked_range(value)
            found[name] = None if ends is None else list(ends)
        elif name == "signals":
            found[name] = signals_document(value)
        elif name == "objective":
            # Whether it fits the signals is known when it is applied.
            found[name] = value.document() if isinstance(value, Objective) else value
        else:
            known = "window_s, reward_range, signals, objective and the space can be changed"
            why = f"{_FIXED.get(name, 'a study has no such setting')}; {known}"
            fix = "make another study for it" if name in _FIXED else "check the name"
            raise InvalidSetting(f"{name} cannot be changed to {show(value)}", why, fix)
    return found


def settle(
    replica: Replica,
    changes: Changes,
    wanted: StudyRecord,
    *,
    any_seed: bool,
    if_changed: str,
    rollout: Mapping[str, Any] | None = None,
) -> Settled:
    """Go on with a study that is there, as its declaration and ``if_changed`` say.

    ``rollout`` is the document of a declared control; None leaves alone whatever there is.
    """
    record = replica.record
    form = form_of(wanted, rollout=rollout)
    there = (replica.rollout or Rollout()).document()
    now = _as_said(form_of(record, replica.view.space.to_dict(), there), form)
    if form == now and wanted.revision in (None, record.revision):
        declared = replica.store.declaration(record.name) if if_changed == "update" else form
        is_known = declared is not None and _as_said(declared, form) == form
        if is_known and not fixed_differences(record, wanted, any_seed=any_seed):
            return Settled("same")
    # In a turn: what is read belongs together, and nobody else declares at the same moment.
    settled = replica.in_turn(
        lambda now: _Declaring(replica, changes, wanted, form, any_seed).settle(if_changed, now)
    )
    replica.refresh()
    if settled.why:
        _log.warning("study %r goes on as it is: %s", record.name, settled.why)
    elif settled.outcome == "updated":
        text = "; ".join(settled.difference)
        _log.info("study %r was changed as it is declared now: %s", record.name, text)
    return settled


def form_of(
    record: StudyRecord,
    space: Mapping[str, Any] | None = None,
    rollout: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What of a study a declaration may change, as its document has it.

    Without a ``rollout`` it says nothing of a control.
    """
    ends = record.reward_range
    return {
        "space": record.space if space is None else space,
        "reward_range": None if ends is None else list(ends),
        "window_s": record.window_s,
        **_of_goal({"signals": record.signals, "objective": record.objective}),
        **({} if rollout is None else {_CONTROL: declared_part(rollout)}),
    }


def _as_said(form: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """A form without its control where a declaration says nothing of one: that is left alone."""
    return {name: one for name, one in form.items() if name != _CONTROL or _CONTROL in said}


def _of_goal(form: Mapping[str, Any]) -> dict[str, Any]:
    """The signals and the objective of a form; declarations from before these have neither."""
    return {name: form[name] for name in _GOAL if form.get(name) is not None}


def first_settings(record: StudyRecord, changes: Sequence[LogEntry]) -> dict[str, Any]:
    """The settings that a study was created with, from what they are now and all its changes."""
    ends = record.reward_range
    settings: dict[str, Any] = {
        "reward_range": None if ends is None else list(ends),
        "window_s": record.window_s,
        "revision": record.revision,
        "signals": record.signals,
        "objective": record.objective,
    }
    for entry in reversed(changes):
        if entry.kind in _OF_SETTINGS:
            settings |= (entry.data or {}).get("before", {})
    return settings


def all_changes(replica: Replica) -> list[LogEntry]:
    """Every change of a study."""
    return replica.store.changes(replica.record.name, limit=ALL_CHANGES)


class _Declaring:
    """One declaration and the study that it meets, both at one moment."""

    def __init__(
        self,
        replica: Replica,
        changes: Changes,
        wanted: StudyRecord,
        form: dict[str, Any],
        any_seed: bool,
    ) -> None:
        store, name = replica.store, replica.record.name
        self._changes = changes
        self._wanted, self._form = wanted, form
        self._snapshot: Snapshot = store.load(name)
        self._record = record = self._snapshot.study
        self._rollout = rollout_of(self._snapshot)
        there = self._rollout.document()
        self._now = _as_said(form_of(record, self._snapshot.space, there), form)
        self._fixed = fixed_differences(record, wanted, any_seed=any_seed)
        forms = _forms(record, all_changes(replica))
        self._seen = [_as_said(one, form) for one, _ in forms]
        self._once_declared = [_as_said(one, form) for one, is_declared in forms if is_declared]
        self._declared = _as_said(store.declaration(name) or forms[0][0], form)

    def settle(self, if_changed: str, now: float) -> Settled:
        """Decide, and write what was decided."""
        mine, theirs = self._wanted.revision, self._record.revision
        is_newer = mine is not None and (theirs is None or mine > theirs)
        if mine is not None and mine == theirs and self._adds_control():
            # One program of a deploy says nothing of the control, and this one does.
            is_newer = True
        if self._fixed:
            return self._kept(if_changed, "it cannot be changed to what is declared")
        is_told = is_newer or self._form in (self._declared, self._now)
        if mine is not None and mine == theirs and not is_told:
            return self._kept(if_changed, f"revision {mine} was declared otherwise before")
        if self._form in (self._now, self._declared):
            # Nothing new; but what is the newest now must be known when an older one comes.
            is_news = self._form != self._declared and (is_newer or theirs is None)
            if is_newer or (is_news and if_changed == "update"):
                self._write(now, space=None, settings={})
            return Settled("same")
        if not is_newer and (why := self._is_older(mine, theirs)):
            if if_changed == "error" and self._form not in self._seen:
                raise self._refusal()
            # A program that was there before, as after a change by hand, goes on without a word.
            return Settled("kept", self._difference(), why if if_changed != "error" else "")
        if if_changed == "error" and not is_newer and self._form in self._seen:
            return Settled("same")
        if if_changed == "update":
            return self._updated(now)
        if if_changed == "error":
            raise self._refusal()
        return Settled("kept", self._difference(), "if_changed is 'keep', and it differs")

    def _adds_control(self) -> bool:
        """Whether it is what was declared last, and the control that nothing was said of."""
        rest = {name: one for name, one in self._form.items() if name != _CONTROL}
        return rest != self._form and rest == self._declared

    def _is_older(self, mine: int | None, theirs: int | None) -> str:
        """Why a declaration does not count against what was declared last; empty if it does."""
        if theirs is not None:
            what = "no revision" if mine is None else f"revision {mine}"
            return f"this declaration has {what}, and revision {theirs} was declared already"
        if self._form in self._once_declared:
            return (
                "this very declaration was in force before, and another one replaced it; to go "
                "back to it, declare it with a revision, or change the study by hand"
            )
        return ""

    def _updated(self, now: float) -> Settled:
        lines = self._difference()
        if self._refused_range() is not None:
            raise self._refusal()
        self._write(now, *self._wishes())
        return Settled("updated", lines)

    def _wishes(self) -> tuple[Space | None, dict[str, Any]]:
        """The space, where it is another one, and the settings that an update is to bring."""
        settings = {name: self._form[name] for name in ("reward_range", "window_s")}
        settings |= {name: self._form.get(name) for name in _GOAL}
        if self._form["space"] == self._now["space"]:
            return None, settings
        return Space.from_dict(self._form["space"]), settings

    def _write(self, now: float, space: Space | None, settings: dict[str, Any]) -> None:
        revision = self._wanted.revision
        if revision is not None:
            settings = settings | {"revision": revision}
        # What is declared of the control goes with the space: one may need the other.
        rollout = self._form.get(_CONTROL) if self._form != self._declared else None
        self._changes.apply(now, space, settings, self._form, rollout)

    def _kept(self, if_changed: str, why: str) -> Settled:
        if if_changed != "keep":
            raise self._refusal(why)
        return Settled("kept", self._difference(), why)

    # --- in words -------------------------------------------------------------------------------

    def _difference(self, old: Mapping[str, Any] | None = None) -> list[str]:
        old = self._now if old is None else old
        lines = list(space_difference(old["space"], self._form["space"]))
        lines += [
            f"{name}: {show(old[name])} becomes {show(self._form[name])}"
            for name in ("window_s", "reward_range")
            if old[name] != self._form[name]
        ]
        lines += [
            f"{name}: {show(old.get(name))} becomes {show(self._form.get(name))}"
            for name in _GOAL
            if old.get(name) != self._form.get(name)
        ]
        if _CONTROL in self._form and _CONTROL in old:
            lines += rollout_difference(old[_CONTROL], self._form[_CONTROL])
        return lines + self._fixed

    def _refusal(self, why: str = "") -> StudyExists:
        name, mine = self._record.name, self._wanted.revision
        is_same_revision = mine is not None and mine == self._record.revision
        is_same_revision = is_same_revision and not self._adds_control()
        lines = self._difference(self._declared if is_same_revision else None)
        told = f"it differs from what is declared now{f' ({why})' if why else ''}:"
        update = self._what_update_does(is_same_revision)
        return StudyExists(
            f"there is already a study named {show(name)}",
            "\n  - ".join([told, *lines]),
            f'choose: if_changed="update" {update}; if_changed="keep" goes on with the study as '
            f"it is; Study.open({show(name)}, store=...), or client.open({show(name)}) of a "
            "client, needs no declaration; or choose another name",
        )

    def _what_update_does(self, is_same_revision: bool) -> str:
        if is_same_revision:
            mine = self._wanted.revision
            return f"needs a revision above {mine}, which stands for another declaration"
        if self._fixed:
            can = "the space, window_s, signals, objective and the control"
            return f"is refused: only {can} can be changed"
        refused = self._refused_range() or self._refused_together()
        if refused is not None:
            return f"is refused: {refused}"
        does = "applies this, keeps all that was learned"
        if self._rollout.state == "rolled back":
            does += ", leaves the study rolled back"
        if self._form["space"] == self._now["space"]:
            return does + " and retires no arm"
        space, arms = Space.from_dict(self._form["space"]), self._snapshot.arms
        states = states_under(space, arms)
        gone = [arm for arm in arms if states.get(arm.id, ("",))[0] == "retired"]
        back = len(states) - len(gone)
        text = f"{does} and retires {len(gone)} of {len(arms)} arms"
        if gone:
            named = [f"{arm.id} {show(arm.config)}" for arm in gone[:_LISTED]]
            text += f" ({', '.join(named)}{', ...' if len(gone) > _LISTED else ''})"
        return text + (f", and brings back {back}" if back else "")

    def _refused_together(self) -> str | None:
        """Why an update would be refused: what it brings does not fit together, or what stays."""
        at = self._snapshot.last_at
        try:
            self._changes.checked(self._snapshot, at, *self._wishes(), self._form.get(_CONTROL))
        except (InvalidSetting, InvalidConfig) as error:
            return f"{error.what}, and {error.why}"
        return None

    def _refused_range(self) -> str | None:
        n_rewards = self._snapshot.totals.n_rewards
        is_same = self._form["reward_range"] == self._now["reward_range"]
        return None if is_same or not n_rewards else range_refusal(n_rewards)


def range_refusal(n_rewards: int) -> str:
    """Why the range of the rewards is fixed."""
    return (
        f"the study has {n_rewards} rewards, and what it learned from them is on the scale of the "
        "old reward_range"
    )


def _forms(record: StudyRecord, changes: Sequence[LogEntry]) -> list[tuple[dict[str, Any], bool]]:
    """Every form that a study had, the first one first, and whether it was declared so."""
    settings = first_settings(record, changes)
    form = {
        "space": record.space,
        "reward_range": settings["reward_range"],
        "window_s": settings["window_s"],
        **_of_goal(settings),
    }
    there: dict[str, Any] | None = None  # what of the control was in force
    if changes and changes[0].kind == "control" and changes[0].at == record.created_at:
        there, changes = declared_part(changes[0].data or {}), changes[1:]
    found = [(_with_control(form, there), True)]
    for entry in changes:
        data = entry.data or {}
        is_declared = bool(data.get("declared"))
        if entry.kind == "control":
            there = declared_part(data)
            found.append((_with_control(form, there), is_declared))
        if entry.kind not in _OF_SETTINGS:
            continue
        told = data.get("after", {}).items()
        after = {name: one for name, one in told if name in form or name in _GOAL}
        if entry.kind == "space":
            after["space"] = data["space"]
        form = form | after
        form = {name: form[name] for name in form if name not in _GOAL} | _of_goal(form)
        if _CONTROL in data:
            there = declared_part(data[_CONTROL]["after"])
        is_silent = is_declared and _CONTROL not in data
        found.append((_with_control(form, None if is_silent else there), is_declared))
    return found


def _with_control(form: dict[str, Any], there: dict[str, Any] | None) -> dict[str, Any]:
    return form if there is None else form | {_CONTROL: there}
