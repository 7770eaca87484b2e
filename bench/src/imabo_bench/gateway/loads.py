"""Loads that are not as fast as they go: requests at a pace, and streams."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from imabo_bench.service.load import Call


@dataclass(frozen=True, slots=True)
class Streams:
    """What streams at once came to.

    Args:
        first_ms: Median time to the first byte of a body.
        quick_ms: The same of the quickest tenth.
        gaps_ms: Median time between two pieces after that.
        whole: Streams that came to their end.
        trouble: What became of the others.
    """

    first_ms: float
    quick_ms: float
    gaps_ms: float
    whole: int
    trouble: Counter[str] = field(default_factory=Counter)


async def _connect(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, str]:
    parts = urlsplit(url)
    host, port = parts.hostname or "127.0.0.1", parts.port or 80
    reader, writer = await asyncio.open_connection(host, port)
    return reader, writer, f"{host}:{port}"


def paced(
    url: str, call: Call, *, connections: int, seconds: float, rate: float
) -> tuple[float, float]:
    """Latency in ms when so many requests a second are spread over the connections.

    The median, and the end of the quickest tenth: those that met no other work on the machine.
    """

    async def one(n: int) -> list[float]:
        reader, writer, host = await _connect(url)
        text, every, times = call.text(1, host), connections / rate, []
        next_at = time.perf_counter() + every * n / connections
        ends_at = next_at + seconds
        while next_at < ends_at:
            await asyncio.sleep(max(0.0, next_at - time.perf_counter()))
            began = time.perf_counter()
            writer.write(text)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
            await reader.readexactly(length)
            times.append(time.perf_counter() - began)
            next_at += every
        writer.close()
        return times

    async def run() -> tuple[float, float]:
        done = await asyncio.gather(*(one(n) for n in range(connections)))
        times = [took * 1e3 for times in done for took in times]
        return statistics.median(times), _tenth(times)

    return asyncio.run(run())


def streams(url: str, call: Call, *, count: int, apart_s: float = 0.0) -> Streams:
    """Open so many streams, each a while after the one before, and read them to their end."""

    async def one(n: int) -> tuple[list[float], str]:
        try:
            return await read(n)
        except (OSError, asyncio.IncompleteReadError) as error:
            return [], type(error).__name__

    async def read(n: int) -> tuple[list[float], str]:
        await asyncio.sleep(n * apart_s)
        reader, writer, host = await _connect(url)
        began = time.perf_counter()
        writer.write(call.text(1, host))
        status = (await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")[0]
        seen, at, text = [], began, b""
        while not text.endswith(b"0\r\n\r\n"):
            piece = await reader.read(65_536)
            if not piece:
                break
            now = time.perf_counter()
            seen.append(now - at)
            at, text = now, (text + piece)[-64:] if b"[DONE]" not in text else text + piece
        writer.close()
        if b"[DONE]" in text:
            return seen, ""
        return seen, "cut" if b" 200 " in status else status.decode()

    async def run() -> Streams:
        done = await asyncio.gather(*(one(n) for n in range(count)))
        gaps = [gap for times, _ in done for gap in times[1:] if gap > 0.001]
        firsts = [times[0] * 1e3 for times, _ in done if times]
        return Streams(
            statistics.median(firsts),
            _tenth(firsts),
            statistics.median(gaps) * 1e3 if gaps else 0.0,
            sum(not wrong for _, wrong in done),
            Counter(wrong for _, wrong in done if wrong),
        )

    return asyncio.run(run())


def _tenth(values: list[float]) -> float:
    """The end of the lowest tenth."""
    return sorted(values)[len(values) // 10]
