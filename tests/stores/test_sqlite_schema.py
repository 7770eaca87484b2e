"""Schema versions: upgraded once under the lock, or not at all; the first one kept for ever."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from imabo import Choice, Float, Int, Space, Study, oracles, policies
from imabo.stores import SQLiteStore
from imabo.stores.history import ADMITTING
from imabo.stores.sqlite.connections import connect
from imabo.stores.sqlite.schema import STEPS, upgrade, version_of
from imabo.testing.stores.facts import Writer, beliefs_of, everything, memory_of
from tests.stores.children.upgrade import NEXT_STEP
from tests.stores.processes import run_together

V1, V4 = (Path(__file__).parent / "assets" / f"sqlite-v{version}.sql" for version in (1, 4))


SPACE_OF_V4 = Space(
    model=Choice("tiny", "small", "large"), temperature=Float(0.0, 1.0), top_k=Int(1, 10)
)
SETTINGS_OF_V4: dict[str, Any] = {"reward_range": (-1.0, 1.0), "window_s": 50.0}


def dump(path: str) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        return [*db.iterdump(), *map(str, db.execute("PRAGMA user_version"))]


@pytest.mark.service
def test_several_processes_upgrade_a_file_exactly_once(tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{n}.db") for n in range(10)]
    for path in paths:
        with closing(SQLiteStore(path)) as store:
            Writer(store).serve(1, 2)
    found = run_together("tests.stores.children.upgrade", [paths] * 4)
    assert found == ["upgraded"] * 4
    for path in paths:
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("SELECT count(*) FROM upgrades").fetchone() == (1,)
            assert db.execute("SELECT count(*), count(note) FROM arms").fetchone() == (2, 0)
            assert version_of(db, path, (*STEPS, NEXT_STEP)) == len(STEPS) + 1


@pytest.mark.parametrize("n_done", range(len(NEXT_STEP) + 1))
def test_a_failing_step_leaves_the_file_as_it_was(study_path: str, n_done: int) -> None:
    before = dump(study_path)
    broken = (*NEXT_STEP[:n_done], "ALTER TABLE nowhere ADD COLUMN x")
    with closing(connect(study_path)) as db:
        with pytest.raises(sqlite3.OperationalError, match="nowhere"):
            upgrade(db, study_path, (*STEPS, broken))
        assert not db.in_transaction
    assert dump(study_path) == before
    with Study.open("study", store=f"sqlite:///{study_path}") as study:
        study.tell(study.ask().id, 0.5)


def test_opening_a_current_file_writes_nothing_and_waits_for_nobody(study_path: str) -> None:
    with closing(connect(study_path)) as busy:
        busy.execute("BEGIN IMMEDIATE")  # a writer in the middle of its transaction
        with Study.open("study", store=f"sqlite:///{study_path}") as study:
            assert len(study) == 0
        busy.execute("ROLLBACK")


def test_a_file_of_the_first_schema_gets_what_came_later(path: str) -> None:
    Path(path).touch()
    with closing(connect(path)) as db:
        upgrade(db, path, STEPS[:1])
        assert version_of(db, path) == 1
        db.execute(
            "INSERT INTO studies (name, token, seed, policy, oracle, created_at, last_at) "
            "VALUES ('study', 'token', '7', '{}', '{}', 100, 100)"
        )
        db.execute("INSERT INTO spaces VALUES (1, 1, '{}', 0, 0, 0, 0)")
    with closing(SQLiteStore(path)) as store:
        assert store.load("study").beliefs is None
        assert store.load("study").memory is None
        Writer(store, create=False).serve(1, beliefs=beliefs_of(1), memory=memory_of(1))
        assert store.keyed("study", ["a"]) == {}
        assert store.keys() == []
        assert store.milestones("study") == []
        assert store.changes("study") == []
    with closing(SQLiteStore(path)) as store:
        assert store.load("study").beliefs == beliefs_of(1)
        assert store.load("study").memory == memory_of(1)
    with closing(connect(path)) as db:
        assert version_of(db, path) == len(STEPS)
        db.execute("DELETE FROM studies")  # and what belongs to it goes along
        assert db.execute("SELECT count(*) FROM beliefs").fetchone() == (0,)


def test_a_file_of_the_first_schema_opens_and_goes_on(path: str) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.executescript(V1.read_text(encoding="utf-8"))
    clock = [2_000.0]
    study = Study.open("v1 🎉", store=f"sqlite:///{path}", clock=lambda: clock[0])
    assert (study.seed, study.window_s, study.reward_range) == (2**70 + 1, 50.0, (-1.0, 1.0))
    assert (study.n_pulls, study.n_rewards, study.n_pending) == (16, 9, 4)
    assert (study.n_arms, study.space_version, study.n_expired) == (15, 2, 3)
    arms = study.arms()
    assert {arm.state for arm in arms} == {"active", "paused", "retired"}
    assert {arm.origin for arm in arms} == {"warmup", "manual"}
    assert arms[8].config == {"model": "large", "temperature": 0.3, "top_k": 3}
    pulls = list(study)
    assert pulls[0].reward == 0.1 + 0.2
    assert {pull.state for pull in pulls} == {"pending", "rewarded", "expired"}
    for pull in pulls:
        if pull.state == "expired":
            study.tell(pull.id, -0.5)
    for pull in study.ask(count=30):
        study.tell(pull.id, 0.25)
    assert (study.n_pulls, study.n_rewards, study.n_pending) == (46, 42, 0)
    study.close()
    with closing(SQLiteStore(path)) as store:
        kinds = [entry.kind for entry in everything(store, "v1 🎉").log]
        assert {"ask", "tell", "expire", "state", "arm", "space"} == set(kinds)
        # Those from before the index are found by it.
        new = [pull for pull in pulls if pull.reason in ADMITTING]
        told = {pull.arm: pull.reward for pull in new if pull.state == "rewarded"}
        assert len(told) > 3
        assert told.items() <= store.first_rewards("v1 🎉", list(range(1, 99))).items()
        # It had 16 pulls before there were milestones.
        (milestone,) = store.milestones("v1 🎉")
        assert (milestone.n_pulls, sum(milestone.arm_pulls)) == (46, 46)
        assert [entry.kind for entry in store.changes("v1 🎉")] == [
            kind for kind in kinds if kind in ("state", "arm", "space")
        ]


def test_a_file_of_the_last_schema_without_memories_gains_one(path: str) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.executescript(V4.read_text(encoding="utf-8"))
    clock = [2_000.0]
    url = f"sqlite:///{path}"
    with Study.open("v4 🎉", store=url, clock=lambda: clock[0]) as study:
        assert (study.n_pulls, study.n_rewards) == (56, 49)
        assert study.policy == policies.Informed()
        assert study.oracle == oracles.GP()
        view = study.view
        assert (view.memory, view.believed_at, view.skill) == (None, 0, 1.0)
        assert view.prior_counts.any()
        study.tell(study.ask().id, 0.5)
        assert study.view.memory is not None
        assert study.view.memory.moments == (49,)
        for pull in study.ask(count=30):
            study.tell(pull.id, 0.25)
        shown = study.view.n_now.tolist()
    with Study.open("v4 🎉", store=url, clock=lambda: clock[0]) as study:
        assert study.view.n_now.tolist() == shown
        assert study.view.memory is not None
        assert study.events()[-1].kind == "arm"
    # The same study to those who make it with the defaults of today.
    with Study.create("v4 🎉", SPACE_OF_V4, store=url, **SETTINGS_OF_V4) as study:
        assert study.n_rewards == 80
    with closing(connect(path)) as db:
        assert version_of(db, path) == len(STEPS)
        db.execute("DELETE FROM studies")
        assert db.execute("SELECT count(*) FROM memories").fetchone() == (0,)


def test_milestones_begin_in_the_middle_of_a_study_of_an_older_file(path: str) -> None:
    with closing(SQLiteStore(path)) as store:
        writer = Writer(store)
        writer.serve(*[1, 2] * 1000)
    with closing(sqlite3.connect(path)) as db:  # back to the version before them
        db.executescript(
            "DROP TABLE memories; DROP TABLE milestones; DROP INDEX events_changes; "
            "DROP INDEX pulls_admitting; DROP TABLE all_events; DROP TABLE deliveries; "
            "DROP TABLE webhooks; DROP TABLE declarations; DROP INDEX pulls_outcomes; "
            "DROP INDEX pulls_signalled; ALTER TABLE pulls DROP COLUMN signalled_seq; "
            "DROP TABLE lifts; DROP TABLE rollouts; ALTER TABLE studies DROP COLUMN revision; "
            'ALTER TABLE pulls DROP COLUMN "group"; ALTER TABLE pulls DROP COLUMN propensity; '
            "ALTER TABLE studies DROP COLUMN rollout_seq; "
            "ALTER TABLE studies DROP COLUMN n_tuned; "
            "ALTER TABLE studies DROP COLUMN n_control; ALTER TABLE studies DROP COLUMN signals; "
            "ALTER TABLE studies DROP COLUMN objective; ALTER TABLE studies DROP COLUMN banks; "
            "ALTER TABLE arms DROP COLUMN signals; ALTER TABLE pulls DROP COLUMN signals; "
            "PRAGMA user_version = 3"
        )
    with closing(SQLiteStore(path)) as store:
        writer = Writer(store, create=False)
        assert store.milestones("study") == []
        for _ in range(100):
            writer.serve(1)
        found = [milestone.n_pulls for milestone in store.milestones("study")]
    # Every 16 until 2,048 pulls, every 32 from there.
    assert found == [2016, 2048, 2080]
