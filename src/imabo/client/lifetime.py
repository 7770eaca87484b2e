"""Forks and the end of the program: what clients must do then."""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Callable
from weakref import WeakMethod

_after_fork: list[WeakMethod[Callable[..., None]]] = []
_at_exit: list[WeakMethod[Callable[..., None]]] = []
_busy: set[object] = set()


def hold(thing: object) -> None:
    """Keep something alive that nobody else may refer to any more, until ``release``."""
    _busy.add(thing)


def release(thing: object) -> None:
    """Let go of what ``hold`` kept."""
    _busy.discard(thing)


def watch(after_fork: Callable[[], None], at_exit: Callable[[float], None]) -> None:
    """Call methods of an object, for as long as it lives.

    Args:
        after_fork: Called in a child process, to start afresh there.
        at_exit: Called at the end of the program, with the seconds that others took before.
    """
    pairs: list[tuple[list[WeakMethod[Callable[..., None]]], Callable[..., None]]]
    pairs = [(_after_fork, after_fork), (_at_exit, at_exit)]
    for methods, method in pairs:
        methods[:] = [known for known in methods if known() is not None]
        methods.append(WeakMethod(method))


def _living(methods: list[WeakMethod[Callable[..., None]]]) -> list[Callable[..., None]]:
    return [method for known in list(methods) if (method := known()) is not None]


def _fork() -> None:
    for method in _living(_after_fork):
        method()


def _exit() -> None:
    started = time.monotonic()
    for method in _living(_at_exit):
        method(time.monotonic() - started)


atexit.register(_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_fork)
