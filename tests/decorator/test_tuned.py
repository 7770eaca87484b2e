"""``@tuned`` with a study in this process: values, explicit arguments, errors, contexts."""

from __future__ import annotations

import asyncio
import gc
import inspect
import logging
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from imabo import Choice, Float, Int, Space, Study, tuned
from imabo.errors import InvalidConfig, InvalidReward, InvalidSetting, StoreError, UnknownPull

SPACE = Space(model=Choice("small", "large"), temperature=Float(0.0, 1.0))
DEFAULT = {"model": "small", "temperature": 0.2}


@pytest.fixture
def study() -> Study:
    return Study.create("s", SPACE, seed=0)


def rewards(study: Study) -> list[float | None]:
    return [pull.reward for pull in study]


# --- the plain function -------------------------------------------------------------------------


def test_arguments_come_from_the_configuration_and_the_reward_goes_to_its_pull(
    study: Study,
) -> None:
    @tuned(study, default=DEFAULT)
    def answer(question: str, *, model: str, temperature: float) -> Any:
        """Answers."""
        return question, {"model": model, "temperature": temperature}

    for number in range(5):
        question, config = answer("why?")
        assert (question, config) == ("why?", answer.last.config)
        assert answer.last.outcome == "returned"
        assert answer.last.latency_s is not None
        assert answer.last.latency_s >= 0.0
        answer.last.tell(number / 10)
    assert rewards(study) == [0.0, 0.1, 0.2, 0.3, 0.4]
    assert (answer.__name__, answer.__doc__) == ("answer", "Answers.")
    assert list(inspect.signature(answer).parameters) == ["question", "model", "temperature"]
    assert answer.__wrapped__("x", model="own", temperature=1.0) == (
        "x",
        {"model": "own", "temperature": 1.0},
    )
    assert study.n_pulls == 5


def test_what_the_caller_passes_wins_and_is_not_credited(study: Study) -> None:
    @tuned(study, default=DEFAULT)
    def answer(*, model: str, temperature: float) -> Any:
        return model, temperature

    assert answer(model="large") == ("large", 0.2)  # the rest is the default's
    assert (answer.last.pull, answer.last.is_counted) == (None, False)
    answer.last.tell(1.0)
    assert study.n_pulls == study.n_rewards == 0


def test_a_call_of_ones_own_without_a_default_says_what_is_missing(study: Study) -> None:
    @tuned(study)
    def answer(*, model: str, temperature: float) -> Any:
        return model, temperature

    with pytest.raises(TypeError, match=r"'temperature'.*gets the others from the default"):
        answer(model="large")
    with pytest.raises(TypeError, match="unexpected keyword argument 'modle'"):
        answer(modle="large")
    assert study.n_pulls == 0


def test_a_function_may_take_all_parameters_together(study: Study) -> None:
    @tuned(study)
    def answer(question: str, **config: Any) -> Any:
        return config

    assert answer("q") == answer.last.config
    assert answer.last.is_counted
    answer("q", model="large", temperature=0.0)
    assert not answer.last.is_counted


def test_parameters_that_are_not_always_there_keep_their_own_value() -> None:
    space = Space(model=Choice("small", "large"), tokens=Int(1, 9, when={"model": "large"}))
    study = Study.create("s", space, seed=0)

    @tuned(study)
    def answer(*, model: str, tokens: int | None = None) -> Any:
        return model, tokens

    seen = dict(answer() for _ in range(20))
    assert seen["small"] is None
    assert isinstance(seen["large"], int)


def test_methods_are_tuned(study: Study) -> None:
    class Assistant:
        name = "a"

        @tuned(study)
        def answer(self, *, model: str, temperature: float) -> str:
            return f"{self.name} {model}"

    assistant = Assistant()
    assert assistant.answer() == f"a {assistant.answer.last.config['model']}"
    assistant.answer.last.tell(True)
    assert study.n_rewards == 1


def test_a_function_that_calls_itself_has_its_own_last_call(study: Study) -> None:
    @tuned(study)
    def answer(depth: int, *, model: str, temperature: float) -> Any:
        if depth:
            answer(depth - 1)
        return temperature

    assert answer(2) == answer.last.config["temperature"]
    assert study.n_pulls == 3


# --- keys and contexts --------------------------------------------------------------------------


def test_a_key_names_the_pull(study: Study) -> None:
    @tuned(study, key=lambda question, request: request, context=lambda question, request: request)
    def answer(question: str, request: str, *, model: str, temperature: float) -> None: ...

    answer("q", "r-1")
    assert (answer.last.key, answer.last.context) == ("r-1", "r-1")
    assert answer.last.pull is not None
    assert study.ask(key="r-1").id == answer.last.pull.id
    answer("q", "r-1", imabo_key="r-2")  # a name of this very call counts first
    assert study.ask(key="r-2").id == answer.last.pull.id
    assert study.n_pulls == 2


def test_threads_and_tasks_do_not_see_each_other(study: Study) -> None:
    meet = threading.Barrier(4)

    @tuned(study)
    def answer(*, model: str, temperature: float) -> float:
        meet.wait(10.0)
        return temperature

    def work(_: int) -> bool:
        value = answer()
        meet.wait(10.0)  # all have been called
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
        assert ticked.wait(10.0)  # the loop must run meanwhile
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


# --- exceptions ---------------------------------------------------------------------------------


class Broken(Exception): ...


def test_an_exception_counts_as_declared(study: Study) -> None:
    @tuned(study, on_error=0.25)
    def answer(*, model: str, temperature: float) -> None:
        raise Broken

    with pytest.raises(Broken):
        answer()
    assert answer.last.outcome == "raised"
    assert rewards(study) == [0.25]
    with pytest.raises(Broken):  # of the caller's own: nothing is told
        answer(model="small", temperature=0.0)
    assert study.n_pulls == 1


def test_an_exception_counts_as_nothing_by_default_and_may_be_judged(study: Study) -> None:
    def judged(error: Exception) -> float | None:
        return 0.0 if isinstance(error, Broken) else None

    @tuned(study, on_error=judged)
    async def judging(error: Exception, *, model: str, temperature: float) -> None:
        raise error

    @tuned(study)
    def silent(*, model: str, temperature: float) -> None:
        raise Broken

    for error in (Broken(), KeyError()):
        with pytest.raises(type(error)):
            asyncio.run(judging(error))
    with pytest.raises(Broken):
        silent()
    assert rewards(study) == [0.0, None, None]


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


def test_a_study_that_fails_gives_the_default(
    study: Study, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def away(**given: Any) -> Any:
        raise StoreError("the disk is full", "it has no room", "make room")

    monkeypatch.setattr(study, "ask", away)

    @tuned(study, default=DEFAULT)
    def answer(*, model: str, temperature: float) -> Any:
        return model, temperature

    @tuned(study)
    def strict(*, model: str, temperature: float) -> None: ...

    with caplog.at_level(logging.WARNING):
        assert answer() == ("small", 0.2)
    assert "serves the default: the disk is full" in caplog.text
    assert (answer.last.is_counted, answer.last.config) == (False, DEFAULT)
    answer.last.tell(1.0)
    assert study.n_rewards == 0
    with pytest.raises(StoreError):
        strict()


# --- streams ------------------------------------------------------------------------------------


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


# --- mistakes -----------------------------------------------------------------------------------


def test_a_study_may_be_made_after_the_function() -> None:
    made: list[Study] = []

    @tuned(lambda: made[0], default=DEFAULT)
    def answer(*, model: str, temperature: float) -> str:
        return model

    made.append(Study.create("s", SPACE, seed=0))
    assert answer() == answer.last.config["model"]
    made[0] = Study.create("other", Space(model=Choice("other")), seed=0)
    with pytest.raises(InvalidConfig, match="names 'temperature'"):
        answer()


def test_a_function_that_does_not_fit_the_space_is_refused_at_once(study: Study) -> None:
    with pytest.raises(InvalidSetting, match="does not take 'temperature' by its name"):

        @tuned(study)
        def narrow(*, model: str) -> None: ...

    with pytest.raises(InvalidSetting, match="does not take 'model' by its name"):

        @tuned(study)
        def by_place(model: str, /, *, temperature: float) -> None: ...

    space = Space(model=Choice("small", "large"), tokens=Int(1, 9, when={"model": "large"}))
    with pytest.raises(InvalidSetting, match="tokens=None"):

        @tuned(Study.create("s", space))
        def needy(*, model: str, tokens: int) -> None: ...


def test_a_parameter_that_comes_later_does_not_stop_the_application(
    study: Study, caplog: pytest.LogCaptureFixture
) -> None:
    @tuned(study)
    def answer(*, model: str, temperature: float) -> str:
        return model

    wider = {**SPACE.parameters, "passages": Int(1, 9)}
    study.update_space(Space(wider))
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            answer()
    assert [record.getMessage() for record in caplog.records] == ["answer does not take passages"]


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"default": {"model": "huge", "temperature": 0.2}}, InvalidConfig, "'huge'.*'small'"),
        ({"default": {"model": "small"}}, InvalidConfig, "'temperature' is missing"),
        ({"default": "small"}, InvalidSetting, "must be a configuration"),
        ({"on_error": 2.0}, InvalidSetting, "from 0.0 to 1.0"),
        ({"on_error": "bad"}, InvalidReward, "the reward is 'bad'"),
        ({"deadline_s": 1.0}, InvalidSetting, "leave deadline_s out"),
    ],
)
def test_settings_are_checked_when_they_are_given(
    study: Study, given: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        tuned(study, **given)


def test_mistakes_with_the_decorator_itself_are_told(study: Study) -> None:
    with pytest.raises(InvalidSetting, match="write @tuned\\(study\\)"):
        tuned(rewards)  # type: ignore[arg-type]
    with pytest.raises(InvalidSetting, match="must be a Study"):
        tuned("support-answers")  # type: ignore[call-overload]
    with pytest.raises(InvalidSetting, match="below @classmethod"):
        tuned(study)(classmethod(lambda cls: None))  # type: ignore[arg-type]


def test_a_wrong_reward_is_refused_in_the_studys_words(study: Study) -> None:
    @tuned(study)
    def answer(*, model: str, temperature: float) -> None: ...

    answer()
    with pytest.raises(InvalidReward, match=r"from 0.0 to 1.0"):
        answer.last.tell(7)
