"""A server that tests share, whose clock each test may set."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


class SharedClock:
    """The clock of a server: the time of day, or what a test puts in its place."""

    def __init__(self) -> None:
        self.current: Callable[[], Any] = time.time

    def __call__(self) -> Any:
        return self.current()
