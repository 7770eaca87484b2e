"""Proposals prepared in the background, so that no request waits for an oracle.

An oracle may take tens of milliseconds (a model fit) or seconds, and in a thread it would hold up
the requests all the same: Python runs one thread at a time. So it runs in a process of its own, on
a copy of the study's view, and what it proposes waits until the schedule asks for an arm.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Final

import numpy as np

from imabo.arms import ActiveSet, Beliefs
from imabo.oracles.base import Exhausted, Proposal
from imabo.server.logs import log
from imabo.spending import of_arms
from imabo.study import Study

Outcome = Proposal | Exhausted

_STREAM: Final = 0x70726F70  # keeps these random streams apart from those of the decisions
_STALE_SHARE: Final = 0.05  # a proposal is made anew after so many more rewards ...
_STALE_LEAST: Final = 10  # ... at least this many ...
_STALE_S: Final = 1.0  # ... and not sooner than this
_PAUSES_S: Final = (1.0, 60.0)  # after a failure: the first pause, and the longest
# Read by the libraries when they are loaded; SciPy and NumPy come with OpenBLAS, or with MKL.
_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Proposals:
    """The worker process of a server, shared by its studies; it starts with the first job."""

    def __init__(self) -> None:
        self._tasks: SimpleQueue[tuple[bytes, Callable[..., None]] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._worker: Worker | None = None
        self.is_closed = False

    def attach(self, study: Study) -> StudyProposals:
        """Let a study take its proposals from here."""
        proposals = StudyProposals(self, study)
        study.use_proposer(proposals)
        return proposals

    def submit(self, job: bytes, finish: Callable[[Outcome | Exception], None]) -> None:
        """Run a job, and hand on what came of it; after ``close``, nothing."""
        with self._lock:
            if self.is_closed:
                return
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="imabo-proposals", daemon=True
                )
                self._thread.start()
        self._tasks.put((job, finish))

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            job, finish = task
            came: Outcome | Exception
            try:
                with self._lock:
                    if self.is_closed:
                        return
                    worker = self._worker = self._worker or Worker()
                came = worker.call(job)
            except (EOFError, OSError) as error:  # the worker is gone; the next job gets another
                with self._lock:
                    self._worker = None
                came = OracleFailed(f"its process ended ({error!r})")
            except Exception as error:
                came = error
            finish(came)

    def close(self) -> None:
        """End the worker without waiting for what it is at."""
        with self._lock:
            self.is_closed = True
            worker, thread = self._worker, self._thread
        self._tasks.put(None)
        if worker is not None:
            worker.end()
        if thread is not None:
            thread.join()


@dataclass(frozen=True, slots=True)
class _Ready:
    """A proposal, and what the view was when it was made."""

    proposal: Proposal
    arms: tuple[int, ...]
    space_version: int
    n_rewards: int
    made_at: float


class StudyProposals:
    """The proposals of one study: at most one is ready, and it is made anew as rewards arrive."""

    def __init__(self, proposals: Proposals, study: Study) -> None:
        self._proposals, self._study = proposals, study
        self._ready: _Ready | None = None
        self._is_running = False
        self._pause_s = 0.0
        self._not_before = 0.0

    @property
    def n_ready(self) -> int:
        """How many proposals wait to be used."""
        return int(self._ready is not None)

    def take(self, view: ActiveSet, space_version: int) -> Proposal | None:
        """See ``Study.use_proposer``."""
        ready, self._ready = self._ready, None
        if ready is None or ready.space_version != space_version or ready.proposal.config in view:
            return None
        beliefs = ready.proposal.beliefs
        if beliefs is None:
            return ready.proposal
        # Made for the arms of that time: nothing is expected of those that came since.
        known = dict(
            zip(ready.arms, zip(beliefs.means, beliefs.counts, strict=False), strict=False)
        )
        rows = [known.get(arm, (0.5, 0.0)) for arm in view.ids.tolist()]
        means, counts = np.array([*rows, (beliefs.means[-1], beliefs.counts[-1])]).T
        state = beliefs.state
        if "uses" in state:
            state = {**state, "uses": of_arms(state["uses"], ready.arms, view.ids.tolist())}
        return replace(ready.proposal, beliefs=Beliefs(means, counts, state))

    @property
    def is_due(self) -> bool:
        """Whether there is no proposal, or an old one, and none is being prepared."""
        now = time.monotonic()
        if self._is_running or now < self._not_before:
            return False
        ready = self._ready
        if ready is None:
            return True
        n_rewards = self._study.n_rewards
        is_old = n_rewards - ready.n_rewards >= max(_STALE_LEAST, _STALE_SHARE * n_rewards)
        return is_old and now >= ready.made_at + _STALE_S

    def refresh(self) -> None:
        """Start to prepare a proposal when there is none, or when it has become old."""
        if not self.is_due:
            return
        prepared = self._study.read(self._job)
        if prepared is not None:
            job, seen = prepared
            self._is_running = True
            self._proposals.submit(job, partial(self._finish, seen))

    def _job(self, view: ActiveSet) -> tuple[bytes, _Ready] | None:
        study = self._study
        if study.policy.growth(view) == "warmup" or view.exhausted:
            return None
        entropy = (study.seed, view.totals.n_pulls, _STREAM)
        scores = study.policy.scores(view)
        seen = _Ready(
            Proposal({}),
            tuple(view.ids.tolist()),
            study.space_version,
            view.totals.n_rewards,
            time.monotonic(),
        )
        # Pickled now, while nothing changes the view; the pool would do it at its leisure.
        return pickle.dumps((study.oracle, view, scores, entropy)), seen

    def _finish(self, seen: _Ready, came: Outcome | Exception) -> None:
        if self._proposals.is_closed:
            return
        if isinstance(came, Exception):
            self._pause_s = min(max(2.0 * self._pause_s, _PAUSES_S[0]), _PAUSES_S[1])
            self._not_before = time.monotonic() + self._pause_s
            text = "the oracle of study %r failed: %s; the next try is in %.0f s"
            log.warning(text, self._study.name, came, self._pause_s)
        else:
            self._pause_s = 0.0
            if isinstance(came, Proposal):
                self._ready = replace(seen, proposal=came)
        self._is_running = False


# --- the process that runs oracles ----------------------------------------------------------------


class OracleFailed(Exception):
    """An oracle raised, or its process ended."""


class Worker:
    """One process, one job at a time. It ends with the process that made it, however that ends."""

    def __init__(self) -> None:
        # Spawned, not forked: the server has threads and connections.
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=serve_jobs, args=(theirs,), daemon=True)
        with _single_threaded():
            self._process.start()
        theirs.close()

    def call(self, job: bytes) -> Outcome:
        """Run a pickled (oracle, view, scores, entropy); ``EOFError`` when the process is gone."""
        self._connection.send_bytes(job)
        outcome: Outcome | str = pickle.loads(self._connection.recv_bytes())
        if isinstance(outcome, str):
            raise OracleFailed(outcome)
        return outcome

    def end(self) -> None:
        """End the process at once."""
        self._process.terminate()
        self._process.join()


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Give processes that start meanwhile one thread for matrices, unless somebody said otherwise.

    The matrices of oracles are small, and the cores are busy with requests: threads that wait for
    each other then take many times as long as one that does not wait.
    """
    missing = [name for name in _THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(missing, "1"))
    try:
        yield
    finally:
        for name in missing:
            os.environ.pop(name, None)


def serve_jobs(connection: Connection) -> None:
    """What the process does until its server closes the connection or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this one
    while True:
        try:
            connection.send_bytes(pickle.dumps(run_job(connection.recv_bytes())))
        except (EOFError, OSError):  # the server is gone, also while this one was at work
            return


def run_job(job: bytes) -> Outcome | str:
    """Call an oracle; what it raised comes back as text, because not every error can be sent."""
    try:
        oracle, view, scores, entropy = pickle.loads(job)
        outcome: Outcome = oracle.propose(view, scores, np.random.default_rng(entropy))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return outcome
