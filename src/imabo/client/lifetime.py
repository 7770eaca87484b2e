"""Forks and the end of the program: what clients must do then."""

from __future__ import annotations

import atexit
import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Final, NamedTuple
from weakref import WeakMethod

_LAST_MOMENT_S: Final = 10.0

_log = logging.getLogger(__name__)


class _Watched(NamedTuple):
    """The methods of an object that must know of forks and of the end of the program."""

    before_fork: WeakMethod[Callable[[], None]]
    after_fork: WeakMethod[Callable[[bool], None]]
    at_exit: WeakMethod[Callable[[float], None]]


_watched: list[_Watched] = []
_forking: list[Callable[[bool], None]] = []  # to be called when the fork is over
_fork_lock = threading.RLock()  # two threads may fork at once
_busy: set[object] = set()
_ending_lock = threading.Lock()
_is_exiting = False
_is_terminated = False


def hold(thing: object) -> None:
    """Keep something alive that nobody else may refer to any more, until ``release``."""
    _busy.add(thing)


def release(thing: object) -> None:
    """Let go of what ``hold`` kept."""
    _busy.discard(thing)


def watch(
    before_fork: Callable[[], None],
    after_fork: Callable[[bool], None],
    at_exit: Callable[[float], None],
) -> None:
    """Call methods of an object, for as long as it lives.

    After a fork in the parent and in the child, with whether it is the child; at the end of the
    program with the seconds that others took before.
    """
    _watched[:] = [known for known in _watched if known.at_exit() is not None]
    _watched.append(_Watched(WeakMethod(before_fork), WeakMethod(after_fork), WeakMethod(at_exit)))


def await_end() -> None:
    """Wait where SIGTERM ends the process in a moment.

    Else the program would meet a client that was closed behind its back, and say so.
    """
    if _is_terminated and not _is_exiting:
        time.sleep(_LAST_MOMENT_S)


def deliver_on_sigterm() -> bool:
    """Send what waits before SIGTERM ends the process; False where that is not ours to do.

    Only where nobody else decided what SIGTERM does, and where Python lets us: in the main thread.
    A handler that somebody puts in place later replaces this one.
    """
    try:
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _terminated)
    except ValueError:
        return False  # not the main thread
    return signal.getsignal(signal.SIGTERM) is _terminated


def _terminated(number: int, frame: object) -> None:
    # From here on SIGTERM does what it did: another one ends the process at once.
    global _is_terminated
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _is_terminated = True
    if _is_exiting:
        return  # what waits is being sent already
    # The main thread may have been stopped with a lock in its hand, so another one delivers.
    try:
        threading.Thread(target=_deliver_and_die, name="imabo-sigterm", daemon=True).start()
    except RuntimeError:
        os.kill(os.getpid(), signal.SIGTERM)


def _deliver_and_die() -> None:
    try:
        _end_all()
    finally:
        os.kill(os.getpid(), signal.SIGTERM)


def _end_all() -> None:
    with _ending_lock:
        started = time.monotonic()
        for known in tuple(_watched):
            method = known.at_exit()
            if method is not None:
                try:
                    method(time.monotonic() - started)
                except Exception:  # the others have rewards as well
                    _log.exception("a client could not be ended")


def _exit() -> None:
    global _is_exiting
    _is_exiting = True
    _end_all()
    if _is_terminated:
        # The program came to its end meanwhile; it is a signal that ended it all the same.
        os.kill(os.getpid(), signal.SIGTERM)


def _before_fork() -> None:
    _fork_lock.acquire()
    for known in tuple(_watched):
        before, after = known.before_fork(), known.after_fork()
        if before is not None and after is not None:
            before()
            _forking.append(after)


def _after_fork(is_child: bool) -> None:
    global _ending_lock, _is_terminated
    if is_child:
        _ending_lock, _is_terminated = threading.Lock(), False  # a signal was for the parent
    while _forking:
        _forking.pop()(is_child)
    _fork_lock.release()


atexit.register(_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=lambda: _after_fork(False),
        after_in_child=lambda: _after_fork(True),
    )
