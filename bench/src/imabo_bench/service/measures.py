"""What is measured: the service beside an empty route and a bare INSERT, in rounds in turn."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote

from imabo import oracles, policies
from imabo_bench.service import load
from imabo_bench.service.databases import Database
from imabo_bench.service.filling import Past, fill
from imabo_bench.service.host import Slow, hosted
from imabo_bench.service.load import Call, Load, Tool
from imabo_bench.service.sample import rate_line, tail_line
from imabo_bench.timing import Line

Rounds = dict[str, list[Load]]

_LATE: Final = "late"
_AT_ONCE: Final = 1000  # pulls that one request asks for
_SPARE: Final = 1.5  # pulls to have ready, as a multiple of what an empty route could take
_SHARE: Final = 8  # studies of the run with two processes
_CROWD: Final = 3  # times as many connections for the runs with two processes


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured.

    Args:
        tool: What sends the requests.
        connections: How many requests are under way at once.
        seconds: How long each round of each variant takes.
        rounds: How many rounds.
        past: Pulls of the young study.
        long_past: Pulls of the old one.
    """

    tool: Tool
    connections: int = 64
    seconds: float = 4.0
    rounds: int = 7
    past: int = 10_000
    long_past: int = 1_000_000

    def run(self, url: str, call: Call) -> Load:
        """Load a server for one round; every answer must be a good one."""
        seen = load.run_load(
            self.tool, url, call, connections=self.connections, seconds=self.seconds
        )
        if seen.failed or not seen.n:
            raise RuntimeError(f"{seen.failed} of {seen.n} answers to {call} were bad")
        return seen

    def in_turn(self, variants: Mapping[str, Callable[[int], Load]]) -> Rounds:
        """Measure all variants in each round, so that a slow moment falls on all of them."""
        seen: Rounds = {name: [] for name in variants}
        for number in range(self.rounds):
            for name, measure in variants.items():
                seen[name].append(measure(number))
        return seen


class Service:
    """A running service that is loaded; what it acknowledges is counted and looked up.

    Args:
        url: Its address.
        plan: How.
    """

    def __init__(self, url: str, plan: Plan) -> None:
        self._url = url
        self._plan = plan

    def asks(self, study: str, call: Call | None = None) -> Load:
        """One round of asks; every pull that was handed out is in the database."""
        before = self._study(study)["n_pulls"]
        seen = self._plan.run(self._url, call or load.asks(study))
        self._check(study, "n_pulls", before, seen)
        return seen

    def rewards(self, study: str, fastest: float) -> Load:
        """One round of rewards, each for a pull of its own that was asked for beforehand.

        Args:
            study: Its name.
            fastest: More rewards than this cannot come in a second.
        """
        first = ""
        for _ in range(int(_SPARE * fastest * self._plan.seconds / _AT_ONCE) + 1):
            pulls = _call("POST", f"{self._at(study)}/pulls", {"count": _AT_ONCE})["pulls"]
            first = first or pulls[0]["id"]
        token, _, number = first.rpartition("-")
        before = self._study(study)["n_rewards"]
        seen = self._plan.run(self._url, load.rewards(token, int(number)))
        self._check(study, "n_rewards", before, seen)
        return seen

    def _check(self, study: str, count: str, before: int, seen: Load) -> None:
        done = self._study(study)[count] - before
        if done < seen.n:
            raise RuntimeError(f"{seen.n} were acknowledged and {count} grew by {done}")

    def _study(self, name: str) -> dict[str, Any]:
        return _call("GET", self._at(name))

    def _at(self, study: str) -> str:
        return f"{self._url}/v1/studies/{quote(study, safe='')}"


def _call(method: str, url: str, body: object = None) -> dict[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    headers = {} if data is None else {"Content-Type": "application/json"}
    request = urllib.request.Request(url, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def speed(database: Database, plan: Plan) -> list[Line]:
    """One process: throughput, tails, and what a long past costs."""
    url = database.fresh()
    # A study of its own for each round: it would not stay young.
    young = [f"young-{number}" for number in range(plan.rounds)]
    fill(url, [*(Past(name, plan.past) for name in young), Past(_LATE, plan.long_past)])
    with ExitStack() as stack:
        empty = stack.enter_context(hosted("empty"))
        service = Service(stack.enter_context(hosted("service", "--store", url)), plan)
        fastest = plan.run(empty, load.EMPTY).rate
        seen = plan.in_turn(
            {
                "empty": lambda _: plan.run(empty, load.EMPTY),
                "ask": lambda i: service.asks(young[i]),
                "ask late": lambda _: service.asks(_LATE),
                "bare": lambda _: database.bare_inserts(plan.connections, plan.seconds),
                "reward": lambda i: service.rewards(young[i], fastest),
                "reward late": lambda _: service.rewards(_LATE, fastest),
                "keyed": lambda i: service.asks(young[i], load.keyed_asks(young[i], f"round-{i}")),
            }
        )
    name = database.name
    empty_route, bare = seen["empty"], seen["bare"]
    span = f"{plan.long_past:,} pulls vs {plan.past:,}"
    return [
        rate_line(f"{name}: asks/s vs an empty route", seen["ask"], empty_route, 0.5),
        rate_line(f"{name}: rewards/s vs an empty route", seen["reward"], empty_route, 0.4),
        rate_line(f"{name}: asks/s with key and context", seen["keyed"], empty_route),
        tail_line(f"{name}: an ask's p99 vs a bare INSERT's", seen["ask"], bare, 5),
        tail_line(f"{name}: a reward's p99 vs a bare INSERT's", seen["reward"], bare, 5),
        rate_line(f"{name}: asks/s, {span}", seen["ask late"], seen["ask"], 0.8),
        tail_line(f"{name}: an ask's p99, {span}", seen["ask late"], seen["ask"], 1.5),
        rate_line(f"{name}: rewards/s, {span}", seen["reward late"], seen["reward"], 0.8),
        tail_line(f"{name}: a reward's p99, {span}", seen["reward late"], seen["reward"], 1.5),
    ]


def processes(database: Database, plan: Plan) -> list[Line]:
    """Two processes against one, each pair on a database of its own.

    With more connections than elsewhere: each of the two must have enough to commit together.
    """
    plan = replace(plan, connections=_CROWD * plan.connections)
    lines = []
    for n_studies in (1, _SHARE):
        studies = [f"study-{i}" for i in range(n_studies)]
        with ExitStack() as stack:
            services = {}
            for workers in ("1", "2"):
                url = database.fresh()
                # An oracle that costs nothing: several processes would prepare proposals meanwhile.
                fill(url, [Past(name, plan.past, oracle=oracles.Random()) for name in studies])
                arguments = ("service", "--store", url, "--workers", workers)
                services[workers] = Service(stack.enter_context(hosted(*arguments)), plan)
            seen = plan.in_turn(
                {
                    workers: lambda i, s=service, n=studies: s.asks(n[i % len(n)])  # type: ignore[misc]
                    for workers, service in services.items()
                }
            )
        many = "one study" if n_studies == 1 else f"{n_studies} studies in turn"
        claim = f"{database.name}: asks/s of {plan.connections}, two processes vs one, {many}"
        lines.append(rate_line(claim, seen["2"], seen["1"], 1.0 if n_studies == 1 else None))
    return lines


def slow_oracle(database: Database, plan: Plan) -> list[Line]:
    """Asks while the schedule wants arms all the time, by how long a proposal takes."""
    url = database.fresh()
    kinds = {"fast": Slow(0.0), "waits": Slow(1.0), "computes": Slow(1.0, busy=True)}
    # The default's schedule: with 100 arms after 10,000 pulls there are 200 too few.
    fill(url, [Past(name, plan.past, policies.Informed(), o) for name, o in kinds.items()])
    with hosted("service", "--store", url) as address:
        service = Service(address, plan)
        seen = plan.in_turn({name: lambda _, n=name: service.asks(n) for name in kinds})  # type: ignore[misc]
    name, fast = database.name, seen["fast"]
    return [
        tail_line(f"{name}: p99, an oracle that waits 1 s vs a fast one", seen["waits"], fast, 1.5),
        tail_line(f"{name}: p99, one that computes for 1 s vs a fast one", seen["computes"], fast),
        rate_line(f"{name}: asks/s, an oracle that waits 1 s vs a fast one", seen["waits"], fast),
    ]
