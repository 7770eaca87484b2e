"""Servers that misbehave: silent ones, slow ones, and a proxy that loses and repeats things."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, Literal

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Fault = Literal["none", "lose request", "lose answer", "cut answer", "repeat answer",
                "repeat request", "delay"]  # fmt: skip
FAULTS: Final[list[Fault]] = [
    "none", "lose request", "lose answer", "cut answer", "repeat answer", "repeat request", "delay",
]  # fmt: skip


@contextmanager
def listening(handler: Handler) -> Iterator[str]:
    """The address of a TCP server on loopback that treats each connection with ``handler``."""
    loop = asyncio.new_event_loop()
    tasks: set[asyncio.Task[None]] = set()  # a loop forgets those whose connection is gone

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            tasks.add(task)
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await handler(reader, writer)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    server = loop.run_until_complete(asyncio.start_server(handle, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        asyncio.run_coroutine_threadsafe(_end(server, tasks), loop).result(10.0)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _end(server: asyncio.Server, tasks: set[asyncio.Task[None]]) -> None:
    server.close()
    for _ in range(3):
        # What was accepted a moment ago is on its way to a task of ours. Cancelled on that way, its
        # socket would be nobody's.
        await asyncio.sleep(0.005)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Takes everything and never answers."""
    del writer
    while await reader.read(65_536):
        pass


async def dripping(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers a byte at a time, so that no single read is late, for ever."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Slow: ")
    while True:
        writer.write(b"z")
        await writer.drain()
        await asyncio.sleep(0.05)


def saying(status: str, body: bytes, *headers: str) -> Handler:
    """Answers every request with the same."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    answer = "\r\n".join(lines).encode() + body

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await _message(reader)
            writer.write(answer)
            await writer.drain()

    return handle


class Proxy:
    """Passes requests on to a service and its answers back, with faults.

    Args:
        target: The address of the service.
        fault: What is done to the n-th request, counted over all connections.
    """

    def __init__(self, target: str, fault: Callable[[int], Fault]) -> None:
        self._port = int(target.rpartition(":")[2])
        self._fault = fault
        self.n_requests = 0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            request = await _message(reader)
            self.n_requests += 1
            fault = self._fault(self.n_requests)
            if fault == "lose request":
                return
            if fault == "repeat request":
                await self._forward(request)
            answer = await self._forward(request)
            if fault == "lose answer":
                return
            if fault == "delay":
                await asyncio.sleep(0.3)
            if fault == "cut answer":
                writer.write(answer[: len(answer) // 2])
                await writer.drain()
                return
            writer.write(answer * 2 if fault == "repeat answer" else answer)
            await writer.drain()

    async def _forward(self, request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            writer.write(request)
            await writer.drain()
            return await _message(reader)
        finally:
            writer.close()


def at_random(seed: int, share: float) -> Callable[[int], Fault]:
    """Faults of every kind in random order, for a share of the requests."""
    rng = random.Random(seed)
    return lambda number: rng.choice(FAULTS[1:]) if rng.random() < share else "none"


async def _message(reader: asyncio.StreamReader) -> bytes:
    """One HTTP message whose body has a length."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return head + await reader.readexactly(length)
