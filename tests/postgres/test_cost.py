"""What a verb costs: statements do not grow with a batch, rows read do not grow with the study."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import psycopg
import pytest

from imabo.stores.base import NewPull, StaleView
from imabo.stores.postgres import PostgresStore
from imabo.stores.postgres.statements import CHANGES
from imabo.stores.rules import milestone_width
from imabo.testing.stores.facts import Writer


@contextmanager
def statements() -> Iterator[list[str]]:
    """The statements that are sent within the block."""
    sent: list[str] = []
    execute = psycopg.Cursor.execute

    def note(self: Any, statement: bytes, *args: Any, **kwargs: Any) -> Any:
        sent.append(statement.decode())
        return execute(self, statement, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psycopg.Cursor, "execute", note)
        yield sent


@pytest.mark.parametrize("n", [1, 500])
def test_a_batch_of_any_size_takes_the_same_few_statements(
    postgres_store: PostgresStore, n: int
) -> None:
    writer = Writer(postgres_store)
    writer.serve(*range(1, 21))
    with statements() as sent:
        numbers = writer.serve(*[1 + i % 20 for i in range(n)])
    # One by itself. 500 reach a milestone: the study is locked, they are served, it is kept.
    assert len(sent) == (1 if n == 1 else 3)
    with statements() as sent:
        postgres_store.reward_many("study", [(number, 0.5) for number in numbers], at=300.0)
    assert len(sent) == 3


def test_a_serve_that_reaches_no_milestone_says_nothing_of_them(
    postgres_store: PostgresStore,
) -> None:
    writer = Writer(postgres_store)
    writer.serve(1)
    seen = []
    for _ in range(2, 25):
        with statements() as sent:
            writer.serve(1)
        seen.append((len(sent), any("imabo_milestones" in statement for statement in sent)))
    # Pulls 2 to 24; of these, 8, 16 and 24 pass a multiple of the width.
    assert seen == [(3, True) if n % 8 == 0 else (1, False) for n in range(2, 25)]


def test_changes_are_found_among_any_number_of_expiries(
    postgres_store: PostgresStore, postgres_url: str
) -> None:
    writer = Writer(postgres_store)
    writer.serve(1)
    writer.put_state(1, "paused")
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(
            "INSERT INTO imabo_events SELECT study, n, 'expire', 600, '{}' FROM imabo_events, "
            "generate_series(100, 3000) AS n"
        )
        db.execute("SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off")
        db.execute("SET enable_sort = off; SET enable_bitmapscan = off")
        plan = db.execute(b"EXPLAIN " + CHANGES, {"name": "study", "limit": 9}).fetchall()
    assert any("imabo_events_changes" in line for (line,) in plan)
    assert [entry.kind for entry in postgres_store.changes("study")] == ["state"]


def read_rows(url: str) -> tuple[int, int]:
    """How often the pulls were read from end to end, and how many were fetched by an index."""
    others = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> %s"
    with psycopg.connect(url, autocommit=True) as db:
        # A process of the server reports what it read when it ends, which takes a moment.
        while db.execute(others, [db.info.backend_pid]).fetchone() is not None:
            time.sleep(0.01)
        row = db.execute(
            "SELECT seq_scan, idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'imabo_pulls'"
        ).fetchone()
    assert row is not None
    return row


def next_pulls(n: int) -> list[NewPull]:
    """As many as surely pass a multiple of the width."""
    return [NewPull(number, 1, "") for number in range(n + 1, n + 1 + milestone_width(n + 64))]


VERBS: dict[str, Callable[[PostgresStore, int], object]] = {
    "load": lambda store, _: store.load("study"),
    "outline": lambda store, _: store.outline("study"),
    "serve": lambda store, n: store.serve("study", seq=4, at=210.0, pulls=[NewPull(n + 1, 1, "")]),
    "reward": lambda store, n: store.reward_many("study", [(n, 0.5), (n - 1, 0.5)], at=300.0),
    "expire": lambda store, _: store.expire("study", before=100.0, at=300.0),
    "prune": lambda store, _: store.prune("study", before=250.0, limit=5),
    "milestones": lambda store, _: store.milestones("study"),
    "changes": lambda store, _: store.changes("study"),
    "milestone": lambda store, n: store.serve("study", seq=4, at=210.0, pulls=next_pulls(n)),
    "pulls": lambda store, _: store.pulls("study", after=100, limit=5),
    "pull": lambda store, n: store.pull("study", n),
    "keyed": lambda store, _: store.keyed("study", ["a", "b"]),
    "first_rewards": lambda store, _: store.first_rewards("study", list(range(1, 21))),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_reads_a_few_pulls_of_many(postgres_url: str, verb: str) -> None:
    n = 3000
    with closing(PostgresStore(postgres_url)) as store:
        writer = Writer(store)
        writer.serve(1, reason="warmup")
        writer.serve(*[1 + i % 20 for i in range(n - 101)], at=200.0)
        writer.serve(*[1 + i % 20 for i in range(100)], at=201.0)
        told = [(number, 0.5) for number in range(1, n - 100, 2)]
        store.reward_many("study", told, at=250.0)
        store.load("study")
        store.expire("study", before=200.5, at=260.0)
    with closing(PostgresStore(postgres_url)) as store:
        before = read_rows(postgres_url)
        for _ in range(7):  # also once the driver has prepared it, and its plan is kept
            with suppress(StaleView):  # serving again
                VERBS[verb](store, n)
    after = read_rows(postgres_url)
    assert after[0] == before[0]
    assert after[1] - before[1] <= 100
