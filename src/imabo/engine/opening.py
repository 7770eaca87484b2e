"""From what a study is called with to its engine: creating, opening and replaying."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from imabo.checks import stored_oracle, stored_policy
from imabo.control import Rollout
from imabo.engine import Engine
from imabo.engine.changes import Changes
from imabo.engine.declaring import settle
from imabo.engine.replica import Replica
from imabo.engine.rollouts import first_change
from imabo.errors import InvalidSetting, StudyExists
from imabo.oracles.base import Oracle
from imabo.policies.base import Policy
from imabo.replay import make_again, read_log
from imabo.space import Space
from imabo.stores import Store, open_store
from imabo.stores.base import Change, StudyRecord

Parts = tuple[Policy | None, Oracle | None]  # those that the caller gave
Clock = Callable[[], float]


def created(
    store: str | Store | None,
    record: StudyRecord,
    parts: Parts,
    clock: Clock,
    *,
    any_seed: bool,
    if_changed: str,
    rollout: Rollout | None = None,
) -> Engine:
    """See ``Study.create``; ``any_seed`` goes on with a study whatever its seed."""
    first = None
    if rollout is not None:
        space = Space.from_dict(record.space)
        first = first_change(space, rollout, record.created_at, record.signals)
    with _opened(store) as found:
        if not _is_new(found, record, first):
            replica = Replica(found, found.load(record.name), clock)
            how: dict[str, Any] = {"any_seed": any_seed, "if_changed": if_changed}
            declared = None if first is None else first.rollout
            settle(replica, Changes(replica), record, rollout=declared, **how)
            if if_changed == "keep":
                parts = _of_the_study(parts, replica.record)
        return _loaded(found, record.name, parts, clock, owns_store=found is not store)


def _is_new(store: Store, record: StudyRecord, first: Change | None) -> bool:
    """Make the study; False when it is there. What is wrong then is raised with nothing before."""
    try:
        store.create(record, first)
    except StudyExists:
        return False
    return True


def _of_the_study(parts: Parts, stored: StudyRecord) -> Parts:
    """Those of the caller's parts that are the study's own; None for the others."""
    policy, oracle = parts
    with suppress(InvalidSetting):
        policy = None
        policy = stored_policy(parts[0], stored.policy)
    with suppress(InvalidSetting):
        oracle = None
        oracle = stored_oracle(parts[1], stored.oracle)
    return policy, oracle


def opened(store: str | Store, name: str, parts: Parts, clock: Clock) -> Engine:
    """See ``Study.open``."""
    with _opened(store) as found:
        return _loaded(found, name, parts, clock, owns_store=found is not store)


def replayed(store: str | Store | None, lines: Iterable[str], parts: Parts) -> Engine:
    """See ``Study.replay``."""
    record, entries = read_log(lines, *parts)
    with _opened(store) as found:
        make_again(found, record, entries, *parts)
        return _loaded(found, record.name, parts, time.time, owns_store=found is not store)


def _loaded(store: Store, name: str, parts: Parts, clock: Clock, *, owns_store: bool) -> Engine:
    snapshot = store.load(name)
    policy = stored_policy(parts[0], snapshot.study.policy)
    oracle = stored_oracle(parts[1], snapshot.study.oracle)
    return Engine(store, snapshot, policy, oracle, clock, owns_store=owns_store)


@contextmanager
def _opened(store: str | Store | None) -> Iterator[Store]:
    """A store, which is closed when it is ours and the block raises."""
    found = open_store(store)
    try:
        yield found
    except BaseException:
        if found is not store:
            found.close()
        raise
