"""The servers that are measured, as processes: the service, and an empty route beside it.

Both are set up by the same settings of uvicorn. ``python -m imabo_bench.service.host`` runs one.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import numpy as np
import uvicorn

from imabo import oracles, policies
from imabo.arms import ActiveSet, Floats
from imabo.oracles.base import Exhausted, Oracle, Proposal, draw_new
from imabo.policies.base import Rounds
from imabo.server.serving import address_of, listen, quiet_config, run_quietly, serve
from imabo.server.settings import Settings

_STOP_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Slow(Oracle):
    """A P0 draw after a while; in the host it is known to the service like an oracle of imabo's.

    Args:
        seconds: How long a proposal takes.
        busy: Whether it computes all the while, or waits.
    """

    seconds: float = 1.0
    busy: bool = False

    def propose(
        self, arms: ActiveSet, scores: Floats, rng: np.random.Generator
    ) -> Proposal | Exhausted:
        """See ``Oracle.propose``."""
        del scores
        ends_at = time.monotonic() + self.seconds
        while self.busy and time.monotonic() < ends_at:
            pass
        time.sleep(max(0.0, ends_at - time.monotonic()))
        return draw_new(arms, rng)


@dataclass(frozen=True, slots=True)
class Busy(policies.Informed):
    """The default policy after a while of computing; in the host it is known to the service.

    Args:
        seconds: How long the decisions of a group take.
    """

    seconds: float = 1.0

    def rounds(self, arms: ActiveSet, n: int) -> Rounds:
        """See ``Policy.rounds``."""
        ends_at = time.monotonic() + self.seconds
        while time.monotonic() < ends_at:
            pass
        return policies.Informed.rounds(self, arms, n)


@contextmanager
def hosted(*arguments: str) -> Iterator[str]:
    """A server in a process of its own; the URL it answers at."""
    command = [sys.executable, "-m", "imabo_bench.service.host", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout is None:
            raise RuntimeError("the host's output is not piped")
        url = process.stdout.readline().strip()
        if not url:
            raise RuntimeError(f"the host ended with {process.wait()}: {' '.join(arguments)}")
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def serve_empty() -> None:
    """FastAPI with one route that returns ``{}``."""
    from fastapi import FastAPI

    app = FastAPI(openapi_url=None)

    @app.get("/")
    async def empty() -> dict[str, str]:
        return {}

    listener = listen("127.0.0.1", 0)
    _say(address_of(listener))
    run_quietly(uvicorn.Server(quiet_config(app, "httptools")), listener)


def main() -> int:
    """Serve until SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m imabo_bench.service.host", description=__doc__)
    parser.add_argument("what", choices=["empty", "service"])
    parser.add_argument("--store", default="")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    if options.what == "empty":
        serve_empty()
        return 0
    return serve(Settings(store=options.store, port=0, workers=options.workers), _say)


def _say(line: str) -> None:
    print(line, flush=True)  # whoever started this waits for the address


if __name__ == "__main__":
    # The process of proposals must find the classes by the module's own name.
    from imabo_bench.service import host

    oracles.Slow = host.Slow  # type: ignore[attr-defined]
    oracles.__all__.append("Slow")
    policies.Busy = host.Busy  # type: ignore[attr-defined]
    policies.__all__.append("Busy")
    raise SystemExit(main())
