"""``@tuned`` with generators and asynchronous generators."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from imabo import Study, tuned
from imabo.errors import UnknownPull
from tests.decorator.told import Broken, rewards


def test_a_stream_is_measured_to_its_first_item_and_to_its_end(study: Study) -> None:
    @tuned(study)
    def answer(n: int, *, model: str, temperature: float) -> Iterator[str]:
        for _ in range(n):
            yield model

    stream = answer(3)
    assert study.n_pulls == 0  # nobody has taken an item
    with pytest.raises(UnknownPull, match="has no pull yet"):
        answer.last.tell(1.0)
    assert next(stream) == answer.last.config["model"]
    call = answer.last
    assert call.first_item_s is not None
    assert (call.latency_s, call.outcome) == (None, "running")
    assert len(list(stream)) == 2
    assert call.outcome == "returned"
    assert call.latency_s is not None
    assert call.latency_s >= call.first_item_s
    call.tell(1.0)
    assert rewards(study) == [1.0]


def test_a_stream_takes_what_is_sent_and_gives_what_it_returns(study: Study) -> None:
    @tuned(study)
    def answer(*, model: str, temperature: float) -> Any:
        try:
            sent = yield "first"
            yield sent
        except KeyError:
            yield "caught"
        return "end"

    def reader() -> Any:
        return (yield from answer())

    stream = reader()
    assert next(stream) == "first"
    assert stream.send("echo") == "echo"
    assert stream.throw(KeyError()) == "caught"
    with pytest.raises(StopIteration) as ended:
        next(stream)
    assert ended.value.value == "end"
    assert answer.last.outcome == "returned"


@pytest.mark.parametrize("how", ["close", "drop", "throw", "before"])
def test_a_stream_that_is_abandoned_cleans_up_and_is_no_error(study: Study, how: str) -> None:
    cleaned: list[str] = []

    @tuned(study, on_error=0.0)
    def answer(*, model: str, temperature: float) -> Iterator[int]:
        try:
            yield from range(100)
        finally:
            cleaned.append(how)

    stream: Any = answer()
    call = answer.last
    if how != "before":
        next(stream)
    if how == "throw":
        with pytest.raises(Broken):
            stream.throw(Broken())
    elif how != "drop":
        stream.close()
        assert list(stream) == []
    del stream
    gc.collect()
    assert call.outcome == "abandoned"
    assert cleaned == ([] if how == "before" else [how])
    assert rewards(study) == ([] if how == "before" else [None])
    if how != "before":
        call.tell(0.5)  # somebody may judge what was seen
        assert rewards(study) == [0.5]


def test_a_stream_that_raises_counts_as_declared(study: Study) -> None:
    @tuned(study, on_error=0.0)
    def answer(*, model: str, temperature: float) -> Iterator[int]:
        yield 1
        raise Broken

    with pytest.raises(Broken):
        list(answer())
    assert (answer.last.outcome, rewards(study)) == ("raised", [0.0])


def test_asynchronous_streams(study: Study) -> None:
    cleaned: list[int] = []

    @tuned(study, on_error=0.0)
    async def answer(n: int, *, model: str, temperature: float) -> AsyncIterator[str]:
        try:
            for _ in range(n):
                await asyncio.sleep(0)
                yield model
            if n == 2:
                raise Broken
        finally:
            cleaned.append(n)

    async def main() -> None:
        items = [item async for item in answer(3)]
        call = answer.last
        assert items == [call.config["model"]] * 3
        assert (call.outcome, call.first_item_s is None, call.latency_s is None) == (
            "returned",
            False,
            False,
        )
        call.tell(1.0)
        with pytest.raises(Broken):
            _ = [item async for item in answer(2)]
        assert answer.last.outcome == "raised"
        stream: Any = answer(5)
        await anext(stream)
        await stream.aclose()
        unread: Any = answer(7)
        await unread.aclose()
        assert [one.call.outcome for one in (stream, unread)] == ["abandoned"] * 2

    asyncio.run(main())
    assert cleaned == [3, 2, 5]
    assert rewards(study) == [1.0, 0.0, None]


def test_streams_that_are_read_in_turns_know_which_one_runs(study: Study) -> None:
    @tuned(study)
    def answer(*, model: str, temperature: float) -> Iterator[bool]:
        for _ in range(3):
            yield answer.last.config["temperature"] == temperature

    one, two = answer(), answer()
    seen = [next(stream) for stream in (one, two, one, two, one)]
    assert seen == [True] * 5


def test_a_stream_that_gets_no_pull_has_ended(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study, "ask", lambda **given: 1 / 0)

    @tuned(study)
    def answer(*, model: str, temperature: float) -> Iterator[str]:
        yield model

    stream: Any = answer()
    with pytest.raises(ZeroDivisionError):
        next(stream)
    assert (stream.call.outcome, list(stream)) == ("raised", [])


def test_an_error_that_is_thrown_before_the_first_item_asks_for_nothing(study: Study) -> None:
    @tuned(study, on_error=0.0)
    def answer(*, model: str, temperature: float) -> Iterator[str]:
        yield model

    @tuned(study, on_error=0.0)
    async def awaited(*, model: str, temperature: float) -> AsyncIterator[str]:
        yield model

    stream: Any = answer()
    with pytest.raises(Broken):
        stream.throw(Broken())
    other: Any = awaited()
    with pytest.raises(Broken):
        asyncio.run(other.athrow(Broken()))
    assert study.n_pulls == 0
