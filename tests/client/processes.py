"""Processes that tests start and kill."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


class KilledServer:
    """The service in a process of its own, which dies and comes back on the same port."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._port = 0
        self._process: subprocess.Popen[str] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.client.children.serve", str(self._file)]
        self._process = subprocess.Popen(
            [*command, str(self._port)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the server did not start"
        self._port = int(line)

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
