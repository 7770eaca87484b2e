"""Ask and tell at full speed; say what was handed out and how long the slowest call took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from imabo import Study
from tests.stores.processes import answer, wait_for_start


@contextmanager
def timed(times: list[float]) -> Iterator[None]:
    began = time.monotonic()
    yield
    times.append(time.monotonic() - began)


def main() -> None:
    path, seed, rounds = wait_for_start()
    rng, told, times = Random(int(seed)), dict[str, float | None](), [0.0]
    with Study.open("study", store=f"sqlite:///{path}") as study:
        for _ in range(int(rounds)):
            with timed(times):
                pulls = study.ask(count=rng.choice([1, 1, 1, 5]))
            for pull in pulls:
                reward = rng.randint(0, 8) / 8 if rng.random() < 0.8 else None
                told[pull.id] = reward
                if reward is not None:
                    with timed(times):
                        study.tell(pull.id, reward)
    answer({"told": told, "slowest_s": max(times)})


if __name__ == "__main__":
    main()
