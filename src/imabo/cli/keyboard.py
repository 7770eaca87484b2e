"""Waiting for a key on a terminal, without Enter."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


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
