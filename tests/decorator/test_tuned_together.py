"""``@tuned`` under concurrency: threads, tasks, cancelled calls."""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from imabo import Study, tuned
from imabo.errors import UnknownPull
from tests.decorator.told import rewards


def test_threads_and_tasks_do_not_see_each_other(study: Study) -> None:
    meet = threading.Barrier(4)

    @tuned(study)
    def answer(*, model: str, temperature: float) -> float:
        meet.wait(60.0)
        return temperature

    def work(_: int) -> bool:
        value = answer()
        meet.wait(60.0)  # all have been called
        answer.last.tell(value)
        return bool(value == answer.last.config["temperature"])

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))
    assert sorted(rewards(study), key=str) == sorted(
        (pull.config["temperature"] for pull in study), key=str
    )
    with pytest.raises(UnknownPull, match="was not called here"):
        _ = answer.last


def test_tasks_have_calls_of_their_own(study: Study) -> None:
    @tuned(study)
    async def answer(wait_s: float, *, model: str, temperature: float) -> float:
        await asyncio.sleep(wait_s)
        assert answer.last.config["temperature"] == temperature  # also while it runs
        return temperature

    async def handle(wait_s: float) -> bool:
        value = await answer(wait_s)
        await asyncio.sleep(0.01)
        answer.last.tell(value)
        return bool(value == answer.last.config["temperature"])

    async def main() -> list[bool]:
        return await asyncio.gather(*(handle(0.001 * (5 - n)) for n in range(5)))

    assert asyncio.run(main()) == [True] * 5
    assert study.n_rewards == 5
    is_awaited = inspect if sys.version_info >= (3, 12) else asyncio  # as frameworks look
    assert is_awaited.iscoroutinefunction(answer)


def test_an_event_loop_goes_on_while_a_study_is_asked(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticked = threading.Event()
    ask = study.ask

    def slow_ask(**given: Any) -> Any:
        assert ticked.wait(60.0)  # the loop must run meanwhile
        return ask(**given)

    monkeypatch.setattr(study, "ask", slow_ask)

    @tuned(study)
    async def answer(*, model: str, temperature: float) -> None: ...

    async def main() -> None:
        call = asyncio.create_task(answer())
        await asyncio.sleep(0)
        ticked.set()
        await call

    asyncio.run(main())


def test_a_call_that_is_cancelled_is_no_error(study: Study) -> None:
    @tuned(study, on_error=0.0)
    async def answer(*, model: str, temperature: float) -> None:
        await asyncio.sleep(60.0)

    seen: list[Any] = []

    async def handle() -> None:
        try:
            await answer()
        finally:
            seen.append(answer.last)

    async def main() -> None:
        task = asyncio.create_task(handle())
        while study.n_pulls == 0:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(main())
    assert seen[0].outcome == "abandoned"
    assert rewards(study) == [None]


def test_a_call_that_gets_no_pull_is_the_last_one_and_not_the_call_before_it(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reward for what was served in its place must not go to the request before it."""

    @tuned(study)
    def answer(*, model: str, temperature: float) -> None: ...

    answer()
    monkeypatch.setattr(study, "ask", lambda **given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        answer()
    assert (answer.last.pull, answer.last.outcome) == (None, "raised")
    answer.last.tell(0.0)  # dropped
    assert rewards(study) == [None]


def test_a_call_that_is_cancelled_while_it_asks_is_the_last_one(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, go_on = threading.Event(), threading.Event()
    ask = study.ask

    def slow_ask(**given: Any) -> Any:
        asked.set()
        assert go_on.wait(60.0)
        return ask(**given)

    @tuned(study)
    async def answer(*, model: str, temperature: float) -> None: ...

    async def handle() -> Any:
        await answer()
        monkeypatch.setattr(study, "ask", slow_ask)
        try:
            await answer()
        except asyncio.CancelledError:
            answer.last.tell(0.0)
            return answer.last

    async def main() -> Any:
        task = asyncio.create_task(handle())
        await asyncio.to_thread(asked.wait, 10.0)
        task.cancel()
        seen = await task
        go_on.set()
        return seen

    seen = asyncio.run(main())
    assert (seen.pull, seen.outcome) == (None, "abandoned")
    assert set(rewards(study)) == {None}


def test_many_threads_and_tasks_are_each_credited_with_their_own(study: Study) -> None:
    """Plain calls, awaited ones and streams at once, on one study."""

    @tuned(study)
    def plain(*, model: str, temperature: float) -> float:
        return temperature

    @tuned(study)
    async def streamed(*, model: str, temperature: float) -> AsyncIterator[float]:
        await asyncio.sleep(0)
        assert streamed.last.config["temperature"] == temperature
        yield temperature
        await asyncio.sleep(0)
        assert streamed.last.config["temperature"] == temperature
        yield temperature

    def in_thread(_: int) -> None:
        for _ in range(10):
            value = plain()
            plain.last.tell(value)

    async def reader() -> None:
        stream: Any = streamed()
        value = 0.0
        async for value in stream:  # noqa: B007
            await asyncio.sleep(0)
        stream.call.tell(value)

    async def main() -> None:
        threads = [asyncio.to_thread(in_thread, n) for n in range(4)]
        await asyncio.gather(*threads, *(reader() for _ in range(20)))

    asyncio.run(main())
    assert study.n_rewards == study.n_pulls == 60
    assert all(pull.reward == pull.config["temperature"] for pull in study)
