"""Making a study again from its log, decision by decision."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, get_args

from imabo.arms import Group, Origin
from imabo.checks import (
    checked_configs,
    checked_record,
    checked_time,
    stored_oracle,
    stored_policy,
)
from imabo.control import Control, coin_of, declared_part, drawn
from imabo.drift import Drift
from imabo.engine import Engine
from imabo.engine.asks import checked_request
from imabo.engine.declaring import check_declaring, checked_settings, form_of
from imabo.engine.requests import CheckedRequest, Request
from imabo.engine.rewards import checked_reward, checked_values
from imabo.engine.rollouts import settings_from
from imabo.errors import ImaboError, InvalidSetting, KeyConflict, ReplayMismatch, StoreError
from imabo.export import FORMAT
from imabo.oracles.base import Oracle, Proposal
from imabo.policies.base import Policy
from imabo.settings import is_number
from imabo.space import Space
from imabo.space.scalars import show
from imabo.stores.base import NewPull, Report, Store, StudyRecord
from imabo.stores.outbox import quietly

Entry = dict[str, Any]

_OF_ENTRY: Final = ("kind", "at", "control", "arm")  # what the data of a roll-back has besides

_STATES: Final = ("active", "paused", "retired")
_LONGEST_REASON: Final = 200
_SHOWN: Final = 1000  # bytes of a line that an error may show
_ADMITTING: Final = ("warmup", "expand", "prepared")
_CHANGES: Final = (
    "state", "arm", "arms", "space", "settings", "drift", "control", "rolled back", "resumed",
    "infeasible", "feasible",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Checked:
    """What a log was made of.

    Args:
        decided: Requests whose decision was made again and came out as in the log.
        followed: Requests that were served as the log says (see ``apply_log``).
        rewards: Rewards that came in.
        expirations: Times that pulls expired.
        changes: Changes by hand (of an arm's state, of the space, of arms that were added), and
            those of the world that were noticed.
    """

    decided: int
    followed: int
    rewards: int
    expirations: int
    changes: int


def read_log(
    lines: Iterable[str | bytes], policy: Policy | None, oracle: Oracle | None
) -> tuple[StudyRecord, Iterator[tuple[int, Entry]]]:
    """The study that an export begins with, and its entries with their line numbers.

    ``policy`` and ``oracle`` stand for those of the log when they are classes of the user's own.
    """
    entries = _entries(lines)
    _, head = next(entries, (1, {}))
    if head.get("kind") != "study" or head.get("format") != FORMAT:
        raise ReplayMismatch(
            "the log does not start with a study that this version can read",
            f"its first line has kind {show(head.get('kind'))} and format "
            f"{show(head.get('format'))}",
            "pass the lines that Study.export wrote as JSON lines",
        )
    with _replaying(1):
        if head["seed"] is None:
            raise InvalidSetting("seed is None", "a log has one", "export the study again")
        record = checked_record(
            head["name"],
            Space.from_dict(head["space"]),
            stored_policy(policy, head["policy"]),
            stored_oracle(oracle, head["oracle"]),
            seed=head["seed"],
            reward_range=head["reward_range"],
            window_s=head["window_s"],
            created_at=head["created_at"],
            revision=_revision(head.get("revision")),
            signals=head.get("signals"),
            objective=head.get("objective"),
        )
    return record, entries


def make_again(
    store: Store,
    record: StudyRecord,
    entries: Iterable[tuple[int, Entry]],
    policy: Policy | None = None,
    oracle: Oracle | None = None,
) -> Checked:
    """Make a study from what ``read_log`` gave; whatever goes wrong, nothing is left of it.

    ``StudyExists`` when the store has a study of that name.
    """
    policy, oracle = stored_policy(policy, record.policy), stored_oracle(oracle, record.oracle)
    # What happened is told to nobody again: only that the study was imported.
    with quietly():
        store.create(record)
    try:
        with quietly():
            loaded = store.load(record.name)
            engine = Engine(store, loaded, policy, oracle, lambda: record.created_at)
            checked = apply_log(engine, entries)
        store.note("imported", asdict(checked), at=time.time(), study=record.name)
        return checked
    except BaseException:
        # By its token, so that never a study of somebody else goes.
        with suppress(ImaboError), quietly():
            if store.find(record.token) == record.name:
                store.delete(record.name)
        raise


def apply_log(engine: Engine, entries: Iterable[tuple[int, Entry]]) -> Checked:
    """Do again what a log says.

    A decision that comes out differently is refused. From the first request on that a service
    served with a proposal made in the background (or without one, waiting for it), requests are
    served as logged: the view that such a proposal was made from is not in the log. So with the
    first whose coin fell differently: a service flips coins that the study's seed does not know.
    """
    as_logged = False
    engine.rewards.is_watching = False  # when a change was noticed is in the log
    done: Counter[str] = Counter()
    for number, entry in entries:
        as_logged = as_logged or entry.get("reason") in ("prepared", "waiting")
        as_logged = as_logged or _is_of_service(engine, entry)
        _apply_entry(engine, number, entry, as_logged)
        kind = entry["kind"]
        done["followed" if kind == "ask" and as_logged else kind] += 1
    engine.rewards.is_watching = True
    changes = sum(done[kind] for kind in _CHANGES)
    return Checked(done["ask"], done["followed"], done["tell"], done["expire"], changes)


def _apply_entry(engine: Engine, number: int, entry: Entry, as_logged: bool) -> None:
    with _replaying(number):
        at = checked_time(entry["at"])
        engine.replica.clock = lambda: at
        made, logged = _apply(engine, entry, as_logged)
    if made != logged:
        why = f"the log has {show(logged, 300)}"
        fix = "replay a whole, unedited log with the version of imabo that wrote it"
        raise ReplayMismatch(f"line {number} of the log came out as {show(made, 300)}", why, fix)


@contextmanager
def _replaying(number: int) -> Iterator[None]:
    """Whatever is wrong with a line of the log is a mismatch; what fails in the store is not."""
    try:
        yield
    except StoreError:
        raise
    except (
        LookupError,
        TypeError,
        AttributeError,
        ValueError,
        ArithmeticError,
        ImaboError,
    ) as error:
        why = f"{type(error).__name__}: {error}"
        fix = "check that the log is whole and was not edited"
        raise ReplayMismatch(f"line {number} of the log cannot be replayed", why, fix) from error


def _entries(lines: Iterable[str | bytes]) -> Iterator[tuple[int, Entry]]:
    for number, line in enumerate(lines, start=1):
        try:
            entry = json.loads(line)
        except (ValueError, TypeError, RecursionError):
            entry = None
        if not isinstance(entry, dict):
            text = line[:_SHOWN].decode("utf-8", "replace") if isinstance(line, bytes) else line
            why, fix = "it is not a JSON object", "check that the log is whole"
            raise ReplayMismatch(f"line {number} of the log is {show(text)}", why, fix)
        yield number, entry


def _apply(engine: Engine, entry: Entry, as_logged: bool) -> tuple[object, object]:
    """Do what an entry says; returns what came out and what the log has."""
    kind = entry["kind"]
    if kind == "ask" and as_logged:
        return _follow(engine, entry)
    if kind == "ask":
        # Without expiry by the clock: when it happened is in the log.
        number = engine.replica.view.totals.n_pulls + 1
        (asked,) = engine.asks.serve([_request(engine, entry)])
        (pull,) = [] if isinstance(asked, KeyConflict) else asked.pulls
        logged = (entry["pull"], entry["arm"], entry["reason"], entry["config"], *_coin(entry))
        coin = pull.group, pull.propensity
        return (number, pull.arm, pull.reason, pull.config, *coin), logged
    if kind in ("tell", "signal"):
        record = engine.replica.record
        number = _known(entry["pull"], engine.replica.view.totals.n_pulls)
        reward = None
        if kind == "tell":
            reward = checked_reward(entry["reward"], record.reward_range)
        signals = checked_values(entry.get("signals", {}), engine.replica)
        told: object
        if reward is not None and not signals:
            (told,) = engine.rewards.reward_many([(number, reward)])
        else:
            (told,) = engine.rewards.report_many([Report(number, reward, signals)])
        if isinstance(told, ImaboError):
            raise told
        return None, None
    if kind == "expire":
        # The log has an entry only when something expired.
        return engine.replica.expire(checked_time(entry["before"])) > 0, True
    if kind in ("space", "settings"):
        return _update(engine, entry)
    if kind == "drift":
        engine.changes.note_drift(Drift.from_data(entry))
        return None, None
    if kind in ("infeasible", "feasible"):
        engine.feasibility.follow(kind, {k: v for k, v in entry.items() if k not in ("kind", "at")})
        return None, None
    if kind == "control" and entry.get("declared") is True:
        return _update(engine, entry)
    if kind == "control":
        engine.rollouts.update(*settings_from(entry))
        return _control_arm(engine), entry["arm"]
    if kind == "rolled back":
        control = Control.from_dict(entry["control"])
        data = {key: value for key, value in entry.items() if key not in _OF_ENTRY}
        engine.rollouts.roll_back(control.config, data)
        return _control_arm(engine), entry["arm"]
    if kind == "resumed":
        engine.rollouts.resume(restores="control" in entry)
        return (_control_arm(engine), entry["arm"]) if "control" in entry else (None, None)
    if kind == "arm":
        return engine.changes.add_arm(entry["config"]), entry["arm"]
    if kind == "arms":
        return _add_arms(engine, entry)
    if kind == "state" and entry["state"] in _STATES:
        engine.changes.follow_state(_known(entry["arm"], engine.replica.n_arms), entry["state"])
        return None, None
    raise InvalidSetting(
        f"the entry is {show(entry)}", "this version does not know it", "use the one that wrote it"
    )


def _update(engine: Engine, entry: Entry) -> tuple[object, object]:
    """Change the space and settings as an entry says; what they were, here and in the log."""
    space = Space.from_dict(entry["space"]) if entry["kind"] == "space" else None
    before, after = entry.get("before", {}), dict(entry.get("after", {}))
    revision = {"revision": _revision(after.pop("revision"))} if "revision" in after else {}
    settings = checked_settings(space, after) if after else {}
    record, current = engine.replica.record, engine.replica.view.space
    goal = {"signals": record.signals, "objective": record.objective}
    now = form_of(record) | {"revision": record.revision} | goal
    wanted = form_of(record, (current if space is None else space).to_dict()) | settings
    told = entry if entry["kind"] == "control" else entry.get("rollout", {}).get("after")
    rollout = None if told is None else declared_part(told)
    wanted |= {} if rollout is None else {"rollout": rollout}
    declared = wanted if entry.get("declared") is True else None
    engine.changes.update(space, settings | revision, declared=declared, rollout=rollout)
    arms = (None, None) if told is None else (_control_arm(engine), told["arm"])
    return ({name: now[name] for name in before}, arms[0]), (before, arms[1])


def _revision(value: Any) -> int | None:
    check_declaring("error", value)
    return None if value is None else int(value)


def _add_arms(engine: Engine, entry: Entry) -> tuple[object, object]:
    replica = engine.replica
    first, last, resumed = entry["first"], entry["last"], entry["resumed"]
    back = [replica.view.config_of(_known(arm, replica.n_arms)) for arm in resumed]
    made = engine.changes.add_arms([*checked_configs(entry["configs"]), *back])
    logged = [] if first is None else list(range(first, last + 1))
    return made, logged + resumed


def _follow(engine: Engine, entry: Entry) -> tuple[object, object]:
    replica = engine.replica
    number, proposal = replica.view.totals.n_pulls + 1, None
    reason = entry["reason"]
    request = _request(engine, entry)
    if not isinstance(reason, str) or not 0 < len(reason) <= _LONGEST_REASON:
        raise TypeError(f"reason {show(reason)}")
    group, propensity = _coin(entry)
    is_new = reason == "control" and entry["arm"] == replica.n_arms + 1
    if reason in _ADMITTING or is_new:
        config = replica.view.space.validate(entry["config"])
        is_back = replica.view.row_of_config(config) is not None
        proposal = Proposal(config, **({} if is_back else _descent(entry, replica.n_arms)))
    named = request.key, request.part or 0, request.context
    new = NewPull(number, entry["arm"], reason, *named, group=group, propensity=propensity)
    arm = engine.asks.follow(new, proposal)
    made = number, arm, replica.view.config_of(arm)
    return made, (entry["pull"], entry["arm"], entry["config"])


def _request(engine: Engine, entry: Entry) -> CheckedRequest:
    """What was asked for: one pull, the next part of its key where it has one."""
    key, part, replica = entry.get("key"), entry.get("part", 0), engine.replica
    request = checked_request(Request(key=key, context=entry.get("context")))
    if key is None:
        return request
    known = replica.store.keyed(replica.record.name, [key])
    if type(part) is not int or part != len(known.get(key, ())):
        raise LookupError(f"part {show(part)} of the key {show(key)}, which is not the next one")
    return replace(request, part=part)


def _coin(entry: Entry) -> tuple[Any, Any]:
    """The group of a pull and its propensity; both or neither."""
    group, propensity = entry.get("group"), entry.get("propensity")
    if group is None and propensity is None:
        return None, None
    if group not in get_args(Group) or not is_number(propensity) or not 0.0 < propensity <= 1.0:
        raise TypeError(f"group {show(group)} with propensity {show(propensity)}")
    return group, float(propensity)


def _is_of_service(engine: Engine, entry: Entry) -> bool:
    """Whether a coin fell as it does not by the study's seed."""
    replica = engine.replica
    if entry.get("kind") != "ask" or replica.rollout is None:
        return False
    coin = coin_of(replica.record.seed, replica.view.totals.n_pulls + 1)
    # The other side of the coin has the other end of [0, 1).
    sides = [replica.rollout.group(end) for end in (0.0, 1.0)]
    found = entry.get("group"), entry.get("propensity")
    if found not in sides:
        return False
    is_draw = found[0] == "control" and replica.rollout.arm is None
    is_other = is_draw and entry.get("config") != drawn(replica.view.space, coin)
    return is_other or found != replica.rollout.group(coin)


def _control_arm(engine: Engine) -> int | None:
    rollout = engine.replica.rollout
    return None if rollout is None else rollout.arm


def _descent(entry: Entry, n_arms: int) -> dict[str, Any]:
    """Where an arm of the log came from."""
    origin, parent, mutated = entry["origin"], entry["parent"], entry["mutated"]
    if origin not in get_args(Origin):
        raise LookupError(f"origin {show(origin)}")
    if parent is not None:
        _known(parent, n_arms)
    if mutated is not None and not isinstance(mutated, str):
        raise TypeError(f"mutated {show(mutated)}")
    return {"origin": origin, "parent": parent, "mutated": mutated}


def _known(number: object, n: int) -> int:
    """The number of a pull or an arm that is there already."""
    if isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= n:
        return number
    raise LookupError(f"number {show(number)} when there were {n}")
