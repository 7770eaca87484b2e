"""Rewards that wait: kept in order, bounded, sent in batches, each settled once."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from imabo.client.calls import Answer, Failed, Send
from imabo.client.outbox import Outbox, send_waiting
from imabo.errors import RewardConflict

REFUSED = {"code": "unknown_pull", "what": "no such pull", "why": "it is not there", "fix": "check"}


def filled(n: int, size: int = 10_000) -> Outbox:
    outbox = Outbox(size)
    for number in range(n):
        outbox.put(f"abc-{number + 1}", number / n)
    return outbox


def sent(outbox: Outbox, reply: Any) -> tuple[list[str], float | None]:
    """The pulls of one batch, and what is made of the reply to it."""
    steps = send_waiting(outbox, 5.0)
    send = next(steps)
    assert isinstance(send, Send)
    assert send.call.body is not None
    pulls = [item["pull"] for item in json.loads(send.call.body)["rewards"]]
    answer = reply(pulls) if callable(reply) else reply
    with pytest.raises(StopIteration) as done:
        steps.send(answer)
    return pulls, done.value.value


def recorded(pulls: list[str], *refused: str) -> Answer:
    results = [
        {"pull": pull, "status": "refused", "problem": REFUSED}
        if pull in refused
        else {"pull": pull, "status": "recorded"}
        for pull in pulls
    ]
    return Answer(200, {}, json.dumps({"results": results}).encode())


def test_the_oldest_go_first_a_thousand_at_a_time() -> None:
    outbox = filled(2500)
    sizes: list[int] = []
    while outbox.n_waiting:
        pulls, wanted = sent(outbox, recorded)
        assert (pulls[0], wanted) == (f"abc-{sum(sizes) + 1}", None)
        sizes.append(len(pulls))
    assert sizes == [1000, 1000, 500]


def test_when_it_is_full_the_oldest_is_dropped_counted_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "imabo.client.outbox"):
        outbox = filled(2100, size=100)
    assert (outbox.n_waiting, outbox.n_dropped) == (100, 2000)
    assert sent(outbox, recorded)[0][0] == "abc-2001"
    assert len(caplog.records) == 3  # one for the first, one for each thousand


@pytest.mark.parametrize(
    ("reply", "wanted_s"),
    [
        (Failed("ConnectError"), 0.0),
        (Answer(503, {"retry-after": "7"}, json.dumps(REFUSED | {"code": "x"}).encode()), 7.0),
        (Answer(500, {}, b"oops"), 0.0),
        (Answer(429, {"retry-after": "3"}, json.dumps(REFUSED | {"code": "x"}).encode()), 3.0),
        (Answer(401, {}, json.dumps(REFUSED | {"code": "unauthorized"}).encode()), 0.0),
        (Answer(200, {}, b"<html>"), 0.0),
        (Answer(204, {}, b""), 0.0),
        (Answer(200, {}, b'{"results": []}'), 0.0),
        (lambda pulls: recorded(pulls[::-1]), 0.0),
    ],
    ids=["away", "503", "500", "429", "key", "page", "nothing", "too few", "others"],
)
def test_what_did_not_get_through_waits_in_its_place(reply: Any, wanted_s: float) -> None:
    outbox = filled(3)
    assert sent(outbox, reply)[1] == wanted_s
    outbox.put("abc-4", 0.5)
    assert sent(outbox, recorded)[0] == ["abc-1", "abc-2", "abc-3", "abc-4"]
    assert (outbox.n_waiting, outbox.n_dropped, outbox.n_refused) == (0, 0, 0)


def test_what_is_refused_is_counted_logged_and_not_sent_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    outbox = filled(3)
    assert sent(outbox, lambda pulls: recorded(pulls, "abc-2"))[1] is None
    assert (outbox.n_waiting, outbox.n_refused) == (0, 1)
    assert "abc-2" in caplog.text
    assert "no such pull" in caplog.text


def test_a_batch_that_is_refused_whole_does_not_stop_the_others() -> None:
    outbox = filled(1500)
    body = json.dumps(REFUSED | {"code": "invalid_request"}).encode()
    assert sent(outbox, Answer(422, {}, body))[1] is None
    assert (outbox.n_waiting, outbox.n_refused) == (500, 1000)


def test_an_attempt_that_is_broken_off_loses_nothing() -> None:
    outbox = filled(3)
    steps = send_waiting(outbox, 5.0)
    next(steps)
    assert outbox.n_waiting == 3
    steps.close()
    assert sent(outbox, recorded)[0] == ["abc-1", "abc-2", "abc-3"]


def test_what_a_vanished_sender_had_taken_is_sent() -> None:
    outbox = filled(3)
    vanished = send_waiting(outbox, 5.0)
    next(vanished)
    assert sent(outbox, recorded)[0] == ["abc-1", "abc-2", "abc-3"]
    assert outbox.n_waiting == 0


def test_another_reward_for_a_pull_that_waits_is_a_conflict() -> None:
    outbox = filled(1)
    assert outbox.holds("abc-1", 0.0)
    assert not outbox.holds("abc-2", 0.0)
    with pytest.raises(RewardConflict, match=r"0\.5"):
        outbox.holds("abc-1", 0.5)


def test_a_child_process_leaves_to_its_parent_what_waits() -> None:
    outbox = filled(3)
    outbox.after_fork()
    assert (outbox.n_waiting, outbox.n_dropped) == (0, 0)


def test_what_was_given_up_while_it_was_under_way_does_not_come_back() -> None:
    outbox = Outbox(size=5)
    outbox.put("k3f9x2-1", 0.5)
    batch = outbox.take()
    assert outbox.abandon() == 1
    outbox.settle(again=batch)
    assert (outbox.n_waiting, outbox.n_dropped) == (0, 1)
