"""What is written in one turn of the loop leaves in one piece, and nothing is lost on the way."""

from __future__ import annotations

import asyncio
import http.client
from typing import cast

from imabo.server.protocol import Cork

from .running import RunningServer


class Wire(asyncio.Transport):
    """A transport that keeps what it is given."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1)})
        self.pieces: list[bytes] = []
        self.is_closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.pieces.append(bytes(data))

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed


def corked(*turns: list[bytes], close: bool = False) -> Wire:
    """Write some pieces in each turn of a loop."""
    wire = Wire()

    async def play() -> None:
        cork = Cork(wire, asyncio.get_running_loop())
        for pieces in turns:
            for piece in pieces:
                cork.write(piece)
            if not close:
                await asyncio.sleep(0)
        if close:
            cork.close()

    asyncio.run(play())
    return wire


def test_what_is_written_in_one_turn_leaves_together() -> None:
    assert corked([b"head", b"body"], [b"next"]).pieces == [b"headbody", b"next"]


def test_a_long_stream_is_not_held_back() -> None:
    part = b"x" * 40_000
    assert [len(piece) for piece in corked([part] * 5).pieces] == [80_000, 80_000, 40_000]


def test_closing_sends_what_was_gathered_first() -> None:
    wire = corked([b"last words"], close=True)
    assert wire.pieces == [b"last words"]
    assert wire.is_closed


def test_all_else_is_the_transports_business() -> None:
    loop = asyncio.new_event_loop()
    cork = Cork(cast(asyncio.Transport, Wire()), loop)
    assert cork.get_extra_info("peername") == ("127.0.0.1", 1)
    loop.close()


def test_answers_on_one_connection_stay_whole_and_in_order() -> None:
    with RunningServer() as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        for path in ("/healthz", "/v1/studies", "/nothing", "/healthz"):
            connection.request("GET", path)
            answer = connection.getresponse()
            body = answer.read()
            assert answer.status == (404 if path == "/nothing" else 200)
            assert len(body) == int(answer.headers["content-length"])
        connection.close()
