"""Ask and tell at full speed, as one of several processes; say what was handed out."""

from __future__ import annotations

from random import Random

from imabo import Study
from tests.stores.processes import answer, wait_for_start


def main() -> None:
    url, seed, rounds = wait_for_start()
    rng, told = Random(int(seed)), dict[str, float | None]()
    with Study.open("study", store=url) as study:
        for _ in range(int(rounds)):
            for pull in study.ask(count=rng.choice([1, 1, 1, 5])):
                reward = rng.randint(0, 8) / 8 if rng.random() < 0.8 else None
                told[pull.id] = reward
                if reward is not None:
                    study.tell(pull.id, reward)
    answer(told)


if __name__ == "__main__":
    main()
