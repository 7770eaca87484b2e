"""How many exports run at once: each has a thread, and holds a connection of the store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from imabo.server.problems import unavailable


class Exports:
    """Counts the exports that run; for the event loop alone.

    Args:
        most: How many may run at once.

    Example:
        >>> exports = Exports(1)
        >>> with exports.one_more():
        ...     exports.n_running
        1
    """

    def __init__(self, most: int = 4) -> None:
        self._most = most
        self.n_running = 0

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """Run one; refused for the moment when there are as many as may be."""
        if self.n_running >= self._most:
            raise unavailable(
                f"{self.n_running} exports are under way", "no more of them run at once"
            )
        self.n_running += 1
        try:
            yield
        finally:
            self.n_running -= 1
