"""Files to which the gateway adds lines of JSON where its file asks for that: feedback, bodies."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from imabo.client.reports import Trouble

_MOST: Final = 1000  # lines that wait for the disk; more are given up
_LAST_S: Final = 5.0  # at the end, for lines that are not written yet

_log: Final = logging.getLogger(__name__)


class Lines:
    """A file of JSON lines; several processes may share it, and only their user may read it.

    Args:
        path: The file, made when it is not there.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._turn = asyncio.Lock()  # one after the other
        self._tasks: set[asyncio.Task[bool]] = set()
        self._lost = Trouble()

    async def add(self, document: Mapping[str, Any]) -> bool:
        """Add a line; whether that was possible."""
        at = datetime.now(UTC).isoformat()
        async with self._turn:
            try:
                await asyncio.to_thread(self._append, {"at": at, **document})
            except OSError as error:
                if n_lost := self._lost.add(1):
                    words = "%d lines could not be added to %r: %s"
                    _log.error(words, n_lost, self._path, error.strerror)
                return False
        return True

    def note(self, document: Mapping[str, Any]) -> None:
        """Add a line beside the requests."""
        if len(self._tasks) >= _MOST:
            if n_lost := self._lost.add(1):
                _log.error("%d lines were not added to %r: the disk is slow", n_lost, self._path)
            return
        task = asyncio.get_running_loop().create_task(self.add(document))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish(self) -> None:
        """Wait for the lines that are not written yet, a moment."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_LAST_S)

    def _append(self, document: dict[str, Any]) -> None:
        line = json.dumps({name: _read(one) for name, one in document.items()}) + "\n"
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            # One write of a whole line: another process may be at it, too.
            os.write(file, line.encode())
        finally:
            os.close(file)


def _read(value: object) -> object:
    """A body as the value that it stands for, or as a text where it is no JSON."""
    if not isinstance(value, bytes):
        return value
    with suppress(ValueError, RecursionError):
        return json.loads(value)
    return value.decode("utf-8", "replace")
