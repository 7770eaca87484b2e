"""The group commit: many requests, few transactions, nothing lost."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from imabo import Choice, Float, Space, Study, oracles
from imabo.engine.requests import Request
from imabo.errors import ImaboError, NothingToServe, UnknownStudy
from imabo.server.commits import Commits
from imabo.server.problems import Refusal
from imabo.server.registry import Registry
from imabo.stores import MemoryStore, open_store
from tests.server.calls import Api
from tests.server.running import RunningServer


@asynccontextmanager
async def committing(registry: Registry, limit: int = 10_000) -> AsyncIterator[Commits]:
    commits = Commits(registry, limit=limit)
    commits.start()
    yield commits
    assert await commits.drain(10.0)


def registry_of(space: Space | None = None) -> Registry:
    store = MemoryStore()
    space = space or Space(x=Float(0, 1))
    Study.create("s", space, store=store, seed=0, oracle=oracles.Random())
    return Registry(store)


def test_concurrent_asks_over_http_share_transactions(tmp_path: Path) -> None:
    n = 50
    store = open_store(f"sqlite:///{tmp_path}/imabo.db")
    with RunningServer(store) as server:

        async def ask_all() -> list[str]:
            busy = sqlite3.connect(tmp_path / "imabo.db", isolation_level=None)
            async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
                busy.execute("BEGIN IMMEDIATE")  # nobody can commit until all of them wait
                asks = [asyncio.create_task(http.post("/v1/studies/s/pulls")) for _ in range(n)]
                while server.app.parts.commits.n_waiting < n:
                    await asyncio.sleep(0.01)
                busy.execute("ROLLBACK")
                answers = await asyncio.gather(*asks)
            busy.close()
            return [answer.json()["pulls"][0]["id"] for answer in answers]

        with httpx.Client(base_url=server.url) as http:
            Api(http, "s")
        ids = asyncio.run(ask_all())
    snapshot = store.load("s")
    store.close()
    assert len(set(ids)) == n == snapshot.totals.n_pulls
    assert snapshot.seq <= 3


def test_what_waits_together_is_one_transaction_a_study_and_kind() -> None:
    async def play() -> None:
        registry = registry_of()
        async with committing(registry) as commits:
            asked = await asyncio.gather(*(commits.ask("s", Request()) for _ in range(50)))
            ids = [one.pulls[0].id for one in asked]
            told = await asyncio.gather(*(commits.tell("s", [(i, 0.5)]) for i in ids))
        assert told == [[None]] * 50
        study = registry.study("s")
        assert (study.n_pulls, study.n_rewards) == (50, 50)
        assert study.seq <= 6  # the first of a kind may go alone

    asyncio.run(play())


def test_one_bad_reward_does_not_hold_up_the_others_of_its_group() -> None:
    async def play() -> None:
        async with committing(registry_of()) as commits:
            asked = await commits.ask("s", Request(count=2))
            good, bad = (pull.id for pull in asked.pulls)
            answers = await asyncio.gather(
                commits.tell("s", [(good, 0.5)]),
                commits.tell("s", [(bad, 7.0), ("x-1", 0.5)]),
                commits.tell("s", [(good, 0.6)]),
            )
        codes = [[error and error.code for error in one] for one in answers]
        assert codes == [[None], ["invalid_reward", "unknown_pull"], ["reward_conflict"]]

    asyncio.run(play())


def test_a_group_that_is_refused_is_asked_one_by_one() -> None:
    async def play() -> None:
        registry = registry_of(Space(x=Choice(1)))
        async with committing(registry) as commits:
            first = await commits.ask("s", Request(key="k"))
            assert first.is_new
            registry.study("s").pause(1)
            new, known = await asyncio.gather(
                commits.ask("s", Request()),
                commits.ask("s", Request(key="k")),
                return_exceptions=True,
            )
        assert isinstance(new, NothingToServe)
        assert not isinstance(known, BaseException)
        assert not known.is_new
        assert [pull.id for pull in known.pulls] == [pull.id for pull in first.pulls]

    asyncio.run(play())


def test_the_same_key_twice_in_a_group_is_new_once() -> None:
    async def play() -> None:
        async with committing(registry_of()) as commits:
            asked = await asyncio.gather(*(commits.ask("s", Request(key="k")) for _ in range(5)))
        assert sorted(one.is_new for one in asked) == [False] * 4 + [True]
        assert len({one.pulls[0].id for one in asked}) == 1

    asyncio.run(play())


def test_more_than_may_wait_are_refused_and_the_rest_is_served() -> None:
    async def play() -> None:
        async with committing(registry_of(), limit=3) as commits:
            waiting = [commits.ask("s", Request()) for _ in range(3)]
            with pytest.raises(Refusal) as refused:
                commits.ask("s", Request())
            assert refused.value.code == "unavailable"
            assert refused.value.headers["Retry-After"] == "1"
            assert len(await asyncio.gather(*waiting)) == 3
            assert commits.n_waiting == 0
            await commits.ask("s", Request())

    asyncio.run(play())


def test_draining_commits_what_was_taken_and_takes_no_more() -> None:
    async def play() -> None:
        registry = registry_of()
        commits = Commits(registry)
        commits.start()
        waiting = [commits.ask("s", Request(count=100)) for _ in range(30)]
        assert await commits.drain(30.0)
        assert all(future.done() for future in waiting)
        assert registry.study("s").n_pulls == 3000
        with pytest.raises(Refusal, match="stopping"):
            commits.ask("s", Request())

    asyncio.run(play())


def test_an_unknown_study_concerns_those_who_asked_for_it_alone() -> None:
    async def play() -> None:
        async with committing(registry_of()) as commits:
            good, bad = await asyncio.gather(
                commits.ask("s", Request()), commits.ask("t", Request()), return_exceptions=True
            )
        assert not isinstance(good, BaseException)
        assert isinstance(bad, UnknownStudy)
        assert "'s'" not in str(bad)

    asyncio.run(play())


def test_a_fault_of_ours_reaches_the_caller_without_its_details() -> None:
    class Faulty(Registry):
        def study(self, name: str) -> Study:
            raise RuntimeError(f"secret of {name}")

    async def play() -> None:
        async with committing(Faulty(MemoryStore())) as commits:
            with pytest.raises(ImaboError) as failed:
                await commits.tell("s", [("x-1", 0.5)])
        assert failed.value.code == "internal"
        assert "secret" not in str(failed.value)

    asyncio.run(play())
