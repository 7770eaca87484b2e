"""The study that the demonstration talks to: behind a service, or in this process."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from imabo import insight
from imabo.arms import Pull
from imabo.control import Control
from imabo.demo.world import BEFORE, DEFAULT, WINDOW
from imabo.errors import StudyExists
from imabo.stores import Store, open_store
from imabo.study import Study

if TYPE_CHECKING:
    from imabo.client import Client, RemoteFacts, RemoteStudy

NAME: Final = "assistant"
_DEADLINE_S: Final = 2.0  # a user does not wait longer; the default is served instead
_LEAST_WINDOW_S: Final = 1.0
CONTROL: Final = Control(DEFAULT, share=0.1)  # every tenth user is served as today


class Counts(NamedTuple):
    """What became of the requests, at one moment."""

    n_pulls: int
    n_rewards: int
    n_pending: int
    n_expired: int


class Remote:
    """A study of a service, used as a careful application uses it.

    Every request has a key, so that one that is sent twice is served once, and a default, so that
    no user waits for a service that is away; ratings are kept by the client while it is.
    """

    def __init__(self, study: RemoteStudy) -> None:
        self._study = study
        self.name, self.tell, self.best = study.name, study.tell, study.best
        self.update_space, self.add_arm = study.update_space, study.add_arm
        self.overview, self.events = study.overview, study.events

    def ask(self, n: int) -> Pull:
        """What to serve request ``n`` with."""
        return self._study.ask(key=f"request-{n}", default=dict(DEFAULT), deadline_s=_DEADLINE_S)

    def counts(self) -> Counts:
        """What became of the requests until now."""
        return _counts(self._study.facts())


class Embedded:
    """A study in this process, whose clock counts requests as seconds."""

    def __init__(self, store: str | Store | None, seed: int) -> None:
        self._store = open_store(store)
        name = _free_name(self._store.names())
        # Pulls expire on a grid of the clock; from its start, the same seed decides the same.
        began, self._n = time.time() // WINDOW * WINDOW, 0
        self._study = study = Study.create(
            name,
            BEFORE,
            store=self._store,
            seed=seed,
            window_s=float(WINDOW),
            control=CONTROL,
            clock=lambda: began + self._n,
        )
        self.name, self.tell, self.best = name, study.tell, study.best
        self.update_space, self.add_arm = study.update_space, study.add_arm
        self.events = study.events

    def ask(self, n: int) -> Pull:
        """What to serve request ``n`` with."""
        self._n = n
        return self._study.ask()

    def close(self) -> None:
        """Release the store."""
        self._study.close()
        self._store.close()

    def overview(self) -> Mapping[str, Any]:
        """Its key figures."""
        return insight.overview_document(insight.overview(insight.read(self._study)))

    def counts(self) -> Counts:
        """What became of the requests until now."""
        return _counts(self._study)


Live: TypeAlias = Remote | Embedded


@contextmanager
def remote(url: str, seed: int, request_s: float) -> Iterator[Remote]:
    """Create the study over HTTP, with a window for a request every ``request_s`` seconds."""
    from imabo.client import Client

    window_s = max(WINDOW * request_s, _LEAST_WINDOW_S)
    with Client(url, key=os.environ.get("IMABO_KEY"), flush_s=1.0) as client:
        yield Remote(_create(client, seed, window_s))


def _counts(study: Study | RemoteFacts) -> Counts:
    return Counts(study.n_pulls, study.n_rewards, study.n_pending, study.n_expired)


def _create(client: Client, seed: int, window_s: float) -> RemoteStudy:
    while True:
        name = _free_name(client.studies())
        try:
            return client.create(name, BEFORE, seed=seed, window_s=window_s, control=CONTROL)
        except StudyExists:
            continue  # another demonstration took the name just now


def _free_name(taken: list[str]) -> str:
    names = (NAME if n == 1 else f"{NAME}-{n}" for n in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)
