"""A store that is closed while threads use it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from imabo.stores import Store

_LONG_S = 30.0


def errors_of_users(store: Store, calls: Sequence[Callable[[], object]]) -> list[type]:
    """Make each call again and again in a thread of its own; close the store; how they ended."""
    errors: list[type] = []
    running = threading.Barrier(len(calls) + 1)

    def use(call: Callable[[], object]) -> None:
        running.wait()
        try:
            while True:
                call()
        except BaseException as error:
            errors.append(type(error))

    threads = [threading.Thread(target=use, args=[call]) for call in calls]
    for thread in threads:
        thread.start()
    running.wait()
    threading.Event().wait(0.1)  # in the middle of it
    store.close()
    for thread in threads:
        thread.join(timeout=_LONG_S)
    return errors
