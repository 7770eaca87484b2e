"""A real receiver of webhooks on loopback, for tests."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Received:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


class Receiver:
    """Takes what is sent to it until ``close``; ``answers`` says with which status.

    Its statuses are used up one by one; then it answers 204. With ``go``, it answers when that is
    set.
    """

    def __init__(
        self,
        *answers: int,
        wait_s: float = 0.0,
        go: threading.Event | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.got: list[Received] = []
        self.answers = list(answers)
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                body = self.rfile.read(length)
                if len(body) < length:
                    # Its sender was killed on the way: half a request is none (RFC 9112, 8).
                    self.close_connection = True
                    return
                got = Received(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
                receiver.got.append(got)
                time.sleep(wait_s)
                if go is not None:
                    go.wait(60.0)
                status = receiver.answers.pop(0) if receiver.answers else 204
                self.send_response(status)
                if status in (301, 302, 307):
                    self.send_header("Location", "/elsewhere")
                text = b"not\x1b[31m today" + b"!" * 5000 if status >= 300 else b""
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/hook"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()

    def kinds(self) -> list[str]:
        """The kinds of the events that came."""
        return [one.event["kind"] for one in list(self.got)]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def eventually(is_so: Callable[[], bool], within_s: float = 60.0) -> None:
    """Wait until something is so."""
    ends_at = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < ends_at, "it did not happen in time"
        time.sleep(0.01)
