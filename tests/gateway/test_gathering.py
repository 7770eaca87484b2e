"""Asks that are gathered: together while others are under way, each within its deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from imabo.defaults import default_pull
from imabo.gateway.asking import Gatherer
from imabo.gateway.mapping import Asked

PLAIN = Asked(None, None)


def test_asks_that_come_meanwhile_go_together() -> None:
    async def run() -> tuple[list[int], int]:
        sizes: list[int] = []
        gate = asyncio.Event()

        async def ask(requests: Sequence[Asked]) -> list[Any]:
            sizes.append(len(requests))
            await gate.wait()
            return [default_pull({}) for _ in requests]

        gatherer = Gatherer(ask)
        first = asyncio.create_task(gatherer.ask(PLAIN, 10.0))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        rest = [asyncio.create_task(gatherer.ask(PLAIN, 10.0)) for _ in range(20)]
        late = asyncio.create_task(gatherer.ask(PLAIN, 0.0))
        assert await late is None
        gone = asyncio.create_task(gatherer.ask(PLAIN, 10.0))
        await asyncio.sleep(0)
        gone.cancel()
        gate.set()
        pulls = await asyncio.gather(first, *rest)
        again = await gatherer.ask(PLAIN, 10.0)
        assert again is not None
        return sizes, len({pull.id for pull in pulls if pull is not None})

    sizes, n_different = asyncio.run(run())
    assert sizes == [1, 20, 1]
    assert n_different == 21


def test_a_failure_is_that_of_its_asks_alone() -> None:
    async def run() -> None:
        n_calls = 0

        async def ask(requests: Sequence[Asked]) -> list[Any]:
            nonlocal n_calls
            n_calls += 1
            if n_calls == 1:
                raise OSError("away")
            return [default_pull({}) for _ in requests]

        gatherer = Gatherer(ask, at_once=3)
        with pytest.raises(OSError, match="away"):
            await gatherer.ask(PLAIN, 10.0)
        assert await gatherer.ask(PLAIN, 10.0) is not None

    asyncio.run(run())
