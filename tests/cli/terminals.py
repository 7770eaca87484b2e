"""``imabo`` on a terminal of its own."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

from tests.server.shell import COMMAND, environment

_LIMIT_S = 60.0


# Makes the terminal the one that Ctrl-C comes from, then becomes the command.
_BEGIN = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.argv[1], sys.argv[1:])"
)


class Terminal:
    """A process whose input, output and errors are one terminal.

    Args:
        arguments: Of ``imabo``.
        folder: Where it runs.
        command: What runs it.
        columns: Letters of a line.
    """

    def __init__(
        self, *arguments: str, folder: Path, command: list[str] = COMMAND, columns: int = 160
    ) -> None:
        variables = environment(TERM="xterm-256color", PYTHONIOENCODING="utf-8")
        for name in ("COLUMNS", "LINES"):  # the size is the terminal's own
            variables.pop(name, None)
        self._fd, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, "-c", _BEGIN, *command, *arguments],
            stdin=inner,
            stdout=inner,
            stderr=inner,
            cwd=folder,
            env=variables,
            start_new_session=True,
        )
        os.close(inner)
        self.raw = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._ends_at = time.monotonic() + _LIMIT_S

    @property
    def text(self) -> str:
        """What was written, without the terminal's own commands."""
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.raw).replace("\r", "")

    def until(self, seen: Callable[[str], bool]) -> None:
        """Read until the text is as wanted."""
        while not seen(self.text):
            assert self._read(), f"it ended with {self.text!r}"

    def type(self, keys: str) -> None:
        """Type."""
        os.write(self._fd, keys.encode())

    def end(self) -> int:
        """Read to the end; returns the exit code."""
        while self._read():
            pass
        os.close(self._fd)
        return self._process.wait(_LIMIT_S)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._fd], [], [], max(self._ends_at - time.monotonic(), 0.0))
        if not ready:
            self._process.kill()
            self._process.wait()
            raise TimeoutError(f"after {self.text!r}")
        try:
            data = os.read(self._fd, 65_536)
        except OSError:  # the other end is closed
            return False
        self.raw += self._decoder.decode(data)  # a letter may come in two pieces
        return bool(data)
