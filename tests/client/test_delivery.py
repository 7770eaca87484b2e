"""The rules of retrying, played through by hand: no network, no waiting."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from imabo.client.http import Call, Failed, HttpAnswer
from imabo.client.session import Breaker, Target, deliver, retry_after
from imabo.client.steps import Send, Sleep
from imabo.errors import Unavailable

CALL = Call("GET", "/v1/studies")
SERVICE = Target("http://127.0.0.1:8000", timeout_s=5.0, retries=3)
AWAY = Failed("ConnectError")


def said(status: int, **headers: str) -> HttpAnswer:
    return HttpAnswer(status, headers, b"{}")


def played(
    replies: list[HttpAnswer | Failed], deadline: float | None = None
) -> tuple[list[Send | Sleep], Any]:
    """The steps that these replies lead to, and how it ends."""
    steps: list[Send | Sleep] = []
    operation = deliver(CALL, SERVICE, deadline=deadline)
    reply: HttpAnswer | Failed | None = None
    waiting = list(replies)
    try:
        while True:
            step = operation.send(reply)
            assert isinstance(step, Send | Sleep)
            steps.append(step)
            reply = waiting.pop(0) if isinstance(step, Send) else None
    except StopIteration as done:
        return steps, done.value
    except Unavailable as error:
        return steps, error


@pytest.mark.parametrize("status", [200, 201, 204, 302, 400, 401, 404, 409, 422, 500, 501])
def test_an_answer_ends_it(status: int) -> None:
    steps, end = played([said(status)])
    assert (len(steps), end.status, end.n_attempts) == (1, status, 1)


@pytest.mark.parametrize(
    "reply", [AWAY, said(429), said(502), said(503), said(504)], ids=lambda reply: str(reply[0])
)
def test_a_service_that_is_away_for_a_moment_is_tried_again(reply: HttpAnswer | Failed) -> None:
    steps, end = played([reply, reply, said(200)])
    assert [type(step) for step in steps] == [Send, Sleep, Send, Sleep, Send]
    assert (end.status, end.n_attempts) == (200, 3)


def test_it_gives_up_after_the_retries_and_says_what_it_did() -> None:
    steps, end = played([AWAY] * 4)
    assert sum(isinstance(step, Send) for step in steps) == 4
    assert isinstance(end, Unavailable)
    for part in ("GET /v1/studies", "4 times", "ConnectError", SERVICE.url):
        assert part in str(end)


def test_pauses_grow() -> None:
    for _ in range(20):
        steps, _ = played([AWAY] * 4)
        pauses = [step.seconds for step in steps if isinstance(step, Sleep)]
        for pause, longest in zip(pauses, (0.1, 0.2, 0.4), strict=True):
            assert longest / 2 <= pause <= longest


def test_the_service_may_ask_for_a_longer_pause() -> None:
    steps, _ = played([said(503, **{"retry-after": "2"}), said(200)])
    assert steps[1] == Sleep(2.0)


def test_nobody_waits_an_hour_for_a_service() -> None:
    steps, end = played([said(503, **{"retry-after": "3600"})])
    assert len(steps) == 1
    assert isinstance(end, Unavailable)


def test_an_attempt_and_a_pause_must_fit_the_deadline() -> None:
    steps, end = played([said(503, **{"retry-after": "2"})], deadline=time.monotonic() + 1.0)
    assert isinstance(end, Unavailable)
    (step,) = steps
    assert isinstance(step, Send)
    assert step.timeout_s <= 1.0
    steps, _ = played([said(200)], deadline=time.monotonic() + 100.0)
    assert steps == [Send(CALL, 5.0)]


@pytest.mark.parametrize("text", ["soon", "-1", "1e3", "", "99999999999999999999", "\u0663"])
def test_a_pause_that_makes_no_sense_is_ignored(text: str) -> None:
    assert retry_after(said(503, **{"retry-after": text})) is None


def test_a_pause_may_be_a_date() -> None:
    ahead = format_datetime(datetime.now(UTC) + timedelta(seconds=50), usegmt=True)
    wanted = retry_after(said(503, **{"retry-after": ahead}))
    assert wanted is not None
    assert 0.0 < wanted <= 50.0
    assert retry_after(said(503, **{"retry-after": "Sun, 06 Nov 1994 08:49:37 GMT"})) == 0.0


class Hands:
    """A clock that is moved by hand."""

    now = 0.0


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def breaker(hands: Hands) -> Breaker:
    return Breaker(clock=lambda: hands.now, jitter=lambda: 1.0)


def test_a_few_failures_change_nothing(breaker: Breaker) -> None:
    for _ in range(3):
        for _ in range(4):
            breaker.record(False)
        breaker.record(True)
    assert breaker.admits()


def test_a_trial_whose_caller_went_is_another_ones(breaker: Breaker, hands: Hands) -> None:
    for _ in range(5):
        breaker.record(False)
    breaker.release()  # nobody was trying: the pause stays
    assert not breaker.admits()
    hands.now += 1.0
    assert [breaker.admits() for _ in range(3)] == [True, False, False]
    breaker.release()
    assert breaker.admits()
    breaker.record(True)
    assert all(breaker.admits() for _ in range(9))


def test_after_a_pause_one_may_try_and_pauses_grow(breaker: Breaker, hands: Hands) -> None:
    for _ in range(5):
        assert breaker.admits()
        breaker.record(False)
    for pause in (1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0):
        hands.now += 0.9 * pause
        assert not breaker.admits()
        hands.now += 0.1 * pause
        assert [breaker.admits(), breaker.admits()] == [True, False]
        breaker.record(False)
    hands.now += 30.0
    assert breaker.admits()
    breaker.record(True)
    assert [breaker.admits(), breaker.admits()] == [True, True]


def test_those_under_way_when_it_broke_do_not_make_the_pause_longer(
    breaker: Breaker, hands: Hands
) -> None:
    for _ in range(50):
        breaker.record(False)
    hands.now += 1.0
    assert breaker.admits()


def test_a_trial_that_never_reports_does_not_shut_the_service_out(
    breaker: Breaker, hands: Hands
) -> None:
    for _ in range(5):
        breaker.record(False)
    hands.now += 1.0
    assert breaker.admits()
    hands.now += 30.0
    assert breaker.admits()
