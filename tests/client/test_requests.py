"""How many requests a call takes: a study's pulls are known by their ids, once for a client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from imabo.errors import UnknownPull
from imabo.testing.study.base import letters
from tests.client.conftest import MakeClient
from tests.client.tcp import Proxy, listening
from tests.server.running import RunningServer


class Counted:
    """A client whose requests are counted, and the client that made its studies."""

    def __init__(self, client: Any, direct: Any, proxy: Proxy) -> None:
        self.client, self.direct, self._proxy = client, direct, proxy

    def check(self, n: int, work: Any) -> Any:
        """What ``work`` returns, after so many requests."""
        before = self._proxy.n_requests
        try:
            return work()
        finally:
            assert self._proxy.n_requests - before == n


@pytest.fixture
def counted(make_client: MakeClient, server: RunningServer) -> Iterator[Counted]:
    direct = make_client(server.url)
    for name in ("s", "t"):
        direct.create(name, letters("a"), seed=1)
    proxy = Proxy(server.url, lambda number: "none")
    with listening(proxy) as url:
        yield Counted(make_client(url), direct, proxy)
    for name in ("s", "t"):
        direct.delete(name)


def test_what_another_process_asked_for_is_told_in_one_request(counted: Counted) -> None:
    pulls = counted.direct.study("s").ask(count=5)
    for pull in pulls[:2]:
        counted.check(1, lambda pull=pull: counted.client.study("s").tell(pull.id, 0.5))
    rest = [(pull.id, 0.5) for pull in pulls[2:]]
    assert counted.check(1, lambda: counted.client.study("s").tell_many(rest)) == [None] * 3
    assert counted.direct.study("s").n_rewards == 5


def test_what_one_handle_learned_every_handle_of_the_client_knows(counted: Counted) -> None:
    pull = counted.check(1, lambda: counted.client.study("s").ask())
    counted.check(1, lambda: counted.client.study("s").tell(pull.id, 0.5))
    read = counted.direct.study("t").ask()
    counted.check(1, lambda: counted.client.study("t").pull(read.id))
    counted.check(1, lambda: counted.client.study("t").tell(read.id, 0.5))


def test_with_serve_a_request_asks_and_one_tells(counted: Counted) -> None:
    def serve() -> None:
        with counted.client.study("s").serve() as pull:
            pull.reward = 0.5

    counted.check(2, serve)


def test_the_pull_of_another_study_is_looked_at_and_refused(counted: Counted) -> None:
    mine, foreign = counted.client.study("s").ask(), counted.direct.study("t").ask()
    study = counted.client.study("s")
    for _ in range(2):
        with pytest.raises(UnknownPull):
            counted.check(1, lambda: study.tell(foreign.id, 0.5))
    answers = counted.check(2, lambda: study.tell_many([(foreign.id, 0.5), (mine.id, 0.5)]))
    assert [type(answer) for answer in answers] == [UnknownPull, type(None)]
    counted.check(1, lambda: counted.client.study("t").tell(foreign.id, 0.5))
    assert counted.direct.study("t").n_rewards == 1


def test_a_study_that_was_made_again_is_found_by_a_look(counted: Counted) -> None:
    study = counted.client.study("s")
    study.tell(study.ask().id, 0.5)
    counted.direct.delete("s")
    pulls = counted.direct.create("s", letters("a"), seed=1).ask(count=2)
    counted.check(2, lambda: study.tell(pulls[0].id, 0.5))
    counted.check(1, lambda: counted.client.study("s").tell(pulls[1].id, 0.5))
