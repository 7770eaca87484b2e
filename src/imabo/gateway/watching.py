"""Callers that go before their answer is complete."""

from __future__ import annotations

import asyncio

from starlette.types import Message, Receive, Send


class Watch:
    """Cancels the task that made it when the caller goes before the answer is complete."""

    def __init__(self, receive: Receive) -> None:
        self.is_gone = self.has_begun = False
        self._is_complete = False
        self._working = asyncio.current_task()
        self._task = asyncio.get_running_loop().create_task(self._wait(receive))

    def guarded(self, send: Send) -> Send:
        """The same ``send``; after the last piece, the caller may go."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                self.has_begun = True
            elif not message.get("more_body", False):
                self._is_complete = True
            await send(message)

        return sending

    def forgive(self) -> None:
        """The cancellation was our own, and it has done its work."""
        if self._working is not None:
            self._working.uncancel()

    def end(self) -> None:
        """Watch no more."""
        self._task.cancel()

    async def _wait(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        if not self._is_complete and self._working is not None:
            self.is_gone = True
            self._working.cancel()
