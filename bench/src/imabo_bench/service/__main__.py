"""Speed of the service, as ratios measured side by side in one run.

Run it with ``make bench-service``; needs the extra ``service`` and, better, wrk.
Absolute figures depend on the machine and on what else it does; the ratios are what is claimed.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Final

from imabo_bench.service import databases
from imabo_bench.service.isolation import isolation
from imabo_bench.service.load import find_tool
from imabo_bench.service.measures import Plan, processes, slow_oracle, speed
from imabo_bench.timing import Line

_PARTS: Final = ("speed", "isolation", "processes", "oracle")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and return 1 when a bar is missed."""
    options = _parser().parse_args(arguments)
    tool = find_tool(options.tool)
    plan = Plan(
        tool=tool,
        connections=options.connections,
        seconds=options.seconds,
        rounds=options.rounds,
        past=options.past,
        long_past=options.long_past,
    )
    by = "wrk" if tool == "wrk" else "our own loop, as wrk is not here"
    print(
        f"Speed of the service: 100 arms, {plan.connections} connections, {plan.rounds} rounds of "
        f"{plan.seconds:g} s in turn, medians; loaded by {by}; {os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.1f} before.\n",
        flush=True,
    )
    lines: list[Line] = []
    with databases.postgres(options.postgres) as postgres, databases.sqlite() as sqlite:
        for database in (postgres, sqlite):
            if "speed" in options.parts:
                lines += _shown(speed(database, plan))
            if "isolation" in options.parts:
                lines += _shown(isolation(database, plan))
        if "processes" in options.parts:
            lines += _shown(processes(postgres, plan))
        if "oracle" in options.parts:
            lines += _shown(slow_oracle(postgres, plan))
    print(f"\nLoad {os.getloadavg()[0]:.1f} after.")
    return 0 if all(line.met for line in lines) else 1


def _shown(lines: list[Line]) -> list[Line]:
    for line in lines:
        print(line, flush=True)
    return lines


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m imabo_bench.service", description=__doc__)
    parser.add_argument("--connections", type=int, default=64, help="requests under way at once")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each variant in a round")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--past", type=int, default=10_000, help="pulls of a young study")
    parser.add_argument("--long-past", type=int, default=1_000_000, help="pulls of an old study")
    parser.add_argument("--tool", choices=["wrk", "loop"], help="wrk where it is by default")
    parser.add_argument("--postgres", metavar="URL", help="a server where databases may be made")
    parser.add_argument(
        "--parts",
        nargs="+",
        choices=_PARTS,
        default=_PARTS,
        help="what to measure",
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
