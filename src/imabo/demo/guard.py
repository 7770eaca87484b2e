"""Run a command that must not outlive whoever started it: ``python -m imabo.demo.guard COMMAND``.

It ends the command when its standard input closes, which happens also when the parent was killed.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Sequence


def main(command: Sequence[str]) -> int:
    """Run the command to its end; its exit status."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    threading.Thread(target=_watch, args=(child,), daemon=True).start()
    return child.wait()


def _watch(child: subprocess.Popen[bytes]) -> None:
    while sys.stdin.buffer.read(4096):
        pass
    child.terminate()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
