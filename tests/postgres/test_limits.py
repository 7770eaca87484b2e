"""PostgresStore when the server is frozen, or another session holds a study: nobody waits long."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import ParamSpec, TypeVar

import psycopg
import pytest

from imabo import Float, Space, Study, oracles, policies
from imabo.errors import InvalidSetting, StoreError
from imabo.stores import open_store
from imabo.stores.base import NewPull
from imabo.stores.postgres import PostgresStore, pool
from imabo.stores.postgres.failures import NotConnected, StillSilent
from imabo.stores.postgres.pool import Silence, connect
from imabo.testing.audit import audit
from imabo.testing.stores.facts import Writer, check_sums, everything
from tests.postgres.server import AnyServer
from tests.postgres.test_faults import VERBS, end_connections

P = ParamSpec("P")
T = TypeVar("T")

LIMIT_S = 0.4
AT_MOST_S = LIMIT_S + 5.0  # on a busy machine; without a limit it would be for ever


@contextmanager
def frozen(server: AnyServer) -> Iterator[None]:
    """Stop every process of the server, with its sockets open, and let them go on."""
    server.freeze()
    try:
        yield
    finally:
        server.thaw()


@contextmanager
def ends_within(seconds: float) -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds


@pytest.fixture
def store(postgres_url: str) -> Iterator[PostgresStore]:
    """One that soon gives up: for what is to be given up, because a busy disk is slow as well."""
    with closing(PostgresStore(postgres_url, limit_s=LIMIT_S)) as store:
        yield store


def answered(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What it gives in the end: it is sent again until it is answered, as the error says."""
    while True:
        with suppress(StoreError):
            return call(*args, **kwargs)
        time.sleep(0.05)


def wait_until_settled(url: str) -> None:
    """Until the server is done with what it heard before it was frozen, and all who said it."""
    end_connections(url)
    sessions = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    with psycopg.connect(url, autocommit=True) as db:
        while db.execute(sessions).fetchone() != (1,):
            time.sleep(0.02)


@pytest.mark.parametrize("verb", ["load", "serve", "reward", "delete", "log"])
def test_a_frozen_server_is_given_up_and_nothing_is_said_of_the_outcome(
    postgres_server: AnyServer,
    postgres_store: PostgresStore,
    postgres_url: str,
    store: PostgresStore,
    verb: str,
) -> None:
    Writer(postgres_store).serve(1)
    before = everything(postgres_store)
    answered(store.names)  # it has a connection
    with frozen(postgres_server):
        words = r"did not answer within the limit of 0\.4 s.*is not known.*send the same again"
        # What may take long is given up when a second connection is not answered either.
        at_most_s = AT_MOST_S + 2.0 * (verb in ("delete", "log"))
        with ends_within(at_most_s), pytest.raises(StoreError, match=words):
            VERBS[verb](store)
    if verb in ("load", "log"):
        assert everything(postgres_store) == before
    elif verb != "delete":
        wait_until_settled(postgres_url)
        check_sums(postgres_store)


def test_a_store_that_is_opened_on_a_frozen_server_says_so(
    postgres_server: AnyServer, postgres_url: str
) -> None:
    with (
        frozen(postgres_server),
        ends_within(AT_MOST_S + 2.0),
        pytest.raises(StoreError, match="took no connection in time"),
    ):
        PostgresStore(postgres_url, limit_s=LIMIT_S)


def test_a_server_that_stays_frozen_is_tried_again_without_much_waiting(
    postgres_server: AnyServer, postgres_store: PostgresStore, store: PostgresStore
) -> None:
    Writer(postgres_store)
    with frozen(postgres_server):
        with pytest.raises(StoreError):
            store.names()
        time.sleep(0.6)  # now somebody tries again, and only one
        found: list[str] = []
        threads = [threading.Thread(target=try_names, args=[store, found]) for _ in range(8)]
        with ends_within(AT_MOST_S):
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    # Most of them did not wait to find out again; a slow machine may let two try in turn.
    assert sum("did not answer a moment ago" in words for words in found) >= 6
    assert answered(store.names) == ["study"]


def try_names(store: PostgresStore, found: list[str]) -> None:
    try:
        store.names()
    except StoreError as error:
        found.append(str(error))


def test_a_server_that_was_silent_has_little_time_to_show_that_it_is_back() -> None:
    silence = Silence()
    silence.begin()
    with pytest.raises(StillSilent), silence.first_word():
        pass
    time.sleep(0.6)
    with socket.create_server(("127.0.0.1", 0)) as deaf:  # it takes connections and says nothing
        port = deaf.getsockname()[1]
        with ends_within(AT_MOST_S), pytest.raises(NotConnected), silence.first_word():
            connect(30.0, host="127.0.0.1", port=port, connect_timeout=30)


def test_what_was_not_answered_is_settled_by_sending_it_again(
    postgres_server: AnyServer, postgres_store: PostgresStore, store: PostgresStore
) -> None:
    space = Space(x=Float(0.0, 1.0))
    policy, oracle = policies.IMOSS(), oracles.Random()
    with Study.create(
        "study", space, policy=policy, oracle=oracle, store=postgres_store, seed=0
    ) as other:
        told = other.ask(key="told")
    with answered(Study.open, "study", store=store) as study:
        for n in range(2):
            with (
                frozen(postgres_server),
                ends_within(AT_MOST_S),
                pytest.raises(StoreError, match="is not known"),
            ):
                study.ask(key=f"key {n}") if n else study.tell(told.id, 0.5)
            answered(study.tell, told.id, 0.5)
            pull = answered(study.ask, key=f"key {n}")
            assert answered(study.ask, key=f"key {n}").id == pull.id
            answered(study.tell, pull.id, 0.25)
        assert study.n_rewards == 3
        assert len(list(study)) == 3
    assert audit(postgres_store, "study") == []


def test_a_commit_that_is_not_answered_leaves_the_view_as_the_store_has_it(
    postgres_server: AnyServer,
    postgres_store: PostgresStore,
    postgres_url: str,
    store: PostgresStore,
) -> None:
    Writer(postgres_store).serve(1)

    def take_turn() -> None:
        with store.turn("study"):
            store.serve("study", seq=1, at=300.0, pulls=[NewPull(2, 1, "index")])
            postgres_server.freeze()

    try:
        with ends_within(AT_MOST_S), pytest.raises(StoreError, match="is not known"):
            take_turn()
    finally:
        postgres_server.thaw()
    wait_until_settled(postgres_url)
    check_sums(postgres_store)
    assert answered(store.load, "study").seq in (1, 2)  # the server may have heard the commit


@contextmanager
def held(url: str) -> Iterator[None]:
    """Another session that holds the row of a study and does nothing."""
    with psycopg.connect(url) as db:
        db.execute("SELECT FROM imabo_studies WHERE name = 'study' FOR UPDATE")
        yield
        db.rollback()


def test_a_study_that_another_session_holds_is_given_up_and_the_others_go_on(
    postgres_url: str, postgres_store: PostgresStore, store: PostgresStore
) -> None:
    Writer(postgres_store).serve(1)
    Writer(postgres_store, "other").serve(1)
    before = everything(postgres_store)
    with held(postgres_url):
        for verb in ("serve", "reward", "turn"):
            words = r"lock timeout.*undid what it was at.*pg_stat_activity"
            with ends_within(AT_MOST_S), pytest.raises(StoreError, match=words):
                VERBS[verb](store)
        # The row is held all the while: who needed it would never be answered.
        answered(store.reward, "other", 1, 0.5, at=300.0)
    assert everything(postgres_store) == before
    assert answered(store.reward, "study", 1, 0.5, at=300.0) is not None


def test_who_finds_all_connections_in_use_is_told_so(postgres_url: str) -> None:
    with closing(PostgresStore(postgres_url, limit_s=2.0, connections=2)) as store:
        for name in ("a", "b"):
            Writer(store, name)
        with store.turn("a"):
            done: list[str] = []

            def take_turn() -> None:
                with store.turn("b"), ends_within(AT_MOST_S):
                    try:
                        store.names()
                    except StoreError as error:
                        done.append(str(error))

            thread = threading.Thread(target=take_turn)
            thread.start()
            thread.join()
        assert "all 2 connections" in done[0]
        assert store.names() == ["a", "b"]


def test_sixteen_threads_have_connections_at_once(postgres_url: str) -> None:
    with closing(PostgresStore(postgres_url, limit_s=5.0)) as store:
        for n in range(16):
            Writer(store, f"study {n}")
        together = threading.Barrier(16, timeout=20.0)

        def take_turn(n: int) -> None:
            with store.turn(f"study {n}"):
                together.wait()

        threads = [threading.Thread(target=take_turn, args=[n]) for n in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not together.broken


def test_a_long_verb_is_not_given_up_while_the_server_answers(
    postgres_url: str, postgres_store: PostgresStore, store: PostgresStore
) -> None:
    Writer(postgres_store).serve(1)
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(
            "CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS "
            f"'BEGIN PERFORM pg_sleep({2.5 * LIMIT_S}); RETURN OLD; END'"
        )
        db.execute(
            "CREATE TRIGGER linger BEFORE DELETE ON imabo_studies FOR EACH ROW "
            "EXECUTE FUNCTION linger()"
        )
    store.delete("study")
    assert postgres_store.names() == []


def test_a_server_that_has_nothing_to_say_is_not_given_up(
    postgres_store: PostgresStore, store: PostgresStore
) -> None:
    store.wait(0.01)  # it listens from now on
    waiting = threading.Thread(target=store.wait, args=[30.0])
    waiting.start()
    time.sleep(2.5 * LIMIT_S)
    Writer(postgres_store)
    waiting.join(timeout=10.0)
    assert not waiting.is_alive()


def test_a_server_that_is_slow_to_begin_a_session_is_opened_all_the_same(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it answers others is asked while the first connection is still being made."""
    slow = {"extra_float_digits": f"3; SELECT pg_sleep({2.5 * LIMIT_S})"}
    monkeypatch.setattr(pool, "_SETTINGS", slow)
    PostgresStore(postgres_url, limit_s=LIMIT_S).close()


@pytest.mark.parametrize("limit_s", [0, -1.0, float("nan"), 1e9, "1", True])
def test_a_limit_that_makes_no_sense_is_refused(limit_s: float) -> None:
    with pytest.raises(InvalidSetting, match="limit_s"):
        open_store("postgresql://nobody@127.0.0.1:1/tuning", limit_s=limit_s)
