"""What many arms cost: without a reward against with some, and adding one to few and to many."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

import numpy as np

from imabo import Study, oracles
from imabo.stores.base import NewPull
from imabo_bench.timing import SPACE, Line, median_time, new_arms

_MANY: Final = 10_000  # arms, where one more is added


def arms_lines(repeats: int, n_arms: int) -> list[Line]:
    """Arms without a reward against arms that have some, and adding an arm to few and to many."""
    some, none = (_added_study(n_arms, rewards) for rewards in (2, 0))
    times: dict[tuple[str, int], float] = {}
    for count, rounds in ((1, 20 * repeats), (100, repeats)):
        times["some", count], times["none", count] = _side_by_side(
            lambda c=count: some.ask(count=c),  # type: ignore[misc]
            lambda c=count: none.ask(count=c),  # type: ignore[misc]
            rounds,
        )
    few, many = _adding(repeats)
    return [
        Line(
            f"ask, {n_arms:,} arms without a reward vs with some",
            times["none", 1] / times["some", 1],
            1.5,
            False,
            f"{times['none', 1] * 1e6:.0f} us vs {times['some', 1] * 1e6:.0f} us",
        ),
        Line(
            f"ask(count=100), {n_arms:,} arms without a reward vs with some",
            times["none", 100] / times["some", 100],
            1.5,
            False,
            f"{times['none', 100] * 1e3:.1f} ms vs {times['some', 100] * 1e3:.1f} ms",
        ),
        Line(
            f"add_arm on SQLite, {_MANY:,} arms vs 100",
            many / few,
            1.5,
            False,
            f"{many * 1e3:.2f} ms vs {few * 1e3:.2f} ms",
        ),
    ]


def _added_study(n_arms: int, rewards: int) -> Study:
    """A memory study of the default to which arms were added, each with so many rewards."""
    study = Study.create("bench", SPACE, oracle=oracles.Random(), seed=0)
    rng = np.random.default_rng(0)
    study.add_arms([new.config for new in new_arms(n_arms, rng)])
    store, seq, done = study.store, study.seq, 0
    for arm in range(1, n_arms + 1):
        for _ in range(rewards):
            done += 1
            store.serve("bench", seq=seq, at=2e9, pulls=[NewPull(done, arm, "index")])
            told = store.reward("bench", done, float(rng.random()), at=2e9)
            seq = told.seq if told else seq
    study.refresh()
    return study


def _adding(repeats: int) -> tuple[float, float]:
    """Seconds of adding an arm by hand to 100 and to many of them."""
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        studies = []
        for n_arms in (100, _MANY):
            url = f"sqlite:///{folder}/{n_arms}.db"
            study = opened.enter_context(Study.create("bench", SPACE, store=url, seed=0))
            study.add_arms([new.config for new in new_arms(n_arms, rng)])
            studies.append(study)
        few, many = studies
        return _side_by_side(
            lambda: few.add_arm(SPACE.sample(rng)),
            lambda: many.add_arm(SPACE.sample(rng)),
            5 * repeats,
        )


def _side_by_side(
    one: Callable[[], object], other: Callable[[], object], rounds: int
) -> tuple[float, float]:
    """Median seconds of both, in turn: a slow moment of the machine falls on both."""
    times = [(median_time(one, 1), median_time(other, 1)) for _ in range(rounds)]
    first, second = zip(*times, strict=True)
    return statistics.median(first), statistics.median(second)
