"""The end of the program, and forks: what waits is sent, within bounds."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from imabo.client import AsyncClient, Client, lifetime
from imabo.errors import StoreClosed
from imabo.testing.study.base import letters
from tests.client.conftest import MakeClient
from tests.client.processes import run_child
from tests.client.tcp import listening, silent
from tests.server.running import RunningServer

KINDS = ["blocking", "asyncio"]


@pytest.mark.parametrize("kind", KINDS)
def test_rewards_are_sent_at_the_end_of_the_program(kind: str) -> None:
    with RunningServer() as server, Client(server.url) as client:
        study = client.create("s", letters("a"), seed=1)
        pulls = [pull.id for pull in study.ask(count=40)]
        assert run_child("leave", kind, server.url, "30", *pulls) == "left\n"
        assert study.n_rewards == 40


@pytest.mark.parametrize("kind", KINDS)
def test_the_end_of_the_program_does_not_wait_for_ever(kind: str) -> None:
    with listening(silent) as url:
        began = time.monotonic()
        assert run_child("leave", kind, url, "0.5", "abc-1", "abc-2") == "left\n"
        # Its one attempt alone may take 30 s.
        assert time.monotonic() - began < 25.0


def test_rewards_are_sent_where_no_thread_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in Python 3.12 and later, when the program ends."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    with RunningServer() as server, Client(server.url) as client:
        study = client.create("s", letters("a"), seed=1)
        pulls = study.ask(count=5)
        monkeypatch.setattr(threading.Thread, "start", refuse)
        for pull in pulls:
            study.tell(pull.id, 1.0, wait=False)
        assert client.n_waiting == 5
        assert client.flush(30.0)
        assert study.ask(default={"letter": "a"}).reason == "default"
        monkeypatch.undo()
        assert study.n_rewards == 5


def test_a_forked_child_goes_on_with_connections_of_its_own() -> None:
    with RunningServer() as server, Client(server.url) as client:
        study = client.create("s", letters("a", "b"), seed=1)
        run_child("fork", server.url)
        assert (study.n_pulls, study.n_rewards, study.n_pending) == (48, 48, 0)


def test_a_client_that_sigterm_closed_is_met_by_nobody(
    make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make_client("http://127.0.0.1:1", flush_s=0.0)
    study = client.study("s")
    client.close()
    monkeypatch.setattr(lifetime, "_is_terminated", True)
    monkeypatch.setattr(lifetime, "_LAST_MOMENT_S", 0.2)  # in which the process ends
    began = time.monotonic()
    with pytest.raises(StoreClosed):
        study.tell("abc-1", 1.0)
    assert time.monotonic() - began >= 0.2


def test_a_flush_that_was_cancelled_holds_up_nobody() -> None:
    async def give_up() -> None:
        client = AsyncClient("http://127.0.0.1:1", flush_s=0.0, retries=0)
        await client.study("s").tell("abc-1", 1.0, wait=False)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(client.flush(600.0), 0.3)
        await client.close()
        assert (client.n_waiting, client.n_dropped) == (0, 1)

    began = time.monotonic()
    asyncio.run(give_up())  # it waits for the threads that the loop made
    assert time.monotonic() - began < 30.0
