"""The study that the demonstration talks to: behind a service, or in this process."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from imabo import insight
from imabo.arms import Arm, Pull
from imabo.demo.world import BEFORE, DEFAULT, WINDOW
from imabo.errors import StudyExists
from imabo.recommend import Best
from imabo.space import Config, Space
from imabo.stores import open_store
from imabo.study import Study

if TYPE_CHECKING:
    from imabo.client import Client, RemoteFacts, RemoteStudy

NAME: Final = "assistant"
_DEADLINE_S: Final = 2.0  # a user does not wait longer; the default is served instead
_LEAST_WINDOW_S: Final = 1.0


class Counts(NamedTuple):
    """What became of the requests, at one moment."""

    n_pulls: int
    n_rewards: int
    n_pending: int
    n_expired: int


class Live(Protocol):
    """What the demonstration needs of a study, wherever it is."""

    @property
    def name(self) -> str:
        """The study's name."""

    def ask(self, n: int) -> Pull:
        """What to serve request ``n`` with."""

    def tell(self, pull_id: str, reward: float) -> None:
        """Report a rating."""

    def overview(self) -> Mapping[str, Any]:
        """Its key figures, perhaps a moment old."""

    def counts(self) -> Counts:
        """What became of the requests until now."""

    def best(self) -> Best:
        """Its recommendation."""

    def update_space(self, space: Space) -> None:
        """Move on to another space."""

    def add_arm(self, config: Config) -> Arm:
        """Admit a configuration by hand."""


class Remote:
    """A study of a service, used as a careful application uses it.

    Every request has a key, so that one that is sent twice is served once, and a default, so that
    no user waits for a service that is away.
    """

    def __init__(self, study: RemoteStudy) -> None:
        self._study = study
        self.name = study.name
        self.update_space = study.update_space
        self.add_arm = study.add_arm
        self.best = study.best
        self.overview = study.overview

    def ask(self, n: int) -> Pull:
        """What to serve request ``n`` with."""
        return self._study.ask(key=f"request-{n}", default=dict(DEFAULT), deadline_s=_DEADLINE_S)

    def tell(self, pull_id: str, reward: float) -> None:
        """Report a rating; the client keeps it while the service is away."""
        self._study.tell(pull_id, reward)

    def counts(self) -> Counts:
        """What became of the requests until now."""
        return _counts(self._study.facts())


class Embedded:
    """A study in this process, whose clock counts requests as seconds."""

    def __init__(self, store: str, seed: int) -> None:
        # Pulls expire on a grid of the clock; from its start, the same seed decides the same.
        began, self._n = time.time() // WINDOW * WINDOW, 0
        self._study = Study.create(
            _free_name(store),
            BEFORE,
            store=store,
            seed=seed,
            window_s=float(WINDOW),
            clock=lambda: began + self._n,
        )
        self.name = self._study.name
        self.tell = self._study.tell
        self.update_space = self._study.update_space
        self.add_arm = self._study.add_arm
        self.best = self._study.best
        self.close = self._study.close

    def ask(self, n: int) -> Pull:
        """What to serve request ``n`` with."""
        self._n = n
        return self._study.ask()

    def overview(self) -> Mapping[str, Any]:
        """Its key figures."""
        return dataclasses.asdict(insight.overview(insight.read(self._study)))

    def counts(self) -> Counts:
        """What became of the requests until now."""
        return _counts(self._study)


@contextmanager
def remote(url: str, seed: int, request_s: float) -> Iterator[Remote]:
    """Create the study of the demonstration over HTTP.

    Args:
        url: The service.
        seed: Of the study.
        request_s: Seconds from one request to the next, for the window.
    """
    from imabo.client import Client

    window_s = max(WINDOW * request_s, _LEAST_WINDOW_S)
    with Client(url, key=os.environ.get("IMABO_KEY"), flush_s=1.0) as client:
        yield Remote(_create(client, seed, window_s))


def _counts(study: Study | RemoteFacts) -> Counts:
    return Counts(study.n_pulls, study.n_rewards, study.n_pending, study.n_expired)


def _create(client: Client, seed: int, window_s: float) -> RemoteStudy:
    while True:
        name = _next_name(client.studies())
        try:
            return client.create(name, BEFORE, seed=seed, window_s=window_s)
        except StudyExists:
            continue  # another demonstration took the name just now


def _free_name(url: str) -> str:
    store = open_store(url)
    try:
        return _next_name(store.names())
    finally:
        store.close()


def _next_name(taken: list[str]) -> str:
    names = (NAME if n == 1 else f"{NAME}-{n}" for n in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)
