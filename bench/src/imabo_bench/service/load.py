"""Loads: what is sent to a server, and what came of it, as wrk or our own loop measured it."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote

from imabo_bench.service.looping import drive

Tool = Literal["wrk", "loop"]

_MARK: Final = "RESULT "
_GRACE_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Load:
    """What a load tool saw of one short run.

    Args:
        n: Requests that were answered.
        seconds: How long it took.
        p50_ms: Median latency.
        p99_ms: The 99th percentile of the latencies.
        failed: Answers of 4xx and 5xx, and broken or overdue connections.
    """

    n: int
    seconds: float
    p50_ms: float
    p99_ms: float
    failed: int

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.n / self.seconds

    @classmethod
    def from_times(cls, latencies_s: Sequence[float], seconds: float, failed: int = 0) -> Load:
        """From the latency of every request."""
        if not latencies_s:
            return cls(0, seconds, float("nan"), float("nan"), failed)
        ordered = sorted(latencies_s)
        p50, p99 = (ordered[min(len(ordered) * q // 100, len(ordered) - 1)] for q in (50, 99))
        return cls(len(ordered), seconds, p50 * 1e3, p99 * 1e3, failed)


@dataclass(frozen=True, slots=True)
class Call:
    """A request to send again and again.

    Args:
        method: The HTTP method.
        path: Of the URL; ``{n}`` in it stands for a number that grows by one with each request.
        body: JSON, in which ``{n}`` stands for that number as well.
        first: The first number.
    """

    method: str
    path: str
    body: str = ""
    first: int = 1

    def text(self, number: int, host: str) -> bytes:
        r"""The request on the wire.

        Example:
            >>> Call("GET", "/").text(1, "x")
            b'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
        """
        path, body = (part.replace("{n}", str(number)) for part in (self.path, self.body))
        head = f"{self.method} {path} HTTP/1.1\r\nHost: {host}\r\n"
        if body:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return f"{head}\r\n{body}".encode()


EMPTY: Final = Call("GET", "/")


def asks(study: str) -> Call:
    """One ask a request."""
    return Call("POST", f"/v1/studies/{quote(study, safe='')}/pulls")


def keyed_asks(study: str, label: str) -> Call:
    """One ask a request, with a key of its own and a context, as clients send them."""
    body = f'{{"key":"{label}-{{n}}","context":{{"user":{{n}},"page":"start"}}}}'
    return Call("POST", asks(study).path, body)


def rewards(token: str, first: int) -> Call:
    """One reward a request, for the pulls of a study from a number on."""
    return Call("PUT", f"/v1/pulls/{token}-{{n}}/reward", '{"reward":0.5}', first)


def find_tool(wanted: str | None = None) -> Tool:
    """The load tool: wrk where it is installed, else our own loop; ``wanted`` decides otherwise."""
    if wanted == "loop" or (wanted is None and shutil.which("wrk") is None):
        return "loop"
    return "wrk"


def run_load(tool: Tool, url: str, call: Call, *, connections: int, seconds: float) -> Load:
    """Send a call over many connections at once, each waiting for its answer, for a while."""
    if tool == "loop":
        began, latencies, failed = drive(url, call.text, call.first, connections, seconds)
        return Load.from_times(latencies, began, failed)
    with tempfile.TemporaryDirectory(prefix="imabo-load-") as folder:
        script = Path(folder) / "load.lua"
        script.write_text(_SCRIPT, encoding="utf-8")
        done = subprocess.run(
            [
                *("wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s"),
                *("--timeout", "10s", "-s", str(script), url, "--"),
                *(call.method, call.path, call.body, str(call.first)),
            ],
            capture_output=True,
            text=True,
            timeout=seconds + _GRACE_S,
            check=True,
        )
    return parse_wrk(done.stdout)


def parse_wrk(output: str) -> Load:
    """What our script lets wrk say at its end.

    Example:
        >>> parse_wrk('RESULT {"n": 10, "us": 2e6, "p50": 100, "p99": 250, "failed": 1}').rate
        5.0
    """
    found = next(line for line in output.splitlines() if line.startswith(_MARK))
    seen = json.loads(found.removeprefix(_MARK))
    return Load(
        n=seen["n"],
        seconds=seen["us"] / 1e6,
        p50_ms=seen["p50"] / 1e3,
        p99_ms=seen["p99"] / 1e3,
        failed=seen["failed"],
    )


# Of one thread's state, so that each number is sent once; constant requests are formatted once.
_SCRIPT: Final = r"""
local method, path, body, number, constant

local function made(n)
    local headers = {}
    if body ~= "" then headers["Content-Type"] = "application/json" end
    local text = body:gsub("{n}", n)
    return wrk.format(method, (path:gsub("{n}", n)), headers, text ~= "" and text or nil)
end

function init(arguments)
    method, path, body, number = unpack(arguments)
    body = body or ""
    number = tonumber(number or "1")
    if not (path .. body):find("{n}", 1, true) then constant = made("") end
end

function request()
    if constant then return constant end
    number = number + 1
    return made(string.format("%d", number - 1))
end

function done(summary, latency, requests)
    local e = summary.errors
    io.write(string.format(
        'RESULT {"n": %d, "us": %d, "p50": %d, "p99": %d, "failed": %d}\n',
        summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
        e.connect + e.read + e.write + e.status + e.timeout))
end
"""
