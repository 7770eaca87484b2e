"""Schema versions: upgraded once under a lock, or not at all; the first one kept for ever."""

from __future__ import annotations

import re
from contextlib import ExitStack, closing
from pathlib import Path

import psycopg
import pytest

from imabo import Study
from imabo.errors import SchemaTooNew
from imabo.stores import open_store
from imabo.stores.postgres import PostgresStore, outbox_statements, statements
from imabo.stores.postgres.schema import STEPS, upgrade, version_of
from imabo.testing.stores.facts import Writer, everything
from tests.postgres.children.upgrade import NEXT_STEP
from tests.postgres.server import AnyServer, fresh_database
from tests.stores.processes import run_together

V1 = Path(__file__).parent / "assets" / "v1.sql"


def tables_of(url: str) -> set[str]:
    """The tables of a database."""
    with psycopg.connect(url) as db:
        rows = db.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    return {name for (name,) in rows}


def test_several_processes_upgrade_a_database_exactly_once(postgres_server: AnyServer) -> None:
    with ExitStack() as stack:
        urls = [stack.enter_context(fresh_database(postgres_server)) for _ in range(4)]
        for url in urls[:2]:  # the others are empty
            with closing(PostgresStore(url)) as store:
                Writer(store).serve(1, 2)
        found = run_together("tests.postgres.children.upgrade", [urls] * 4)
        assert found == ["upgraded"] * 4
        for url in urls:
            with psycopg.connect(url) as db:
                assert db.execute("SELECT count(*) FROM upgrades").fetchone() == (1,)
                assert db.execute("SELECT count(note) FROM imabo_arms").fetchone() == (0,)
                version = db.execute("SELECT version FROM imabo_schema_version").fetchall()
                assert version == [(len(STEPS) + 1,)]


@pytest.mark.parametrize("n_done", range(len(NEXT_STEP) + 1))
def test_a_failing_step_leaves_the_database_as_it_was(
    postgres_store: PostgresStore, postgres_url: str, n_done: int
) -> None:
    Writer(postgres_store).serve(1)
    broken = (*NEXT_STEP[:n_done], "ALTER TABLE nowhere ADD COLUMN x TEXT")
    with psycopg.connect(postgres_url) as db:
        with pytest.raises(psycopg.errors.UndefinedTable, match="nowhere"):
            upgrade(db, "the database", (*STEPS, broken))
        assert version_of(db, "the database") == len(STEPS)
    assert "upgrades" not in tables_of(postgres_url)
    assert Writer(postgres_store, create=False).serve(1) == [2]


def test_opening_a_current_database_waits_for_nobody(
    postgres_store: PostgresStore, postgres_url: str
) -> None:
    with psycopg.connect(postgres_url) as busy:
        busy.execute("LOCK TABLE imabo_studies IN SHARE ROW EXCLUSIVE MODE")
        open_store(postgres_url).close()


def test_a_newer_schema_is_refused(postgres_store: PostgresStore, postgres_url: str) -> None:
    postgres_store.close()
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute("UPDATE imabo_schema_version SET version = 99")
    with pytest.raises(SchemaTooNew, match="has schema version 99"):
        PostgresStore(postgres_url)


def test_the_tables_of_the_statements_are_those_of_the_database(postgres_url: str) -> None:
    both = [*vars(statements).values(), *vars(outbox_statements).values()]
    said = b" ".join(value for value in both if isinstance(value, bytes))
    named = {name.decode() for name in re.findall(rb"\bimabo_[a-z_]+", said)}
    assert named - {statements.CHANNEL, "imabo_log"} == tables_of(postgres_url)


def test_a_database_of_the_first_schema_opens_and_goes_on(empty_url: str) -> None:
    with psycopg.connect(empty_url, autocommit=True) as db:
        db.execute(V1.read_text(encoding="utf-8").encode())
    with Study.open("v1 🎉", store=empty_url, clock=lambda: 1_210.0) as study:
        assert (study.seed, study.window_s, study.reward_range) == (2**70 + 1, 50.0, (-1.0, 1.0))
        assert (study.n_pulls, study.n_rewards, study.n_pending) == (18, 9, 2)
        assert study.space_version == 2
        assert {arm.state for arm in study.arms()} == {"active", "paused", "retired"}
        pulls = list(study)
        assert pulls[0].reward == 0.1 + 0.2
        assert {pull.state for pull in pulls} == {"pending", "rewarded", "expired"}
        again = study.ask(count=2, key="a key")
        assert [pull.id for pull in again] == [pull.id for pull in pulls[-2:]]
        assert again[0].context == {"user": 7}
        for pull in pulls:
            if pull.state != "rewarded":
                study.tell(pull.id, -0.5)
        for pull in study.ask(count=20):
            study.tell(pull.id, 0.25)
        assert (study.n_pulls, study.n_rewards, study.n_pending) == (38, 38, 0)
        assert study.view.memory is not None, "it had none, and more than 16 rewards by now"
        kept = study.view.n_now.tolist()
    with Study.open("v1 🎉", store=empty_url, clock=lambda: 1_210.0) as study:
        assert study.view.memory is not None
        assert study.view.n_now.tolist() == kept
    with closing(PostgresStore(empty_url)) as store:
        kinds = [entry.kind for entry in everything(store, "v1 🎉").log]
        assert {"ask", "tell", "expire", "state", "arm", "space"} == set(kinds)
        # It had 18 pulls before there were milestones.
        (milestone,) = store.milestones("v1 🎉")
        assert (milestone.n_pulls, sum(milestone.arm_pulls)) == (38, 38)
        assert [entry.kind for entry in store.changes("v1 🎉")] == [
            kind for kind in kinds if kind in ("state", "arm", "space")
        ]
        (key,) = store.keys()
        assert key.studies == ("v1 🎉",)
        Writer(store, "another").serve(1)  # its id is none that is taken
