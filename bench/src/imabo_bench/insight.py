"""Speed of the figures of a long study against those of a short one, side by side in one run.

Run it with ``python -m imabo_bench.insight``. Absolute times depend on the machine and on what else
it does; the ratios are what is claimed. The studies have as many arms as the default policy admits
(three times the root of the pulls), so a long one has more to draw.

The page is measured twice: at the first look at a study that a process has open, and at a look
after some traffic by a process that has looked before, as a server has when someone opens the page.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import numpy as np

from imabo import Study, insight, oracles
from imabo.stores import open_store
from imabo.stores.base import NewPull, Store
from imabo_bench.timing import SPACE, Line, new_arms

if TYPE_CHECKING:
    from imabo_bench.service import databases

_AT: Final = 1.7e9
_BATCH: Final = 10_000
_TRAFFIC: Final = 20  # pulls between two looks
# For some thirty times as many arms; as fast, to a person who waits.
_FIRST: Final = "the page at the first look: read, overview, every figure, table"
_AGAIN: Final = "the page after some traffic"
_BARS: Final = {_FIRST: 4.0, _AGAIN: 3.0}


def n_arms_at(n_pulls: int) -> int:
    """The arms of a study after so many pulls, by the default policy's schedule.

    Example:
        >>> n_arms_at(5_000), n_arms_at(5_000_000)
        (212, 6708)
    """
    return max(10, int(3 * n_pulls**0.5))


def fill(store: Store, name: str, n_pulls: int) -> None:
    """Make a study with a past, written straight to the store; nine of ten pulls get a reward."""
    Study.create(name, SPACE, oracle=oracles.Random(), store=store, seed=0)
    rng = np.random.default_rng(0)
    arms = new_arms(n_arms_at(n_pulls), rng)
    means = rng.uniform(0.3, 0.8, len(arms))
    seq = admitted = 0
    for start, size in _batches(n_pulls):
        due = n_arms_at(start + size)
        # Half of the traffic goes to one good arm, as it does in a study that has learned.
        chosen = np.where(rng.random(size) < 0.5, 0, rng.integers(0, due, size))
        pulls = [NewPull(start + i + 1, int(arm) + 1, "index") for i, arm in enumerate(chosen)]
        at = _AT + start / 100.0
        seq = store.serve(name, seq=seq, at=at, pulls=pulls, arms=arms[admitted:due])
        admitted = due
        good = rng.random(size) < means[chosen]
        rewards = [
            (pull.number, float(reward))
            for pull, reward, comes in zip(pulls, good, rng.random(size) < 0.9, strict=True)
            if comes
        ]
        store.reward_many(name, rewards, at=at + 5.0)
        seq = store.load(name, since=seq + 1).seq


def _batches(n_pulls: int) -> Iterator[tuple[int, int]]:
    # The same number of steps for a short study, so that it has a past as well.
    size = max(1, min(_BATCH, n_pulls // 100))
    for start in range(0, n_pulls, size):
        yield start, min(size, n_pulls - start)


def measures(study: Study) -> dict[str, Callable[[], object]]:
    """What is timed: the whole page, reading, every figure."""
    facts = insight.read(study)
    seen = [facts]

    def page(now: insight.StudySnapshot) -> None:
        insight.overview(now)
        for name in insight.figures_of(now):
            insight.figure(name, now)
        insight.arm_table(now)

    def again() -> None:
        seen[0] = insight.read(study, since=seen[0])
        page(seen[0])

    return {
        _FIRST: lambda: page(insight.read(study)),
        _AGAIN: again,
        "read": lambda: insight.read(study),
        "overview of what was read": lambda: insight.overview(facts),
        **{f"figure {n}": lambda n=n: insight.figure(n, facts) for n in insight.figures_of(facts)},  # type: ignore[misc]
    }


def _go_on(study: Study) -> None:
    for pull in study.ask(count=_TRAFFIC):
        study.tell(pull.id, 1.0)


def lines_of(database: databases.Database, short: int, long: int, repeats: int) -> list[Line]:
    """Times of the long study over those of the short one, taken in turn."""
    store = open_store(database.fresh())
    try:
        studies = {}
        for n_pulls in (short, long):
            fill(store, f"{n_pulls}", n_pulls)
            studies[n_pulls] = Study.open(f"{n_pulls}", store=store)
        actions = {n: measures(study) for n, study in studies.items()}
        lines = []
        for name in actions[short]:
            spent: dict[int, list[float]] = {short: [], long: []}
            for _ in range(repeats):
                for n in (short, long):
                    if name == _AGAIN:
                        _go_on(studies[n])
                    began = time.perf_counter()
                    actions[n][name]()
                    spent[n].append(time.perf_counter() - began)
            fast, slow = (statistics.median(spent[n]) for n in (short, long))
            detail = f"{slow * 1e3:.1f} ms vs {fast * 1e3:.1f} ms"
            claim = f"{database.name}, {name}"
            lines.append(Line(claim, slow / fast, _BARS.get(name), False, detail))
        return lines
    finally:
        store.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and return 1 when a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m imabo_bench.insight", description=__doc__)
    parser.add_argument("--short", type=int, default=5_000, help="pulls of the short study")
    parser.add_argument("--long", type=int, default=5_000_000, help="pulls of the long study")
    parser.add_argument("--repeats", type=int, default=9, help="samples of each time")
    parser.add_argument(
        "--postgres",
        nargs="?",
        const="",
        metavar="URL",
        help="measure on PostgreSQL too: on a server where databases may be made, or on our own",
    )
    options = parser.parse_args(arguments)
    print(
        f"Figures of a study of {options.long:,} pulls and {n_arms_at(options.long):,} arms vs one "
        f"of {options.short:,} and {n_arms_at(options.short):,}, medians of {options.repeats}; "
        f"load {os.getloadavg()[0]:.1f} before.\n",
        flush=True,
    )
    from imabo_bench.service import databases  # needs an extra, which filling a study does not

    lines: list[Line] = []
    with ExitStack() as stack:
        used: list[databases.Database] = [stack.enter_context(databases.sqlite())]
        if options.postgres is not None:
            used.append(stack.enter_context(databases.postgres(options.postgres or None)))
        for database in used:
            for line in lines_of(database, options.short, options.long, options.repeats):
                lines.append(line)
                print(line, flush=True)
    return 0 if all(line.met for line in lines) else 1


if __name__ == "__main__":
    raise SystemExit(main())
