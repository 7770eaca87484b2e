"""What the demonstration writes: progress while it runs, and the summary."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, TextIO

from imabo.recommend import Best
from imabo_rag.stream import Round

_EVERY_S: Final = 15.0
_EDGE: Final = 100  # questions at the start and at the end that are compared


def mean_reward(rounds: Sequence[Round]) -> float:
    """The mean reward of rounds; NaN of none."""
    return sum(one.answer.reward for one in rounds) / len(rounds) if rounds else float("nan")


class Progress:
    """A line every now and then.

    Args:
        label: What is running.
        rounds: How many there will be at most.
        out: Where to write it.
    """

    def __init__(self, label: str, rounds: int, out: TextIO) -> None:
        self._label, self._rounds, self._out = label, rounds, out
        self._next = time.monotonic()
        self._seen: list[Round] = []

    def __call__(self, one: Round) -> None:
        """A round was played."""
        self._seen.append(one)
        if time.monotonic() < self._next and one.n < self._rounds:
            return
        self._next = time.monotonic() + _EVERY_S
        models = Counter(str(one.config["model"]) for one in self._seen[-20:])
        self._out.write(
            f"{self._label}: question {one.n} of at most {self._rounds}, "
            f"reward {mean_reward(self._seen):.3f}, of the last 20 "
            f"{mean_reward(self._seen[-20:]):.3f} ({_listed(models)})\n"
        )
        self._out.flush()


def summary(runs: Mapping[str, Sequence[Round]], best: Best | None) -> list[str]:
    """The lines of the summary.

    Args:
        runs: The rounds of each way to choose, on the same questions in the same order; the first
            is the study's.
        best: What the study recommends; None without rewards.
    """
    live = next(iter(runs.values()))
    if not live or best is None:
        return ["No question was answered, so there is nothing to tell."]
    edge = min(_EDGE, max(1, len(live) // 2))
    low, high = best.interval
    width = max(map(len, best.config))
    lines = [
        "",
        f"Reward of the first {edge} questions {mean_reward(live[:edge]):.3f}, "
        f"of the last {edge} {mean_reward(live[-edge:]):.3f}",
    ]
    if edge < _EDGE:
        lines.append(f"(there were {len(live)} questions, too few for two times {_EDGE})")
    lines += [
        "",
        "Best configuration",
        *(f"  {name:{width}}  {_shown(value)}" for name, value in best.config.items()),
        f"  mean reward {best.mean:.3f}, {best.level:.0%} interval {low:.3f} to {high:.3f}, "
        f"{best.n_rewards} questions",
        "",
        *_table(runs),
        *_trouble(runs),
    ]
    return lines


def _table(runs: Mapping[str, Sequence[Round]]) -> list[str]:
    shared = min(map(len, runs.values()))  # only what all of them had time for is compared
    if not shared:
        return ["There was no time to serve the same questions in other ways."]
    half = max(1, shared // 2)
    width = max(map(len, runs))
    lines = [
        f"The same {shared} questions, served by",
        f"  {'':{width}}  {'all':>6}  {f'last {half}':>9}  from the cache",
    ]
    for name, rounds in runs.items():
        part = rounds[:shared]
        hits = sum(one.answer.is_cached for one in part) / shared
        lines.append(
            f"  {name:{width}}  {mean_reward(part):6.3f}  {mean_reward(part[-half:]):9.3f}"
            f"  {hits:14.0%}"
        )
    longest = max(map(len, runs.values()))
    if shared < longest:
        lines.append(
            f"(there was time for {shared} of the {longest} questions; docs/benchmarks.md compares "
            "them over 5,000)"
        )
    return lines


def _trouble(runs: Mapping[str, Sequence[Round]]) -> list[str]:
    errors = [one.answer.error for rounds in runs.values() for one in rounds if one.answer.error]
    if not errors:
        return []
    return ["", f"{len(errors)} answers failed and counted as 0; the last: {errors[-1]}"]


def _listed(models: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(models.items()))


def _shown(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
