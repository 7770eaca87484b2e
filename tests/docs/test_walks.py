"""The lists of files in ARCHITECTURE.md are those that requests really come to, and are short."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from imabo.server.settings import Settings
from tests.server.running import RunningServer
from tests.walks import LIMITS, Tracer, Walk, in_process, on_page, over_http

AGAIN = "run: python -m tests.walks --write"


def compare(traced: dict[str, Walk]) -> None:
    written = on_page()
    for name, walk in traced.items():
        assert set(written[name]) == set(walk), f"ARCHITECTURE.md, {name}: {AGAIN}"


def test_a_request_in_process_crosses_the_files_of_the_page(tmp_path: Path) -> None:
    compare(in_process(tmp_path))


def test_a_request_over_http_crosses_the_files_of_the_page(postgres_url: str) -> None:
    compare(over_http(postgres_url))


@pytest.mark.parametrize("name", LIMITS)
def test_a_walk_is_short(name: str) -> None:
    walk = on_page()[name]
    assert len(walk) <= LIMITS[name], walk
    assert len(set(walk)) == len(walk)


def test_what_a_service_does_beside_requests_belongs_to_none() -> None:
    """It follows its store, counts and looks at its threads all the while."""
    tracer = Tracer()
    with tracer.watching(), RunningServer(settings=Settings(poll_s=0.05)):
        assert tracer.walk(lambda: time.sleep(1.5))[1] == ()


def test_the_work_of_another_thread_counts_when_it_asks_a_study() -> None:
    from imabo import Choice, Space, Study

    tracer = Tracer()
    go, done = threading.Event(), threading.Event()
    study = Study.create("walk", Space(x=Choice(1, 2)))

    def work() -> None:
        for act in (study.ask, study.arms):
            go.wait()
            go.clear()
            act()
            done.set()

    def request() -> None:
        done.clear()
        go.set()
        assert done.wait(60.0)

    with tracer.watching():
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        assert "study.py" in tracer.walk(request)[1]
        assert tracer.walk(request)[1] == ()  # it only reads
        thread.join(60.0)
