"""Asks and tells until it is killed: ``traffic.py URL OUTBOX LOG SEED``.

A line of the log is a pull whose reward was told: ``tell`` returned, whatever happened to the
service meanwhile; or a pull and ``cost``, when its signal was. It is written after that, and a
killed process loses none of it.
"""

from __future__ import annotations

import hashlib
import logging
import os
import random
import sys
import time

from imabo import Reward
from imabo.client import Client

NAME = "s"
DEFAULT = {"letter": "a"}
_MOST_HELD = 50


def reward_of(pull: str) -> float:
    """A reward with all its digits, which anybody can work out again."""
    return int(hashlib.sha1(pull.encode()).hexdigest()[:13], 16) / 2**52


def cost_of(pull: str) -> float:
    """Its signal, likewise."""
    return 1.0 - reward_of(pull)


def _lines(pull: str, has_cost: bool) -> str:
    return f"{pull}\n{pull} cost\n" if has_cost else f"{pull}\n"


def main(url: str, outbox: str, log: str, seed: str) -> None:
    """Tell one by one, later, and many at once."""
    rng = random.Random(seed)
    told = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    # A server whose database hangs answers in time for some of them, and too late for others.
    timeout_s = rng.choice((1.0, 3.0))
    client = Client(url, outbox=outbox, retries=0, timeout_s=timeout_s, flush_s=1.0)
    study = client.study(NAME)
    held: list[str] = []  # pulls whose reward comes later, when the service is away
    while True:
        count = rng.choice((1, 1, 1, 20, 200))
        pulls = study.ask(count=count, default=DEFAULT, deadline_s=1.0)
        ids = [pull.id for pull in pulls if pull.reason != "default"]
        dice = rng.random()
        if not ids:
            time.sleep(0.01)  # not to take the processor from the service that comes back
            ids, held = held[:5], held[5:]
        elif len(held) < _MOST_HELD:
            held.append(ids.pop())
        has_cost, costs = rng.random() < 0.6, {pull: {"cost": cost_of(pull)} for pull in ids}
        if dice < 0.2 and ids:
            rewards = [
                Reward(reward_of(pull), pull, signals=costs[pull] if has_cost else None)
                for pull in ids
            ]
            answers = study.tell_many(rewards)
            ids = [pull for pull, error in zip(ids, answers, strict=True) if error is None]
            os.write(told, "".join(_lines(pull, has_cost) for pull in ids).encode())
            continue
        for pull in ids:
            signals = costs[pull] if has_cost else None
            study.tell(pull, reward_of(pull), wait=dice < 0.5, signals=signals)
            os.write(told, _lines(pull, has_cost).encode())
            if not has_cost and rng.random() < 0.5:  # alone, after the reward
                study.signal(pull, "cost", cost_of(pull))
                os.write(told, f"{pull} cost\n".encode())


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    main(*sys.argv[1:])
