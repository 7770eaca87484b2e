"""Processes that tests start and kill."""

from __future__ import annotations

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

    def kill(self) -> None:
        """As the power does: nothing is finished."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


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
