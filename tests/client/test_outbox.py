"""Rewards that wait: kept in order, bounded, sent in batches, each settled once."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from imabo.client.http import Failed, HttpAnswer
from imabo.client.outbox import Dispatch, MemoryOutbox, Outbox
from imabo.client.reports import Reports
from imabo.client.steps import Send
from imabo.errors import RewardConflict, StoreClosed

URL = "http://127.0.0.1:8000"
REFUSED = {"code": "unknown_pull", "what": "no such pull", "why": "it is not there", "fix": "check"}


def filled(n: int, size: int = 10_000) -> MemoryOutbox:
    outbox = MemoryOutbox(size, Reports(URL))
    for number in range(n):
        outbox.put([(f"abc-{number + 1}", number / n)])
    return outbox


def sent(outbox: Outbox | Dispatch, reply: Any) -> tuple[list[str], float | None]:
    """The pulls of one batch, and what is made of the reply to it."""
    dispatch = outbox if isinstance(outbox, Dispatch) else Dispatch(outbox)
    steps = dispatch.send(5.0)
    send = next(steps)
    assert isinstance(send, Send)
    assert send.call.body is not None
    pulls = [item["pull"] for item in json.loads(send.call.body)["rewards"]]
    answer = reply(pulls) if callable(reply) else reply
    with pytest.raises(StopIteration) as done:
        steps.send(answer)
    return pulls, done.value.value


def problem(code: str, **fields: Any) -> dict[str, Any]:
    return REFUSED | {"code": code, **fields}


def recorded(pulls: list[str], **refused: dict[str, Any]) -> HttpAnswer:
    """An answer that takes all rewards but some, named as ``abc_2``."""
    results = [
        {"pull": pull, "status": "refused", "problem": refused[pull.replace("-", "_")]}
        if pull.replace("-", "_") in refused
        else {"pull": pull, "status": "recorded"}
        for pull in pulls
    ]
    return HttpAnswer(200, {}, json.dumps({"results": results}).encode())


def test_the_oldest_go_first_a_thousand_at_a_time() -> None:
    outbox = filled(2500)
    sizes: list[int] = []
    while outbox.n_waiting:
        pulls, pause = sent(outbox, recorded)
        assert (pulls[0], pause) == (f"abc-{sum(sizes) + 1}", 0.0)
        sizes.append(len(pulls))
    assert sizes == [1000, 1000, 500]


def test_nothing_is_sent_when_nothing_waits() -> None:
    with pytest.raises(StopIteration) as done:
        next(Dispatch(filled(0)).send(5.0))
    assert done.value.value is None


def test_when_it_is_full_the_oldest_is_dropped_and_counted() -> None:
    outbox = filled(2100, size=100)
    assert (outbox.n_waiting, outbox.n_dropped) == (100, 2000)
    assert sent(outbox, recorded)[0][0] == "abc-2001"


def test_what_is_under_way_is_not_dropped() -> None:
    outbox = filled(10, size=10)
    steps = Dispatch(outbox).send(5.0)
    next(steps)
    outbox.put([(f"abc-{number}", 0.5) for number in range(11, 31)])
    assert (outbox.n_waiting, outbox.n_dropped) == (20, 10)
    with pytest.raises(StopIteration):
        steps.send(recorded([f"abc-{number}" for number in range(1, 11)]))
    assert list(outbox.take(100, ())) == [f"abc-{number}" for number in range(21, 31)]


@pytest.mark.parametrize(
    ("reply", "wanted_s"),
    [
        (Failed("ConnectError"), 0.0),
        (HttpAnswer(503, {"retry-after": "7"}, json.dumps(problem("x")).encode()), 7.0),
        (HttpAnswer(500, {}, b"oops"), 0.0),
        (HttpAnswer(429, {"retry-after": "3"}, json.dumps(problem("x")).encode()), 3.0),
        (HttpAnswer(401, {}, json.dumps(problem("unauthorized")).encode()), 0.0),
        (HttpAnswer(404, {}, json.dumps(problem("not_found")).encode()), 0.0),
        (HttpAnswer(405, {}, json.dumps(problem("method_not_allowed")).encode()), 0.0),
        (HttpAnswer(200, {}, b"<html>"), 0.0),
        (HttpAnswer(204, {}, b""), 0.0),
        (HttpAnswer(200, {}, b'{"results": []}'), 0.0),
        (lambda pulls: recorded(pulls[::-1]), 0.0),
    ],
    ids=["away", "503", "500", "429", "key", "route", "method", "page", "nothing", "few", "others"],
)
def test_what_did_not_get_through_waits_in_its_place(reply: Any, wanted_s: float) -> None:
    outbox = filled(3)
    pause = sent(outbox, reply)[1]
    assert pause is not None
    assert pause >= max(wanted_s, 0.25)
    outbox.put([("abc-4", 0.5)])
    assert sent(outbox, recorded)[0] == ["abc-1", "abc-2", "abc-3", "abc-4"]
    assert (outbox.n_waiting, outbox.n_dropped, outbox.n_refused) == (0, 0, 0)


@pytest.mark.parametrize(
    "later",
    [
        problem("unavailable"),  # a service that does not send the status along
        problem("unavailable", status=503),
        problem("internal", status=500),
        problem("schema_too_new", status=503),
        problem("store_error"),
        problem("of_a_later_version", status=429),
        problem("of_a_later_version", status=503),
    ],
    ids=lambda later: f"{later['code']}-{later.get('status')}",
)
def test_a_reward_that_may_be_sent_again_waits_in_its_place(later: dict[str, Any]) -> None:
    outbox = filled(4)
    dispatch = Dispatch(outbox)
    reply = lambda pulls: recorded(pulls, abc_2=later, abc_3=later)  # noqa: E731
    assert sent(dispatch, reply) == (["abc-1", "abc-2", "abc-3", "abc-4"], 0.0)
    assert (outbox.n_waiting, outbox.n_refused) == (2, 0)
    outbox.put([("abc-5", 0.5)])
    with pytest.raises(StopIteration) as rested:
        next(dispatch.send(5.0))
    assert 0.25 <= rested.value.value <= 0.5
    assert sent(dispatch, recorded)[0] == ["abc-2", "abc-3", "abc-5"]
    assert (outbox.n_waiting, outbox.n_refused) == (0, 0)


def test_pauses_grow_while_nothing_is_taken() -> None:
    dispatch = Dispatch(filled(1))
    for longest in (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0):
        sent(dispatch, lambda pulls: recorded(pulls, abc_1=problem("unavailable")))
        with pytest.raises(StopIteration) as rested:
            next(dispatch.send(5.0))
        assert longest / 2 <= rested.value.value <= longest


def test_a_study_that_rests_does_not_hold_up_another() -> None:
    outbox = filled(1500)
    outbox.put([("xyz-1", 0.5), ("xyz-2", 0.5)])
    dispatch = Dispatch(outbox)
    stuck = {f"abc_{n}": problem("unavailable") for n in range(1, 1501)}
    assert len(sent(dispatch, lambda pulls: recorded(pulls, **stuck))[0]) == 1000
    assert sent(dispatch, recorded)[0] == ["xyz-1", "xyz-2"]
    assert outbox.n_waiting == 1500
    with pytest.raises(StopIteration) as rested:
        next(dispatch.send(5.0))
    assert rested.value.value > 0.0
    assert sent(dispatch, recorded)[0][0] == "abc-1"


def test_what_is_refused_is_counted_logged_and_not_sent_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    outbox = filled(3)
    assert sent(outbox, lambda pulls: recorded(pulls, abc_2=REFUSED))[1] == 0.0
    assert (outbox.n_waiting, outbox.n_refused) == (0, 1)
    assert "abc-2" in caplog.text
    assert "no such pull" in caplog.text


@pytest.mark.parametrize(("status", "code"), [(422, "invalid_request"), (413, "too_large")])
def test_of_a_batch_that_is_refused_whole_only_the_guilty_is_lost(status: int, code: str) -> None:
    outbox = filled(1500)
    dispatch = Dispatch(outbox)
    taken: list[str] = []

    def reply(pulls: list[str]) -> HttpAnswer:
        if "abc-700" in pulls:
            return HttpAnswer(status, {}, json.dumps(problem(code)).encode())
        taken.extend(pulls)
        return recorded(pulls)

    while outbox.n_waiting:
        assert sent(dispatch, reply)[1] == 0.0
    assert taken == [f"abc-{n}" for n in range(1, 1501) if n != 700]
    assert outbox.n_refused == 1


def test_a_batch_that_a_proxy_finds_too_large_is_sent_in_parts() -> None:
    outbox = filled(1000)
    dispatch = Dispatch(outbox)
    reply = lambda pulls: recorded(pulls) if len(pulls) < 300 else HttpAnswer(413, {}, b"<p>")  # noqa: E731
    while outbox.n_waiting:
        sent(dispatch, reply)
    assert (outbox.n_refused, outbox.n_dropped) == (0, 0)


def test_an_attempt_that_is_broken_off_loses_nothing() -> None:
    outbox = filled(3)
    steps = Dispatch(outbox).send(5.0)
    next(steps)
    assert outbox.n_waiting == 3
    steps.close()
    assert sent(outbox, recorded)[0] == ["abc-1", "abc-2", "abc-3"]


def test_two_that_send_at_once_lose_nothing() -> None:
    outbox = filled(1)
    dispatch = Dispatch(outbox)
    first = dispatch.send(5.0)
    next(first)
    outbox.put([("abc-2", 0.5)])
    second = dispatch.send(5.0)
    next(second)
    with pytest.raises(StopIteration):
        first.send(recorded(["abc-1"]))
    with pytest.raises(StopIteration):
        second.send(Failed("ConnectError"))
    assert sent(outbox, recorded)[0] == ["abc-2"]


def test_another_reward_for_a_pull_that_waits_is_a_conflict() -> None:
    outbox = filled(1)
    assert outbox.holds("abc-1", 0.0)
    assert not outbox.holds("abc-2", 0.0)
    with pytest.raises(RewardConflict, match=r"0\.5"):
        outbox.holds("abc-1", 0.5)
    same, other = outbox.put([("abc-1", 0.0), ("abc-1", 0.5)])
    assert (same, type(other)) == (None, RewardConflict)


def test_a_child_process_leaves_to_its_parent_what_waits() -> None:
    outbox = filled(3)
    outbox.before_fork()
    outbox.after_fork(is_child=True)
    assert (outbox.n_waiting, outbox.n_dropped) == (0, 0)


def test_what_was_given_up_while_it_was_under_way_does_not_come_back() -> None:
    outbox = filled(1)
    steps = Dispatch(outbox).send(5.0)
    next(steps)
    outbox.close()
    with pytest.raises(StopIteration):
        steps.send(Failed("ConnectError"))
    assert (outbox.n_waiting, outbox.n_dropped) == (0, 1)


def test_what_comes_after_the_end_is_not_taken() -> None:
    outbox = filled(1)
    outbox.seal()
    (error,) = outbox.put([("abc-2", 0.5)])
    assert isinstance(error, StoreClosed)
    assert outbox.n_waiting == 1


# --- the log ------------------------------------------------------------------------------------


class Hands:
    """A clock that is moved by hand."""

    now = 0.0


@pytest.fixture
def hands() -> Hands:
    return Hands()


def test_a_client_that_cannot_deliver_says_so_once_in_a_while(
    hands: Hands, caplog: pytest.LogCaptureFixture
) -> None:
    outbox = MemoryOutbox(10_000, Reports(URL, clock=lambda: hands.now))
    dispatch = Dispatch(outbox)
    with caplog.at_level(logging.INFO, "imabo.client"):
        for number in range(200):  # one attempt a second
            outbox.put([(f"abc-{number + 1}", 0.5)])
            sent(dispatch, Failed("ConnectError"))
            hands.now += 1.0
        assert [record.getMessage() for record in caplog.records] == [
            f"{n} rewards wait for the service at {URL}, which has not taken them for {s} s: "
            "ConnectError"
            for n, s in ((1, 0), (61, 60), (121, 120), (181, 180))
        ]
        caplog.clear()
        sent(dispatch, recorded)
        assert caplog.messages == [
            f"the service at {URL} took all rewards that waited, after 200 s"
        ]


def test_what_is_refused_or_dropped_is_said_once_in_a_while_with_a_count(
    hands: Hands, caplog: pytest.LogCaptureFixture
) -> None:
    outbox = MemoryOutbox(1, Reports(URL, clock=lambda: hands.now))
    for number in range(130):
        outbox.put([(f"abc-{2 * number + 1}", 0.5), (f"abc-{2 * number + 2}", 0.5)])
        (pull,) = outbox.take(10, ())
        name = pull.replace("-", "_")
        sent(outbox, lambda pulls, name=name: recorded(pulls, **{name: REFUSED}))
        hands.now += 1.0
    outbox.close()
    assert (outbox.n_dropped, outbox.n_refused) == (130, 130)
    dropped = [int(line.split()[4]) for line in caplog.messages if "dropped" in line]
    refused = [int(line.split()[0]) for line in caplog.messages if "refused" in line]
    assert dropped == refused == [1, 60, 60, 9]
    assert "abc-260" in caplog.messages[-2]
