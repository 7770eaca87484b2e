"""Asks and tells until it is killed: ``traffic.py URL OUTBOX LOG SEED``.

A line of the log is a pull whose reward was told: ``tell`` returned, whatever happened to the
service meanwhile. It is written after that, and a killed process loses none of it.
"""

from __future__ import annotations

import logging
import os
import random
import sys

from imabo.client import Client
from tests.client.torture import NAME, reward_of

DEFAULT = {"letter": "a"}


def main(url: str, outbox: str, log: str, seed: str) -> None:
    """Tell one by one, later, and many at once."""
    rng = random.Random(seed)
    told = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    client = Client(url, outbox=outbox, retries=0, timeout_s=1.0, flush_s=1.0)
    study = client.study(NAME)
    while True:
        count = rng.choice((1, 1, 1, 20, 200))
        pulls = study.ask(count=count, default=DEFAULT, deadline_s=1.0)
        ids = [pull.id for pull in pulls if pull.reason != "default"]
        dice = rng.random()
        if dice < 0.2:
            answers = study.tell_many([(pull, reward_of(pull)) for pull in ids])
            ids = [pull for pull, error in zip(ids, answers, strict=True) if error is None]
            os.write(told, "".join(f"{pull}\n" for pull in ids).encode())
            continue
        for pull in ids:
            study.tell(pull, reward_of(pull), wait=dice < 0.5)
            os.write(told, f"{pull}\n".encode())


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    main(*sys.argv[1:])
