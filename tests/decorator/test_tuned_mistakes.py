"""``@tuned`` with what does not fit: functions, settings, studies."""

from __future__ import annotations

import inspect
import logging
from contextlib import suppress
from typing import Any

import pytest

from imabo import Choice, Int, Space, Study, tuned
from imabo.errors import InvalidConfig, InvalidReward, InvalidSetting
from tests.decorator.told import DEFAULT, SPACE, rewards


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
        ({"on_error": "bad"}, InvalidSetting, "on_error is 'bad'.*pass a reward, or a function"),
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
    for unknown in (int, map):
        with suppress(ValueError):
            inspect.signature(unknown)
            continue  # this Python knows
        with pytest.raises(InvalidSetting, match="a function of your own that calls it"):
            tuned(study)(unknown)


def test_a_wrong_reward_is_refused_in_the_studys_words(study: Study) -> None:
    @tuned(study)
    def answer(*, model: str, temperature: float) -> None: ...

    answer()
    with pytest.raises(InvalidReward, match=r"from 0.0 to 1.0"):
        answer.last.tell(7)
