"""Processes that tests start and kill."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from tests.chaos.fleet import COMMAND

ROOT = Path(__file__).parent.parent.parent

_STARTS = 20  # a database that was away a moment ago may be slow


class KilledServer:
    """``imabo serve`` in a process of its own, which dies and comes back on the same port.

    Args:
        store: The store's URL.
        options: More for the command line.
        log: Where its log goes on; its parent's standard error by default.
    """

    def __init__(self, store: str, options: Sequence[str] = (), log: Path | None = None) -> None:
        self._command = [*COMMAND, "--store", store, "--no-proposals", *options]
        self._log = log
        self._port = 0
        self._process: subprocess.Popen[str] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it, again when it could not use its database, unless it runs."""
        for _ in range(_STARTS):
            if self._process is not None:
                return
            with self._log.open("a") if self._log else nullcontext() as log:
                process = subprocess.Popen(
                    [*self._command, "--port", str(self._port)],
                    cwd=ROOT,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                )
            self._process = process
            assert process.stdout is not None
            line = process.stdout.readline()  # "imabo serves http://127.0.0.1:PORT"
            if line:
                self._port = int(line.rpartition(":")[2])
            else:
                self.kill()
        assert self._process is not None, "the server did not start"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def kill(self) -> None:
        """As the power does: nothing is finished."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop it where it is, and let it go on unless it was killed meanwhile."""
        process = self._process
        assert process is not None
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.send_signal(signal.SIGCONT)

    @contextmanager
    def without_room(self) -> Iterator[None]:
        """Let it write no file at all, as on a full disk, unless it is killed meanwhile."""
        process = self._process
        assert process is not None
        limit_files(process.pid, 1)
        try:
            yield
        finally:
            if process.poll() is None:
                limit_files(process.pid, resource.RLIM_INFINITY)


def limit_files(pid: int, size: int) -> None:
    """Let a process write no file beyond a size: every commit fails, as on a full disk."""
    hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, hard))


def run_child(name: str, *arguments: str) -> str:
    """What a script of this folder prints, once it has ended well."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", f"tests.client.children.{name}", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120.0,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class Teller:
    """A process that tells rewards in the background, until it is killed or its input ends."""

    def __init__(self, kind: str, url: str, outbox: Path | str = "", **settings: object) -> None:
        pairs = [f"{name}={json.dumps(value)}" for name, value in settings.items()]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.client.children.tell", kind, url, str(outbox), *pairs],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def say(self, *lines: str) -> None:
        """Write to its input, without waiting for what comes of it."""
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{line}\n" for line in lines))
        self.process.stdin.flush()

    def hear(self, count: int) -> list[str]:
        """So many lines of its output."""
        assert self.process.stdout is not None
        return [self.process.stdout.readline().strip() for _ in range(count)]

    def tell(self, *pulls: str) -> list[str]:
        """Let it tell rewards; what became of each."""
        self.say(*pulls)
        return self.hear(len(pulls))

    def end(self, number: int | None = None) -> int:
        """End it with a signal, or by its input's end; its exit status."""
        if number is not None:
            self.process.send_signal(number)
            self.process.wait(60.0)
        self.process.communicate(timeout=60.0)
        return self.process.returncode
