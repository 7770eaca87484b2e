"""``imabo`` in a shell: a process of its own, as it is started in production."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

COMMAND = [sys.executable, "-m", "imabo.cli"]


def environment(**variables: str) -> dict[str, str]:
    """This process's, without settings of imabo."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("IMABO_")}
    return kept | variables


class Serving:
    """A running ``imabo serve``."""

    def __init__(self, process: subprocess.Popen[str], *, is_json: bool = False) -> None:
        self.process, self.is_json = process, is_json
        self.url = ""

    def wait_until_ready(self) -> None:
        """Read the address that it prints."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.url = json.loads(line)["url"] if self.is_json else line.removeprefix("imabo serves ")
        self.url = self.url.strip()
        assert self.url.startswith("http://"), (line, self.errors())

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; returns the exit status."""
        self.process.send_signal(number)
        return self.process.wait(60)

    def errors(self) -> str:
        """What it wrote to standard error; after its end."""
        assert self.process.stderr is not None
        return self.process.stderr.read()


@contextmanager
def serving(store: str, *arguments: str) -> Iterator[Serving]:
    """Start ``imabo serve`` on a free port, and end it if the test did not."""
    process = subprocess.Popen(
        [*COMMAND, "serve", f"--store={store}", "--port=0", "--no-proposals", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    try:
        found = Serving(process, is_json="--json" in arguments)
        found.wait_until_ready()
        yield found
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run ``imabo`` to its end."""
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        env=environment(**variables),
        timeout=60,
        check=False,
    )
