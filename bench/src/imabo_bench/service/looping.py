"""A load loop of our own, for machines without wrk: slower, so it also takes more from the server.

It is one process with an event loop and speaks just enough HTTP: every answer of the service has a
length, or no body.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import urlsplit

_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


def drive(
    url: str,
    request: Callable[[int, str], bytes],
    first: int,
    connections: int,
    seconds: float,
) -> tuple[float, list[float], int]:
    """Send requests over all connections; how long it took, each latency in seconds, failures.

    Args:
        url: Of the server.
        request: Makes the bytes of a request from its number and the host.
        first: The number of the first request.
        connections: How many are open at once, each with one request at a time.
        seconds: For how long.
    """
    parts = urlsplit(url)
    host, port = parts.hostname or "127.0.0.1", parts.port or 80
    numbers = itertools.count(first)

    async def run() -> tuple[float, list[float], int]:
        began = time.perf_counter()
        ends_at = began + seconds
        done = await asyncio.gather(
            *(_one(host, port, request, numbers, ends_at) for _ in range(connections))
        )
        spent = time.perf_counter() - began
        return spent, [took for times, _ in done for took in times], sum(n for _, n in done)

    return asyncio.run(run())


async def _one(
    host: str,
    port: int,
    request: Callable[[int, str], bytes],
    numbers: Iterator[int],
    ends_at: float,
) -> tuple[list[float], int]:
    times: list[float] = []
    failed = 0
    reader, writer = await asyncio.open_connection(host, port)
    try:
        while (began := time.perf_counter()) < ends_at:
            writer.write(request(next(numbers), f"{host}:{port}"))
            head = await reader.readuntil(b"\r\n\r\n")
            length = _LENGTH.search(head)
            if length is not None:
                await reader.readexactly(int(length[1]))
            times.append(time.perf_counter() - began)
            failed += not head.startswith(b"HTTP/1.1 2")
    except (OSError, EOFError):
        failed += 1
    finally:
        writer.close()
    return times, failed
