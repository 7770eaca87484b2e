"""Finished pulls do not stay in memory: what a process holds depends on the arms only."""

from __future__ import annotations

import gc
import tracemalloc
from types import FunctionType, ModuleType

import pytest

from imabo import Study, oracles
from imabo.engine import Engine
from imabo.policies import IMOSS
from imabo.stores import SQLiteStore

# Finished pulls. Far enough apart: the standard library remembers up to 200 cursors of each
# connection, about 16,000 bytes, and forgets them all at once.
FIRST, SECOND, LAST = 500, 1_000, 6_500
_SHARED = (type, ModuleType, FunctionType)  # reachable from everything, and nobody's memory


def finish(study: Study, until: int) -> None:
    """Ask and tell until there were so many pulls."""
    while len(study) < until:
        for pull in study.ask(count=100):
            study.tell(pull.id, pull.arm / 64)
    gc.collect()


def reachable(root: object) -> int:
    """Number of objects that an object keeps alive."""
    seen, waiting = {id(root)}, [root]
    while waiting:
        for item in gc.get_referents(waiting.pop()):
            if id(item) not in seen and not isinstance(item, _SHARED):
                seen.add(id(item))
                waiting.append(item)
    return len(seen)


@pytest.fixture
def study(study_path: str) -> Study:
    """A study whose 64 arms are all admitted well before the first measurement."""
    study = Study.open("study", store=f"sqlite:///{study_path}")
    for x in range(8):
        for y in range(8):
            study.add_arm({"x": x, "y": y})
    return study


def test_nothing_of_finished_pulls_stays_reachable(study: Study) -> None:
    finish(study, FIRST)
    objects = reachable(study)
    finish(study, 3 * FIRST)
    assert study.n_arms == 64
    # The standard library remembers up to 200 cursors, and a moment more or less is 64 objects.
    assert reachable(study) - objects < 500
    study.close()


@pytest.mark.long  # tracing makes everything several times as slow
def test_memory_does_not_grow_with_finished_pulls(study: Study) -> None:
    finish(study, FIRST)
    objects = reachable(study)
    tracemalloc.start()
    try:
        finish(study, SECOND)
        before, _ = tracemalloc.get_traced_memory()
        finish(study, LAST)
        kept = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert study.n_arms == 64
    # One 8-byte number a pull would already be more than this.
    assert kept < 8 * (LAST - SECOND)
    # The standard library remembers up to 200 cursors, and a moment more or less is 64 objects.
    assert reachable(study) - objects < 500
    study.close()


@pytest.mark.slow
def test_a_view_of_many_pulls_is_as_large_as_one_of_few(study: Study, study_path: str) -> None:
    sizes = []
    for until in (1_000, 3_000):
        finish(study, until)
        store = SQLiteStore(study_path)
        engine = Engine(store, store.load("study"), IMOSS(), oracles.Mutate(), lambda: 0.0)
        sizes.append(reachable(engine.replica.view))
        store.close()
    # The memory of the arms may have a moment more or less: 64 objects each.
    assert abs(sizes[1] - sizes[0]) < 300
    study.close()
