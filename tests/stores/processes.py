"""Processes of their own that run a module of the tests and answer with a line of JSON."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

ROOT: Final = Path(__file__).parents[2]
LIMIT_S: Final = 60.0  # after this a process hangs, and is ended


class Child:
    """A process, ended with the block that it is used in.

    The module calls ``wait_for_start`` when it is ready, and ``answer`` at its end.
    """

    def __init__(self, module: str, *arguments: object) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        self._guard = threading.Timer(LIMIT_S, self.process.kill)
        self._guard.daemon = True
        self._guard.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.kill()
        self.process.communicate()
        self._guard.cancel()

    def ready(self) -> None:
        """Wait until the child has imported what it needs."""
        assert self.line() == "ready\n"

    def start(self) -> None:
        """Let it go."""
        assert self.process.stdin is not None
        self.process.stdin.write("start\n")
        self.process.stdin.flush()

    def line(self) -> str:
        """The next line it says; empty at its end."""
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def answer(self) -> Any:
        """What it found out."""
        said, _ = self.process.communicate()
        assert self.process.returncode == 0, said
        return json.loads(said)


def run(module: str, *arguments: object) -> Any:
    """Run a module to its end and return its answer."""
    return run_together(module, [arguments])[0]


def run_together(module: str, arguments: Sequence[Sequence[object]]) -> list[Any]:
    """Run a module in several processes that start their work at the same moment."""
    children = [Child(module, *own) for own in arguments]
    try:
        for child in children:
            child.ready()
        for child in children:
            child.start()
        return [child.answer() for child in children]
    finally:
        for child in children:
            child.__exit__(None, None, None)


def wait_for_start() -> list[str]:
    """In the child: be ready, wait for the start, and return the arguments."""
    print("ready", flush=True)
    sys.stdin.readline()
    return sys.argv[1:]


def answer(found: object) -> None:
    """In the child: say what was found out."""
    print(json.dumps(found), flush=True)
