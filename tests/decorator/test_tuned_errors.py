"""``@tuned`` when the function or the study fails."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from imabo import Study, tuned
from imabo.errors import StoreError
from tests.decorator.told import DEFAULT, Broken, rewards


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


@pytest.mark.parametrize("is_async", [False, True])
def test_a_judge_of_errors_that_fails_itself_does_not_hide_the_error(
    study: Study, caplog: pytest.LogCaptureFixture, is_async: bool
) -> None:
    def judge(error: Exception) -> float:
        raise KeyError("status")

    @tuned(study, on_error=judge)
    def answer(*, model: str, temperature: float) -> None:
        raise Broken

    @tuned(study, on_error=judge)
    async def awaited(*, model: str, temperature: float) -> None:
        raise Broken

    def run() -> None:
        asyncio.run(awaited()) if is_async else answer()

    with pytest.raises(Broken), caplog.at_level(logging.WARNING):
        run()
    assert "was not told: KeyError('status')" in caplog.text
    assert rewards(study) == [None]
