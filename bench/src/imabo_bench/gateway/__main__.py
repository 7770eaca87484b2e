"""Overhead of the gateway against a bare Starlette and httpx pass-through, in one run.

``python -m imabo_bench.gateway`` starts an upstream that answers at once, the pass-through, an
``imabo serve`` with an ``imabo gateway`` before it, and one with the gateway in it, and measures
them in turn. The ratios are what is claimed. The latency is that of a load at a pace; of one as
fast as it goes it is the connections over the throughput, so it is told without a bar. On a machine
with much other work the quickest tenth says more than the median.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from imabo import Choice, Float, Space, Study, oracles
from imabo_bench.gateway.loads import paced, streams
from imabo_bench.service.load import Call, Tool, asks, find_tool, run_load
from imabo_bench.timing import Line

_FILE: Final = """
[imabo]
{imabo}
[upstreams.stub]
base_url = "{upstream}/v1"
key_env = "STUB_KEY"
models.small = {{input = 1e-6, output = 2e-6}}
models.large = {{input = 1e-6, output = 2e-6}}
[routes.answers]
default = {{model = "small", temperature = 0.5}}
fields = {{model = "model", temperature = "temperature"}}
"""
_MESSAGES: Final = [{"role": "user", "content": "What is the capital of France? " * 10}]
_PATH: Final = "/v1/chat/completions"
_REST_S: Final = 6.0  # longer than connections are kept


@dataclass(frozen=True, slots=True)
class Variant:
    """A way from the load to the upstream: its address, the model, and the processes on it."""

    url: str
    model: str
    pids: Sequence[int]


def _call(model: str, **more: object) -> Call:
    body = {"model": model, "messages": _MESSAGES, **more}
    return Call("POST", _PATH, json.dumps(body))


@contextlib.contextmanager
def _process(*arguments: str, as_json: bool = False) -> Iterator[tuple[str, int]]:
    command = [sys.executable, "-m", *arguments]
    environ = os.environ | {"STUB_KEY": "x"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ)
    try:
        if process.stdout is None:
            raise RuntimeError("the output is not piped")
        line = process.stdout.readline().strip()
        if not line:
            raise RuntimeError(f"it ended with {process.wait()}: {' '.join(arguments)}")
        yield (json.loads(line)["url"] if as_json else line), process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60.0)
        if process.stdout is not None:
            process.stdout.close()


def _cpu_s(pids: Sequence[int]) -> float:
    """The processor time that processes have used: it does not depend on what else runs."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])  # in user mode, and in the kernel
    return ticks / os.sysconf("SC_CLK_TCK")


def _resident_mb(pid: int, field: str = "VmRSS") -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.partition(f"{field}:")[2].split()[0]) / 1024


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the lines, and return 1 when a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m imabo_bench.gateway", description=__doc__)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each variant in a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rate", type=float, default=100.0, help="requests a second, paced")
    parser.add_argument("--streams", type=int, default=1000, help="at once")
    parser.add_argument(
        "--folder",
        default="/dev/shm" if os.access("/dev/shm", os.W_OK) else None,
        help="of imabo's database; in memory by default, because an ask waits for the disk's flush",
    )
    options = parser.parse_args(arguments)
    tool = find_tool()
    print(
        f"The gateway: {options.connections} connections, {options.rounds} rounds of "
        f"{options.seconds:g} s in turn, medians; loaded by {tool}; {os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.1f} before.\n",
        flush=True,
    )
    with ExitStack() as stack:
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="imabo-gateway-", dir=options.folder)
        )
        enter = stack.enter_context
        upstream, _ = enter(_process("imabo_bench.gateway.host", "upstream"))
        bare, bare_pid = enter(_process("imabo_bench.gateway.host", "bare", "--url", upstream))
        stores = [f"sqlite:///{folder}/{name}.db" for name in ("apart", "mounted")]
        for store in stores:
            space = Space(model=Choice("small", "large"), temperature=Float(0.0, 1.0))
            # What a model of the rewards costs is not the question here: make bench-service has it.
            Study.create("answers", space, store=store, oracle=oracles.Random()).close()
        serve = ("imabo.cli", "serve", "--port", "0", "--json", "--store")
        imabo, imabo_pid = enter(_process(*serve, stores[0], as_json=True))
        path = _written(folder, "apart", f'url = "{imabo}"', upstream)
        run = ("imabo.cli", "gateway", path, "--port", "0", "--json")
        gateway, pid = enter(_process(*run, as_json=True))
        path = _written(folder, "mounted", "", upstream)
        mounted, its_pid = enter(_process(*serve, stores[1], "--gateway", path, as_json=True))
        variants = {
            "bare": Variant(bare, "small", [bare_pid]),
            "passed": Variant(gateway, "small", [pid]),
            "tuned": Variant(gateway, "imabo/answers", [pid, imabo_pid]),
            "mounted": Variant(mounted, "imabo/answers", [its_pid]),
        }
        lines = _measured(variants, imabo, options, tool)
        for name, url, its in (("tuned", gateway, pid), ("mounted", mounted, its_pid)):
            lines += _held(name, url, its, options.streams)
    for line in lines:
        print(line, flush=True)
    print(f"\nLoad {os.getloadavg()[0]:.1f} after.")
    return 0 if all(line.met for line in lines) else 1


def _written(folder: str, name: str, imabo: str, upstream: str) -> str:
    path = Path(folder) / f"{name}.toml"
    path.write_text(_FILE.format(imabo=imabo, upstream=upstream), encoding="utf-8")
    return str(path)


def _measured(
    variants: dict[str, Variant], imabo: str, options: argparse.Namespace, tool: Tool
) -> list[Line]:
    rates, closed, cpu, medians, quick, firsts, quick_firsts, gaps = (
        {name: list[float]() for name in variants} for _ in range(8)
    )
    alone: list[float] = []
    for _ in range(options.rounds):
        for name, one in variants.items():
            began = _cpu_s(one.pids)
            load = run_load(
                tool,
                one.url,
                _call(one.model),
                connections=options.connections,
                seconds=options.seconds,
            )
            if load.failed:
                raise RuntimeError(f"{load.failed} requests of {name} failed")
            rates[name].append(load.rate)
            closed[name].append(load.p50_ms)
            cpu[name].append((_cpu_s(one.pids) - began) / load.n * 1e3)
        alone.append(_paced(imabo, asks("answers"), options)[0])
        for name, one in variants.items():
            median, tenth = _paced(one.url, _call(one.model), options)
            medians[name].append(median)
            quick[name].append(tenth)
            found = streams(one.url, _call(one.model, stream=True), count=40, apart_s=0.02)
            firsts[name].append(found.first_ms)
            quick_firsts[name].append(found.quick_ms)
            gaps[name].append(found.gaps_ms)
    lines = []
    ours = [("tuned", True), ("mounted", True), ("passed", False)]
    for name, has_bar in ours:
        ratios = [ours / bares for ours, bares in zip(rates[name], rates["bare"], strict=True)]
        detail = f"{_median(rates[name]):.0f} against {_median(rates['bare']):.0f} a second"
        bar = 0.45 if has_bar else None
        lines.append(Line(f"{name}: throughput, of a bare pass-through", _median(ratios), bar,
                          True, detail))  # fmt: skip
    for name, _ in ours:
        ratio = _median(cpu[name]) / _median(cpu["bare"])
        detail = f"{_median(cpu[name]):.2f} against {_median(cpu['bare']):.2f} ms"
        lines.append(Line(f"{name}: processor time a request, of the bare one", ratio, None,
                          False, detail))  # fmt: skip
    for title, times, bar in (
        ("median latency at a pace", medians, 3.0),
        ("first byte of a stream", firsts, 3.0),
        ("the quickest tenth at a pace", quick, None),
        ("the quickest tenth of first bytes", quick_firsts, None),
        ("median latency as fast as it goes", closed, None),
    ):
        for name, has_bar in ours:
            more = [ours - bares for ours, bares in zip(times[name], times["bare"], strict=True)]
            detail = f"{_median(times[name]):.2f} against {_median(times['bare']):.2f} ms"
            its = bar if has_bar else None
            lines.append(Line(f"{name}: {title}, ms more", _median(more), its, False, detail))
    lines.append(
        Line("an ask of imabo alone, at a pace, ms", _median(alone), None, False, "beside")
    )
    detail = f"{_median(gaps['tuned']):.1f} against {_median(gaps['bare']):.1f} ms"
    lines.append(Line("tuned: gap between tokens, ms", _median(gaps["tuned"]), None, False, detail))
    return lines


def _paced(url: str, call: Call, options: argparse.Namespace) -> tuple[float, float]:
    return paced(
        url,
        call,
        connections=options.connections,
        seconds=options.seconds,
        rate=options.rate,
    )


def _held(name: str, url: str, pid: int, count: int) -> list[Line]:
    """Many streams at once, thrice: all come to their end, and memory comes back after a rest."""
    call, resident, whole = _call("imabo/answers", stream=True), [_resident_mb(pid)], []
    trouble: Counter[str] = Counter()
    for _ in range(3):
        found = streams(url, call, count=count)
        whole.append(found.whole)
        trouble += found.trouble
        resident.append(_resident_mb(pid))
    time.sleep(_REST_S)
    resident.append(_resident_mb(pid))
    detail = " ".join(map(str, whole)) + f" of {count}"
    detail += "".join(f", {n} {why}" for why, n in trouble.items())
    shown = " ".join(f"{one:.0f}" for one in resident)
    shown += f" MB, {_resident_mb(pid, 'VmHWM'):.0f} MB at most"
    return [
        Line(f"{name}: {count} streams at once, share that is whole", min(whole) / count, 1.0,
             True, detail),
        Line(f"{name}: memory after the third time and a rest, of the first",
             resident[4] / resident[1], 1.2, False, shown),
    ]  # fmt: skip


def _median(values: Sequence[float]) -> float:
    return statistics.median(values)


if __name__ == "__main__":
    raise SystemExit(main())
