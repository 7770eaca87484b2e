"""The process that runs oracles for a server."""

from __future__ import annotations

import os
import pickle
from typing import NoReturn

import pytest

from imabo.server.proposals import OracleFailed, Worker

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Reporter:
    """Stands for an oracle: says what its process was started with."""

    def propose(self, *_: object) -> NoReturn:
        raise RuntimeError(" ".join(os.environ.get(name, "-") for name in THREADS))


def test_a_worker_has_one_thread_for_matrices_unless_somebody_said_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in THREADS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    worker = Worker()
    try:
        with pytest.raises(OracleFailed, match="RuntimeError: 3 1 1"):
            worker.call(pickle.dumps((Reporter(), None, None, 0)))
    finally:
        worker.end()
    assert not set(THREADS[1:]) & os.environ.keys()  # this process goes on as it was
