"""The demonstration: a simulated assistant, tuned live while its feedback comes late or never."""

from __future__ import annotations

import heapq
import math
import os
import shutil
import sys
import time
from dataclasses import dataclass, field
from typing import Final, TextIO

import numpy as np

from imabo.arms import Arm
from imabo.confidence import bounded_interval
from imabo.recommend import Best
from imabo.space import Choice, Config, Float, Int, Space
from imabo.stores import open_store
from imabo.study import Study

SPACE: Final = Space(
    model=Choice("small", "medium", "large"),
    prompt=Choice("plain", "step by step", "with examples"),
    temperature=Float(0.0, 1.0),
    passages=Int(1, 20),
    rerank=Choice(False, True),
    rerank_depth=Int(20, 200, log=True, when={"rerank": True}),
    thinking_tokens=Int(256, 8192, log=True, when={"model": "large"}),
    forbid=[{"model": "small", "passages": [17, 18, 19, 20]}],  # does not fit its context
)
# Delay and loss of a production system's feedback, as measured in the paper's group: log-normal
# delays, in requests, and 59 % that never comes.
DELAY_MU, DELAY_SIGMA, LOST = 0.58, 2.32, 0.59
WINDOW: Final = 300.0  # requests
_EDGE_SHARE = 10  # the start and the end of a run are its first and last tenth


def success_rate(config: Config) -> float:
    """The chance that an answer is good; what the assistant's owner would love to know.

    Example:
        >>> round(success_rate({"model": "small", "prompt": "plain", "temperature": 0.9,
        ...     "passages": 1, "rerank": False}), 2)
        0.04
    """
    passages, temperature = float(config["passages"] or 0), float(config["temperature"] or 0)
    skill = {"small": -0.7, "medium": 0.1, "large": 0.3}[str(config["model"])]
    skill += {"plain": -0.3, "step by step": 0.2, "with examples": 0.35}[str(config["prompt"])]
    skill -= 1.6 * (temperature - 0.25) ** 2
    ideal = 6.0
    if config["rerank"]:
        # A deep rerank lets fewer passages do the work, and helps until it only adds noise.
        ideal = 4.0
        skill += 0.5 - 0.25 * math.log2(float(config["rerank_depth"] or 1) / 80.0) ** 2
    skill -= 0.5 * math.log2(passages / ideal) ** 2 / 2.0
    if config["model"] == "large":
        tokens = float(config["thinking_tokens"] or 1)
        skill += 0.9 - 0.12 * math.log2(tokens / 2500.0) ** 2
    return 1.0 / (1.0 + math.exp(-(skill + 0.2)))


@dataclass
class Users:
    """Who rate the answers: some at once, some late, most never."""

    rng: np.random.Generator
    waiting: list[tuple[float, str, float]] = field(default_factory=list)

    def see(self, now: float, pull_id: str, rate: float) -> None:
        """An answer reaches a user."""
        good, delay = self.rng.random() < rate, self.rng.lognormal(DELAY_MU, DELAY_SIGMA)
        if self.rng.random() >= LOST:
            heapq.heappush(self.waiting, (now + delay, pull_id, float(good)))

    def ratings(self, now: float) -> list[tuple[str, float]]:
        """The ratings that have come in by now."""
        due = []
        while self.waiting and self.waiting[0][0] <= now:
            due.append(heapq.heappop(self.waiting)[1:])
        return due


def run(store: str, rounds: int, seed: int | None) -> None:
    """Serve ``rounds`` simulated requests and show what was learned."""
    out = sys.stdout
    began, tick = time.time(), [0]
    # One request is one second of the study's clock, however fast the simulation runs.
    study = Study.create(
        _free_name(store),
        SPACE,
        store=store,
        seed=seed,
        window_s=WINDOW,
        clock=lambda: began + tick[0],
    )
    with study:
        rng = np.random.default_rng([study.seed, 1])
        users = Users(rng)
        progress = _Progress(study, rounds, out)
        served: list[float] = []
        for tick[0] in range(1, rounds + 1):
            pull = study.ask()
            rate = success_rate(pull.config)
            served.append(rate)
            users.see(tick[0], pull.id, rate)
            for pull_id, reward in users.ratings(tick[0]):
                study.tell(pull_id, reward)
            progress.show(served)
        at_random = [success_rate(SPACE.sample(rng)) for _ in range(rounds)]
        _summary(study, served, at_random, store, out)


def _free_name(url: str) -> str:
    store = open_store(url)
    try:
        taken = set(store.names())
    finally:
        store.close()
    names = ("assistant" if n == 1 else f"assistant-{n}" for n in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


class _Progress:
    """One line that follows the run: rewritten on a terminal, now and then elsewhere."""

    def __init__(self, study: Study, rounds: int, out: TextIO) -> None:
        self.study, self.rounds, self.out = study, rounds, out
        self.live = out.isatty()
        self.every = max(1, rounds // (200 if self.live else 10))

    def show(self, served: list[float]) -> None:
        done = len(served)
        if done % self.every and done != self.rounds:
            return
        study, window = self.study, max(1, self.rounds // _EDGE_SHARE)
        filled = round(20 * done / self.rounds)
        line = (
            f"[{'#' * filled}{'.' * (20 - filled)}] {done:>{len(str(self.rounds))}} requests  "
            f"success {np.mean(served[-window:]):.0%}  arms {study.n_arms}  "
            f"ratings {study.n_rewards}  pending {study.n_pending}  lost {study.n_expired}"
        )
        if self.live:
            width = shutil.get_terminal_size().columns - 1
            line = "\r" + line[:width].ljust(width)
        print(line, end="" if self.live and done < self.rounds else "\n", file=self.out, flush=True)


def _summary(
    study: Study, served: list[float], at_random: list[float], store: str, out: TextIO
) -> None:
    best, edge = study.best(), max(1, len(served) // _EDGE_SHARE)
    lines = ["", "Best configuration", *_config_lines(best.config)]
    lines += [
        f"  success rate {best.mean:.1%} over {best.n_rewards} ratings, "
        f"{best.level:.0%} interval {best.interval[0]:.1%} to {best.interval[1]:.1%}",
        "",
        *_arm_lines(study.arms(), best),
        "",
        "Success rate of what was served",
    ]
    rates = {
        f"first {edge} requests": served[:edge],
        f"last {edge} requests": served[-edge:],
        "serving at random instead": at_random,
    }
    lines += [f"  {label:28}{np.mean(values):6.1%}" for label, values in rates.items()]
    lines += [
        "",
        f"Of {study.n_pulls} requests {study.n_rewards} were rated, {study.n_expired} stayed "
        f"without a rating for {WINDOW:.0f} requests, {study.n_pending} are still open.",
        f"The database is {os.path.abspath(store.removeprefix('sqlite:///'))}",
        f"Go on with it: Study.open({study.name!r}, store={store!r})",
    ]
    print("\n".join(lines), file=out)


def _config_lines(config: Config) -> list[str]:
    width = max(map(len, config))
    return [f"  {name:{width}}  {_shown(value)}" for name, value in config.items()]


def _arm_lines(arms: list[Arm], best: Best, most: int = 10) -> list[str]:
    n = np.array([arm.n_rewards for arm in arms], dtype=np.float64)
    sums = np.array([(arm.mean or 0.0) * arm.n_rewards for arm in arms])
    low, high = bounded_interval(n, sums, best.level)
    lines = [
        f"Arms, the surest first ({min(most, len(arms))} of {len(arms)}; * is the best)",
        "    arm  ratings  success        interval  origin    configuration",
    ]
    for k in np.argsort(-low, kind="stable")[:most]:
        arm = arms[int(k)]
        config = ", ".join(_shown(value) for value in arm.config.values())
        mean = "-" if arm.mean is None else f"{arm.mean:.1%}"
        lines.append(
            f"  {'*' if arm.id == best.arm else ' '}{arm.id:4} {arm.n_rewards:8} {mean:>8}  "
            f"{low[k]:6.1%} - {high[k]:6.1%}  {arm.origin:8}  {config}"
        )
    return lines


def _shown(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
