"""``@tuned`` with a study in this process: values, explicit arguments, keys."""

from __future__ import annotations

import asyncio
import functools
import inspect
from typing import Any

import pytest

from imabo import Choice, Int, Signal, Space, Study, tuned
from tests.decorator.told import DEFAULT, SPACE, rewards


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


def test_what_can_be_called_can_be_tuned(study: Study) -> None:
    class Assistant:
        async def __call__(self, question: str, *, model: str, temperature: float) -> str:
            return model

    def answer(question: str, *, model: str, temperature: float) -> str:
        return model

    part = tuned(study)(functools.partial(answer, "why?"))
    assert part() == part.last.config["model"]
    whole: Any = tuned(study)(Assistant())

    async def handle() -> bool:
        return bool(await whole("why?") == whole.last.config["model"])

    assert asyncio.run(handle())
    assert study.n_pulls == 2


def test_signals_are_told_with_the_reward() -> None:
    study = Study.create("s", SPACE, signals={"latency_s": Signal(low=0.0)})

    @tuned(study)
    def answer(*, model: str, temperature: float) -> str:
        return model

    answer()
    last = answer.last
    last.tell(True, signals={"latency_s": last.latency_s or 0.0})
    assert last.pull is not None
    assert study.pull(last.pull.id).signals == {"latency_s": last.latency_s}
