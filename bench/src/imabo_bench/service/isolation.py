"""What one study that is stuck costs the others: the tail of another study's asks, and alone."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

import psycopg

from imabo_bench.service import load
from imabo_bench.service.databases import Database
from imabo_bench.service.filling import Past, fill
from imabo_bench.service.host import Busy, hosted
from imabo_bench.service.measures import Plan, Service
from imabo_bench.service.sample import tail_line
from imabo_bench.timing import Line

_CALM: Final = "calm"
_LOCKED: Final = "locked"
_BUSY: Final = "busy"
_CALLERS: Final = 4  # of the study that is stuck, each with one ask at a time
_PATIENCE_S: Final = 120.0
BAR: Final = 2.0


def isolation(database: Database, plan: Plan) -> list[Line]:
    """The p99 of one study's asks while another is stuck, against alone.

    On PostgreSQL another session holds the study's row for the whole round; on either, the policy
    of a study computes for a second a decision, again and again.
    """
    url = database.fresh()
    busy = Past(_BUSY, plan.past, Busy(beta=0.25))
    fill(url, [Past(_CALM, plan.past), Past(_LOCKED, plan.past), busy])
    with hosted("service", "--store", url) as address:
        service = Service(address, plan)

        def locked(_: int) -> load.Load:
            with asking(address, _LOCKED), held_row(url, _LOCKED):
                return service.asks(_CALM)

        def computing(_: int) -> load.Load:
            with asking(address, _BUSY):
                return service.asks(_CALM)

        service.asks(_CALM)  # connections, caches and the like are there
        variants = {"alone": lambda _: service.asks(_CALM), "computing": computing}
        if url.startswith("postgresql"):
            variants["locked"] = locked
        seen = plan.in_turn(variants)
    name, alone = database.name, seen["alone"]
    words = {
        "locked": "a row of another study locked vs alone",
        "computing": "decisions of 1 s in another study vs alone",
    }
    return [
        tail_line(f"{name}: an ask's p99, {words[kind]}", seen[kind], alone, BAR)
        for kind in ("locked", "computing")
        if kind in seen
    ]


@contextmanager
def held_row(url: str, study: str) -> Iterator[None]:
    """Hold the row of a study, as a session that was forgotten in a transaction does."""
    with psycopg.connect(url) as db:
        db.execute("SELECT 1 FROM imabo_studies WHERE name = %s FOR UPDATE", (study,))
        yield
        db.rollback()


@contextmanager
def asking(address: str, study: str) -> Iterator[None]:
    """Ask a study all the while; what it answers does not matter."""
    done = threading.Event()
    request = urllib.request.Request(address + load.asks(study).path, b"", method="POST")

    def ask() -> None:
        while not done.is_set():
            try:
                with urllib.request.urlopen(request, timeout=_PATIENCE_S) as answer:
                    answer.read()
            except urllib.error.HTTPError as refused:
                refused.close()
                done.wait(0.1)

    with ExitStack() as stack:
        for _ in range(_CALLERS):
            thread = threading.Thread(target=ask)
            stack.callback(thread.join)
            thread.start()
        stack.callback(done.set)
        yield
