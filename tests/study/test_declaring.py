"""Declarations beside the contract: races, logs, old files, and other processes' views."""

from __future__ import annotations

import io
import json
import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from imabo import Choice, Float, Int, Space, Study, oracles
from imabo.errors import InvalidSetting, ReplayMismatch, StudyExists
from imabo.space.difference import space_difference
from imabo.stores import MemoryStore
from imabo.testing import ManualClock
from imabo.testing.audit import audit
from imabo.testing.study.base import letters
from tests.stores.deploys import race_in_processes, race_in_threads
from tests.study.test_create_open import Greedy

QUICK: dict[str, Any] = {"oracle": oracles.Random()}


def lines_of(study: Study) -> list[str]:
    text = io.StringIO()
    study.export(text, "jsonl")
    return text.getvalue().splitlines()


@pytest.mark.service
def test_processes_of_two_versions_end_with_the_newest(sqlite_url: str) -> None:
    race_in_processes(sqlite_url)


def test_threads_of_four_versions_end_with_the_newest(sqlite_url: str) -> None:
    race_in_threads(sqlite_url)


def test_without_revisions_two_versions_settle_and_stay(sqlite_url: str) -> None:
    Study.create("s", letters("a"), store=sqlite_url, seed=1, **QUICK).close()

    def start(values: str) -> None:
        space = letters(*values)
        Study.create("s", space, store=sqlite_url, if_changed="update", **QUICK).close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(start, ["a", "ab"] * 8))
    with Study.open("s", store=sqlite_url) as study:
        assert (study.space, study.space_version) == (letters("a", "b"), 2)


def test_a_replay_follows_the_settings() -> None:
    clock, store = ManualClock(1000.0), MemoryStore()
    settings: dict[str, Any] = {"store": store, "clock": clock, "if_changed": "update", **QUICK}
    study = Study.create("s", letters("a"), seed=1, window_s=10.0, revision=1, **settings)
    study.update(reward_range=(0.0, 5.0))
    study.ask(count=3)
    clock.now += 20.0
    study.update(window_s=15.0)
    assert study.expire() == 3
    study.tell(study.ask().id, 4.0)
    study = Study.create(
        "s", letters("a", "b"), window_s=None, reward_range=(0.0, 5.0), revision=2, **settings
    )
    for _ in range(30):
        study.tell(study.ask().id, 2.5)
    lines = lines_of(study)
    head = json.loads(lines[0])
    assert (head["window_s"], head["reward_range"], head["revision"]) == (10.0, [0.0, 1.0], 1)
    again = Study.replay(lines, store=MemoryStore())
    assert (again.window_s, again.reward_range, again.revision) == (None, (0.0, 5.0), 2)
    assert lines_of(again) == lines
    assert audit(again.store, "s") == audit(store, "s") == []
    # What was declared is known there, too.
    old: dict[str, Any] = {
        "store": again.store,
        "window_s": 10.0,
        "revision": 1,
        "if_changed": "update",
    }
    assert Study.create("s", letters("a"), **old, **QUICK).space == letters("a", "b")
    edited = [
        line.replace('"before": {"window_s": 10.0', '"before": {"window_s": 9.0') for line in lines
    ]
    assert edited != lines
    with pytest.raises(ReplayMismatch):
        Study.replay(edited)


def test_other_handles_follow_a_new_window(sqlite_url: str) -> None:
    clock = ManualClock(1000.0)
    study = Study.create(
        "s", letters("a"), store=sqlite_url, seed=1, window_s=10.0, clock=clock, **QUICK
    )
    with study, Study.open("s", store=sqlite_url, clock=clock) as other:
        other.ask()
        study.update(window_s=1000.0)
        clock.now += 100.0
        other.ask()  # it must not expire the first one by the window that it knew
        assert (other.window_s, other.n_expired, other.n_pending) == (1000.0, 0, 2)
        study.update(window_s=None)
        other.refresh()
        assert (other.window_s, other.view.has_window) == (None, False)


def test_the_log_says_what_became_of_a_declaration(caplog: pytest.LogCaptureFixture) -> None:
    settings = {"store": MemoryStore(), **QUICK}
    with caplog.at_level(logging.INFO, "imabo"):
        Study.create("s", letters("a"), seed=1, revision=3, **settings)
        Study.create("s", letters("b"), revision=4, if_changed="update", **settings)
        assert "the choice 'b' is added" in caplog.text
        caplog.clear()
        Study.create("s", letters("a"), revision=3, if_changed="update", **settings)
        assert "revision 3, and revision 4 was declared already" in caplog.text
        caplog.clear()
        Study.create("s", letters("c"), if_changed="keep", **settings)
        assert "if_changed is 'keep'" in caplog.text or "no revision" in caplog.text


def test_a_policy_of_one_s_own_is_refused_or_kept() -> None:
    settings = {"store": MemoryStore(), **QUICK}
    Study.create("s", letters("a"), policy=Greedy(), seed=1, **settings)
    with pytest.raises(StudyExists, match="policy: "):
        Study.create("s", letters("a"), policy=Greedy(arms_wanted=9), **settings)
    with pytest.raises(InvalidSetting, match="Greedy"):
        Study.create("s", letters("a"), if_changed="keep", **settings)
    kept = Study.create("s", letters("b"), policy=Greedy(), if_changed="keep", **settings)
    assert (kept.policy, kept.space) == (Greedy(), letters("a"))


def test_a_difference_of_spaces_is_told_line_by_line() -> None:
    old = Space(
        {"model": Choice("a", 1), "x": Float(0, 1), "k": Int(1, 8), "t": Float(0, 1)},
        forbid=[{"model": "a", "k": 1}],
    )
    new = Space(
        {
            "model": Choice("a", True),
            "x": Int(0, 1),
            "k": Int(1, 8, log=True),
            "t": Float(0, 1, when={"model": "a"}),
        }
    )
    assert space_difference(old.to_dict(), new.to_dict()) == [
        "parameter 'model': the choice True is added",
        "parameter 'model': the choice 1 is removed",
        "parameter 'x': float, 0.0 to 1.0 becomes int, 0 to 1",
        "parameter 'k': log False becomes True",
        "parameter 't': when {} becomes {'model': ['a']}",
        "no longer forbidden: {'model': ['a'], 'k': [1]}",
    ]
    swapped = Space({name: old.parameters[name] for name in ("x", "model", "k", "t")})
    (line,) = space_difference(Space(dict(old.parameters)).to_dict(), swapped.to_dict())
    assert line.startswith("the parameters have another order")
    assert space_difference(old.to_dict(), old.to_dict()) == []


def test_a_file_of_before_has_no_revision_and_may_be_declared(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/imabo.db"
    study = Study.create("s", letters("a"), store=url, seed=1, **QUICK)
    study.update_space(letters("a", "b"))
    study.close()
    # As a version of before left it: nothing is known of declarations.
    with Study.create("s", letters("a"), store=url, **QUICK) as again:
        assert (again.revision, again.store.declaration("s")) == (None, None)
    with Study.create(
        "s", letters("c"), store=url, revision=1, if_changed="update", **QUICK
    ) as newer:
        assert newer.store.declaration("s") == {
            "space": letters("c").to_dict(),
            "reward_range": [0.0, 1.0],
            "window_s": None,
        }


def test_a_refused_declaration_shows_one_error_and_not_the_way_there() -> None:
    """Before it, a traceback would show that the name is taken, with other advice."""
    store = Study.create("s", Space(x=Float(0.0, 1.0))).store
    with pytest.raises(StudyExists) as caught:
        Study.create("s", Space(x=Float(0.0, 2.0)), store=store)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
