"""A chat endpoint on loopback that misbehaves as it is told to, and counts what it was asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SLOW_S = 30.0  # longer than the clients of the tests wait; nobody waits for it to end


class Misbehaving(ThreadingHTTPServer):
    """Answers each request with the next of its ``moods``, then well for good.

    A mood is a status, or one of ``ok``, ``broken``, ``odd``, ``slow``, ``closed``, ``cut`` and
    ``inside`` (an error 429 in an answer of status 200).
    """

    daemon_threads = True

    def __init__(self, moods: Sequence[int | str] = ()) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.moods = list(moods)
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def next_mood(self) -> int | str:
        return self.moods.pop(0) if self.moods else "ok"

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that give up on a slow answer are expected."""


class _Handler(BaseHTTPRequestHandler):
    server: Misbehaving

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.bodies.append(body | {"path": self.path})
        self.server.headers.append(dict(self.headers.items()))
        mood = self.server.next_mood()
        said = body["messages"][-1]["content"].rpartition("Question: ")[2]
        good = {"choices": [{"message": {"role": "assistant", "content": f"about {said}"}}]}
        if mood == "closed":
            self.close_connection = True
            return
        if mood == "slow":
            time.sleep(SLOW_S)
        if isinstance(mood, int):
            self._send(mood, b'{"error": {"message": "no"}}')
        elif mood == "broken":
            self._send(200, b'{"choices": [')
        elif mood == "odd":
            self._send(200, b'{"choices": []}')
        elif mood == "inside":
            self._send(200, b'{"error": {"code": 429, "message": "later"}}')
        elif mood == "cut":
            self._send(200, json.dumps(good).encode(), missing=50)
            self.close_connection = True
        else:
            self._send(200, json.dumps(good).encode())

    def _send(self, status: int, body: bytes, missing: int = 0) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body) + missing))
        if status == 429:
            self.send_header("retry-after", "7")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def misbehaving(moods: Sequence[int | str] = ()) -> Iterator[Misbehaving]:
    """The server, until the block ends."""
    with Misbehaving(moods) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
