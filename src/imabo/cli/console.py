"""The terminal while a command runs: progress, keys that are pressed, signals that end it."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import TextIO

from imabo import late_scipy
from imabo.cli.output import screen_of

Step = Callable[[int], None]


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and a lost terminal end the block as Ctrl-C does, so that it can clean up."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's business
        return

    def end(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise KeyboardInterrupt

    late_scipy.load()  # else a signal that comes while it is loaded is lost
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {name: signal.signal(getattr(signal, name), end) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


@contextmanager
def progress(label: str, total: int | None = None) -> Iterator[Step]:
    """Show on a terminal how far something is; yields what counts the steps that were done."""
    screen = screen_of(sys.stderr)
    with nullcontext(lambda done: None) if screen is None else screen.bar(label, total) as step:
        yield step


class CountedLines:
    """A text file that counts the lines that are written to it."""

    def __init__(self, file: TextIO, step: Step) -> None:
        self._file, self._step = file, step

    def write(self, text: str) -> int:
        """Write a piece of text."""
        self._step(text.count("\n"))
        return self._file.write(text)


@contextmanager
def keyboard() -> Iterator[Callable[[float], str]]:
    """Yields what waits for so many seconds and gives what was typed, empty when nothing was.

    The terminal is put back as it was afterwards. Without a terminal to type on it only waits.
    """
    try:
        import termios
        import tty
    except ImportError:  # not on this system
        yield _sleep
        return
    try:
        terminal = sys.stdin.fileno()
        before = termios.tcgetattr(terminal)
    except (OSError, ValueError, termios.error):
        yield _sleep
        return
    try:
        tty.setcbreak(terminal)  # Ctrl-C still interrupts
        yield lambda seconds: _typed(terminal, seconds)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _typed(terminal: int, seconds: float) -> str:
    ready, _, _ = select.select([terminal], [], [], seconds)
    if not ready:
        return ""
    typed = os.read(terminal, 64)
    if not typed:
        time.sleep(seconds)  # the terminal is gone; do not spin
    return typed.decode(errors="replace")


def _sleep(seconds: float) -> str:
    time.sleep(seconds)
    return ""
