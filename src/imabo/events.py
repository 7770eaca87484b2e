"""What happened to a study, apart from requests and rewards."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from imabo.amounts import amount
from imabo.documents import Document, event_document, to_datetime
from imabo.objective import changes_in_words
from imabo.space.scalars import show
from imabo.stores.base import EventRecord, LogEntry, Store, StudyRecord

EventKind = Literal[
    "created", "state", "arm", "arms", "space", "settings", "drift", "control", "rolled back",
    "resumed", "infeasible", "feasible",
]  # fmt: skip
_LINES: Final = 6  # differences of spaces that the words of an event name
RolloutKind = Literal["control", "rolled back", "resumed"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a study and is kept.

    ``kind`` is ``created``, ``state`` (an arm was paused, resumed or retired), ``arm`` (one was
    added by hand), ``arms`` (several were, together), ``space`` (the space changed), ``settings``
    (other settings did), ``drift`` (the rewards changed, and the study noticed), ``control`` (the
    control, the exposure or the guardrail was set), ``rolled back`` (the control is served to
    everyone), ``resumed`` (it no longer is), ``infeasible`` (nothing is within the budgets and
    limits, and what exceeds them least is served) or ``feasible`` (something is again). ``data``
    has the details as JSON-safe values, ``str(event)`` says it in words.

    The data of ``arms``: the new arms are those from ``first`` to ``last`` (None when there are
    none), and ``resumed`` are the ids of arms that became active again.

    The data of ``space``: the new ``space``, and ``difference``, a line for each parameter, choice
    or clause that was added, removed or changed (none in events of older versions).

    The data of ``settings``, and of ``space`` where both changed: ``before`` and ``after`` have
    those that changed, and ``declared`` is true when ``create`` declared it so; ``rollout`` then
    has the control, the exposure and the guardrail ``before`` and ``after``, where they were
    declared. Where nothing else changed, that is a ``control``.

    The data of a drift: ``before`` and ``after`` are the means of the ``n_rewards`` rewards that
    show it, as expected and as they are, in the study's own units; ``since`` is how many rewards
    the study had when they began to differ; ``arm``, or ``parameter`` and ``value``, say what
    changed, all None when everything did; ``evidence`` is the log of the likelihood ratio.

    Example:
        >>> from datetime import UTC
        >>> data = {"parameter": "model", "value": "small", "arm": None, "before": 0.8,
        ...         "after": 0.2, "n_rewards": 30, "since": 3000, "evidence": 16.1}
        >>> print(Event("drift", datetime(2026, 11, 16, tzinfo=UTC), data))
        rewards with model = 'small' fell from 0.8 to 0.2
    """

    kind: EventKind | str
    at: datetime
    data: Mapping[str, Any]

    def __str__(self) -> str:
        data = self.data
        if self.kind == "created":
            return "the study was created"
        if self.kind == "space":
            return "; ".join([_space(data), *_settings(data)])
        if self.kind == "settings":
            return "; ".join(_settings(data)) or "the settings were declared as they are"
        if self.kind == "arm":
            return f"arm {data['arm']} was added by hand"
        if self.kind == "arms":
            return _added(data)
        if self.kind == "state":
            state = "resumed" if data["state"] == "active" else data["state"]
            return f"arm {data['arm']} was {state}"
        if self.kind in ("control", "rolled back", "resumed"):
            return _rollout_text(self.kind, data)
        if self.kind in ("infeasible", "feasible"):
            return _feasibility_text(self.kind, data)
        if self.kind != "drift":
            return _of_the_service(self.kind, data)
        before, after = data["before"], data["after"]
        way = "fell" if after < before else "rose"
        return f"{_what(data)} {way} from {before:.3g} to {after:.3g}"


def _space(data: Mapping[str, Any]) -> str:
    lines = data.get("difference") or []  # none in what an older version wrote
    if not lines:
        return "the space changed"
    n_more = len(lines) - _LINES
    more = [f"and {n_more} more"] if n_more > 0 else []
    return f"the space changed: {'; '.join([*lines[:_LINES], *more])}"


def _settings(data: Mapping[str, Any]) -> list[str]:
    before, lines = data.get("before", {}), list[str]()
    for name, now in data.get("after", {}).items():
        if name == "revision":
            lines.append(f"revision {now} was declared")
        elif name == "objective":
            lines += changes_in_words(before[name], now)
        elif name == "signals":
            lines.append(f"the signals are {', '.join(now or {}) or 'none'}")
        else:
            lines.append(f"{name} changed from {before[name]} to {now}")
    rollout = data.get("rollout")
    if rollout is not None and rollout["before"] != rollout["after"]:
        lines.append(_rollout_text("control", rollout["after"]))
    return lines


def _rollout_text(kind: str, data: Mapping[str, Any]) -> str:
    control = data.get("control")
    what = f"arm {data.get('arm')}"
    if control is not None and control["config"] is None:
        what = "random serving"
    if kind == "resumed":
        if "control" not in data:  # the control is what it was
            return "tuning was resumed"
        again = (
            "without a control, as before" if control is None else f"the control is {what} again"
        )
        return f"tuning was resumed, {again}"
    if kind == "rolled back":
        reason = data.get("reason")
        by = "by the guardrail" if data.get("by") == "guardrail" else "by hand"
        if control is not None:
            by += f" to {what}"
            by += "" if control["config"] is None else f" {show(control['config'], 300)}"
        return f"the study was rolled back {by}" + (f": {reason}" if reason else "")
    if control is None:
        return "the control was ended"
    later = (data.get("replaced") or {}).get("control")
    if later is not None:  # rolled back to something else, which goes on being served
        control, what = (
            later,
            "random serving" if later["config"] is None else show(later["config"]),
        )
        what += ", once tuning is resumed,"
    text = f"the control is {what} with a share of {control['share']:.3g}"
    if data["exposure"] < 1.0:
        tuned = data["exposure"] * (1.0 - control["share"])  # 1 - e, see Rollout.chance
        text += f", {tuned:.3g} of the requests are tuned"
    guardrail = data["guardrail"]
    if guardrail is None:
        return text
    watched = f" of {guardrail['signal']}" if guardrail.get("signal") else ""
    return f"{text}, the guardrail is {guardrail['margin']:.3g}{watched}"


def _feasibility_text(kind: str, data: Mapping[str, Any]) -> str:
    if kind == "feasible":
        arm = data["arm"]
        return "the budgets and limits can be kept" + ("" if arm is None else f": arm {arm} does")
    unit, name, arm = data["unit"], data["name"], data["arm"]
    use, budget = (amount(data[key], unit) for key in ("use", "budget"))
    if data["above"] is not None:
        use, budget = (f"{100.0 * data[key]:.3g} % of the requests" for key in ("use", "budget"))
        return f"nothing keeps {name} to {budget}: arm {arm}, which exceeds it least, has {use}"
    return (
        f"nothing is within the budget of {name}, {budget} a request: arm {arm}, which exceeds it "
        f"least, uses {use}"
    )


def log_event(log: logging.Logger, study: str, event: Event) -> None:
    """Warn of something that happened to a study, in words and with its facts."""
    facts = {"study": study, "kind": event.kind, **event.data}
    text = str(event)
    if not text.isprintable():  # a parameter's name must not forge lines of a log
        text = repr(text)[1:-1]
    log.warning("study %r: %s", study, text, extra={"facts": facts})


def study_event(kind: EventKind, at: float, data: Mapping[str, Any]) -> Event:
    """A change that a study noticed, as the log has it."""
    return Event(kind, to_datetime(at), dict(data))


def rollout_event(kind: RolloutKind, at: float, data: Mapping[str, Any]) -> Event:
    """A change of the rollout as the log has it."""
    return Event(kind, to_datetime(at), dict(data))


def _added(data: Mapping[str, Any]) -> str:
    first, last, n_resumed = data["first"], data["last"], len(data["resumed"])
    back = f"{n_resumed} {'arm was' if n_resumed == 1 else 'arms were'} resumed"
    if first is None:
        return back
    new = f"arm {first} was" if first == last else f"arms {first} to {last} were"
    return f"{new} added by hand" + (f", and {back}" if n_resumed else "")


def _what(data: Mapping[str, Any]) -> str:
    if data["arm"] is not None:
        return f"rewards of arm {data['arm']}"
    if data["parameter"] is not None:
        return f"rewards with {data['parameter']} = {data['value']!r}"
    return "rewards of what is served"


_ABOUT: Final = {"key": "the {role} key {name!r}", "webhook": "the webhook {webhook} to {host}"}
_WORDS: Final = {"deleted": "the study was deleted", "imported": "the study was made from a log"}


def _of_the_service(kind: str, data: Mapping[str, Any]) -> str:
    """What happened to a study as a whole, to a key or to a webhook; a kind of others by its name.

    Example:
        >>> _of_the_service("key made", {"role": "reader", "name": "page"})
        "the reader key 'page' was made"
    """
    thing, _, done = kind.partition(" ")
    try:
        return f"{_ABOUT[thing].format_map(data)} was {done}"
    except KeyError:
        return _WORDS.get(kind, kind)


def listed_event(record: EventRecord) -> Event:
    """An event of the store's list, in the study's own units."""
    if record.kind == "drift":
        return drift_event(record, record.at, record.data)
    return Event(record.kind, to_datetime(record.at), dict(record.data))


def listed_document(record: EventRecord) -> Document:
    """An event of the store's list, with its id, its study and its words."""
    try:
        shown = event_document(listed_event(record))
    except (KeyError, TypeError, ValueError):  # data of another version must not hold up the rest
        plain = Event("", to_datetime(record.at), dict(record.data))
        shown = event_document(plain) | {"kind": record.kind, "text": record.kind}
    return {"id": record.id, "study": record.study, **shown}


def events_page(
    store: Store,
    study: str | None = None,
    *,
    after: int | None = None,
    before: int | None = None,
    kinds: Sequence[str] = (),
    limit: int,
) -> Document:
    """A page of the store's list, as the HTTP API has it; ``next`` is for the page that follows."""
    found = store.events(study, after=after, before=before, kinds=kinds, limit=limit)
    more = None
    if found and len(found) == limit:
        more = found[0].id if after is None else found[-1].id
    return {"events": [listed_document(event) for event in found], "next": more}


def events_of(record: StudyRecord, changes: Sequence[LogEntry], limit: int) -> list[Event]:
    """The newest events of a study, the oldest of them first."""
    found = [Event("created", to_datetime(record.created_at), {})]
    for entry in changes:
        if entry.kind == "drift":
            found.append(drift_event(record, entry.at, entry.data or {}))
        else:
            found.append(Event(entry.kind, to_datetime(entry.at), dict(entry.data or {})))
    return found[-limit:] if limit else []


def drift_event(record: StudyRecord | EventRecord, at: float, data: Mapping[str, Any]) -> Event:
    """A change of the rewards as the log has it, in the study's own units."""
    low, high = record.reward_range or (0.0, 1.0)
    told = {key: low + (high - low) * data[key] for key in ("before", "after")}
    told["n_rewards"] = round(data["n_rewards"])
    return Event("drift", to_datetime(at), {**data, **told})
