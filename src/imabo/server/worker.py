"""A process that runs oracles for the server it belongs to."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Final

import numpy as np

from imabo.oracles.base import Exhausted, Proposal

Outcome = Proposal | Exhausted

# Read by the libraries when they are loaded; SciPy and NumPy come with OpenBLAS, or with MKL.
_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


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
