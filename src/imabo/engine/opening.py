"""From what a study is called with to its engine: creating, opening and replaying."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from imabo.checks import require_same, stored_oracle, stored_policy
from imabo.engine import Engine
from imabo.errors import StudyExists
from imabo.oracles.base import Oracle
from imabo.policies.base import Policy
from imabo.replay import make_again, read_log
from imabo.stores import Store, open_store
from imabo.stores.base import StudyRecord


def created(
    store: str | Store | None,
    record: StudyRecord,
    policy: Policy | None,
    oracle: Oracle | None,
    clock: Callable[[], float],
    *,
    any_seed: bool,
) -> Engine:
    """See ``Study.create``; ``any_seed`` goes on with a study whatever its seed."""
    with _opened(store) as found:
        try:
            found.create(record)
        except StudyExists:
            require_same(found, record, any_seed=any_seed)
        return _loaded(found, record.name, policy, oracle, clock, found is not store)


def opened(
    store: str | Store,
    name: str,
    policy: Policy | None,
    oracle: Oracle | None,
    clock: Callable[[], float],
) -> Engine:
    """See ``Study.open``."""
    with _opened(store) as found:
        return _loaded(found, name, policy, oracle, clock, found is not store)


def replayed(
    store: str | Store | None, lines: Iterable[str], policy: Policy | None, oracle: Oracle | None
) -> Engine:
    """See ``Study.replay``."""
    record, entries = read_log(lines, policy, oracle)
    with _opened(store) as found:
        make_again(found, record, entries, policy, oracle)
        return _loaded(found, record.name, policy, oracle, time.time, found is not store)


def _loaded(
    store: Store,
    name: str,
    policy: Policy | None,
    oracle: Oracle | None,
    clock: Callable[[], float],
    owns_store: bool,
) -> Engine:
    snapshot = store.load(name)
    policy = stored_policy(policy, snapshot.study.policy)
    oracle = stored_oracle(oracle, snapshot.study.oracle)
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
