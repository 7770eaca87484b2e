"""The demonstration with its service: real processes, real HTTP, a real database file."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from imabo import Study
from tests.server.shell import COMMAND, environment

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/task").is_dir(), reason="the system does not list a process's children"
)


class Demo:
    """A running ``imabo demo``, whose service is ready."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.process = process
        self.page = ""
        while not self.page:
            line = process.stdout.readline()
            assert line, process.communicate()
            if line.startswith("The page"):
                self.page = line.split()[-1]
        self.url = self.page.partition("/#/")[0]
        (self.guard,) = children_of(process.pid)
        (self.server,) = children_of(self.guard)

    @property
    def family(self) -> list[int]:
        """All processes that it started."""
        return [self.guard, self.server, *children_of(self.server)]

    def end(self) -> tuple[int, str, str]:
        """Wait for its end: the code and what it wrote since."""
        out, errors = self.process.communicate(timeout=120)
        return self.process.returncode, out, errors


def children_of(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(word) for path in tasks for word in path.read_text().split()]


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def are_gone(pids: list[int]) -> bool:
    """Whether processes end; those of the oracles do so a moment after their server."""
    until = time.monotonic() + 60.0
    while any(map(is_running, pids)) and time.monotonic() < until:
        time.sleep(0.05)
    return not any(map(is_running, pids))


@contextmanager
def demo(store: str, *arguments: str, **variables: str) -> Iterator[Demo]:
    process = subprocess.Popen(
        [*COMMAND, "demo", "--store", store, *arguments],
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield Demo(process)
    finally:
        if process.poll() is None:
            process.terminate()
            process.communicate(timeout=60)


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/d.db"


def test_a_whole_run_shows_its_page_and_ends_everything_but_the_database(
    store: str, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        # A setting for another service, on a port that is taken: the demo has one of its own.
        port = str(busy.getsockname()[1])
        with demo(
            store, "--rounds", "150", "--seconds", "3", "--seed", "1", IMABO_PORT=port
        ) as run:
            assert run.page == f"{run.url}/#/studies/assistant"
            assert run.url.startswith("http://127.0.0.1:")
            assert "text/html" in httpx.get(run.url, timeout=60).headers["content-type"]
            seen = httpx.get(f"{run.url}/v1/studies/assistant", timeout=60).json()
            assert seen["name"] == "assistant"
            family = run.family
            code, out, errors = run.end()
    assert (code, errors) == (0, "")
    assert "request 101: a new model ships" in out
    assert "Is feedback healthy?" in out
    assert "150 of 150" in out
    assert "Best configuration" in out
    assert "The page stays" not in out  # nobody sits at a terminal
    assert are_gone(family)
    with pytest.raises(httpx.ConnectError):
        httpx.get(run.url)
    assert [path.name for path in tmp_path.iterdir()] == ["d.db"]
    with Study.open("assistant", store=store) as study:
        assert study.space_version == 2
        assert 75 <= study.n_pulls <= 150  # a machine that stalls makes some default
        assert 0 < study.n_rewards < study.n_pulls
        assert sum(arm.origin == "manual" for arm in study.arms()) == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_its_service_too(store: str, number: signal.Signals) -> None:
    with demo(store, "--seed", "1") as run:
        family = run.family
        run.process.send_signal(number)
        code, out, errors = run.end()
    assert code == 130
    assert "is kept in" in out
    assert "Traceback" not in errors
    assert are_gone(family)
    with Study.open("assistant", store=store) as study:
        assert study.space_version == 1


def test_a_run_that_is_killed_leaves_no_service_behind(store: str) -> None:
    with demo(store, "--seed", "1") as run:
        family = run.family
        run.process.kill()
        run.end()
    assert are_gone(family)


def test_a_service_that_dies_ends_the_run_with_an_explanation(store: str) -> None:
    with demo(store, "--rounds", "100", "--seconds", "60") as run:
        os.kill(run.server, signal.SIGKILL)
        code, _, errors = run.end()
    assert code == 5
    assert "the service of the demonstration has ended" in errors
    assert "--embedded" in errors
    assert "Traceback" not in errors
