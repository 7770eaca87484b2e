"""Connections that an upstream kept open, and closed without a word."""

from __future__ import annotations

import asyncio
import json
import socket
import threading

import pytest

from imabo.gateway.settings import Upstream
from imabo.gateway.upstream import UpstreamFailure, Upstreams


class Closing:
    """Answers the first request of a connection, and closes it when the second has come."""

    def __init__(self, n_good: int = 1) -> None:
        self._n_good = n_good
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.upstream = Upstream(
            "closing", f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1", {}
        )
        self.n_connections = 0
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.n_connections += 1
            with connection:
                for _ in range(self._n_good):
                    connection.recv(65_536)
                    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
                connection.recv(65_536)

    def stop(self) -> None:
        self._socket.close()


def sent_twice(server: Closing) -> list[bytes]:
    """Two requests, one after the other."""

    async def run() -> list[bytes]:
        upstreams, bodies = Upstreams(), []
        try:
            for _ in range(2):
                body = json.dumps({}).encode()
                answer = await upstreams.send(server.upstream, "x", [], body)
                whole = b""
                while piece := await answer.read():
                    whole += piece
                bodies.append(whole)
                answer.close()
                answer.close()  # again does nothing
        finally:
            await upstreams.close()
        return bodies

    try:
        return asyncio.run(run())
    finally:
        server.stop()


def test_a_kept_connection_that_was_closed_costs_nobody_a_request() -> None:
    server = Closing()
    assert sent_twice(server) == [b"{}", b"{}"]
    assert server.n_connections == 2


def test_a_request_that_a_new_connection_took_is_not_repeated() -> None:
    server = Closing(n_good=0)
    with pytest.raises(UpstreamFailure, match="broke off"):
        sent_twice(server)
    assert server.n_connections == 1
