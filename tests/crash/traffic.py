"""The process to be killed: real traffic, with a line before and after every call of the study.

``[n, "before", call]`` is written before call n, ``[n, "after", call]`` when it has returned and
the caller may rely on it. Lines go to a pipe unbuffered: a killed process has said all it did.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from random import Random
from typing import Any, Final

from imabo import Choice, Float, Int, Space, Study, oracles

WINDOW_S: Final = 20.0
MODELS: Final = (("small", "large"), ("small", "large", "huge"), ("small", "huge"))
Call = dict[str, Any]


def space(version: int) -> Space:
    """The space of a version, from 1: two out of three follow each other for ever."""
    models = Choice(*MODELS[(version - 1) % len(MODELS)])
    return Space(model=models, temperature=Float(0.0, 1.0), top_k=Int(1, 10))


class Traffic:
    """Calls of a study at random, each announced and acknowledged."""

    def __init__(self, path: str, seed: int) -> None:
        self.rng = Random(seed)
        self.now = 1_000.0
        self.n_calls = 0
        self.open: list[str] = []
        self.rewards: dict[str, float] = {}
        self.n_spaces = 1
        self.paused: int | None = None
        self.call({"do": "create"}, lambda: self.create(path, seed))

    def create(self, path: str, seed: int) -> None:
        """Make the file and the study."""
        self.study = Study.create(
            "study",
            space(1),
            store=f"sqlite:///{path}",
            seed=seed,
            oracle=oracles.TPE(),
            window_s=WINDOW_S,
            clock=lambda: self.now,
        )

    def call(self, call: Call, act: Callable[[], object]) -> None:
        """Announce a call, make it, acknowledge it."""
        self.n_calls += 1
        self._say("before", call)
        act()
        self._say("after", call)

    def _say(self, when: str, call: Call) -> None:
        os.write(sys.stdout.fileno(), (json.dumps([self.n_calls, when, call]) + "\n").encode())

    # --- the calls --------------------------------------------------------------------------------

    def ask(self, count: int) -> None:
        """Ask for one or several; their ids are in the acknowledgement."""
        call: Call = {"do": "ask", "count": count}

        def act() -> None:
            pulls = self.study.ask(count=count) if count > 1 else [self.study.ask()]
            call["ids"] = [pull.id for pull in pulls]
            self.open += call["ids"]

        self.call(call, act)

    def tell(self) -> None:
        """Tell a pull that has none its reward: at once, late, or after its window."""
        # The oldest often: with a window that is short, their time is over.
        place = 0 if self.rng.random() < 0.3 else self.rng.randrange(len(self.open))
        pull = self.open.pop(place)
        self.rewards[pull] = self.rng.randint(0, 8) / 8
        self._tell(pull)

    def tell_again(self) -> None:
        """Repeat a report, as a caller that retries does."""
        self._tell(self.rng.choice(list(self.rewards)))

    def _tell(self, pull: str) -> None:
        reward = self.rewards[pull]
        call = {"do": "tell", "id": pull, "reward": reward}
        self.call(call, lambda: self.study.tell(pull, reward))

    def update_space(self) -> None:
        """Move on to the next space."""
        self.n_spaces += 1
        wanted = space(self.n_spaces)
        self.call(
            {"do": "update_space", "version": self.n_spaces},
            lambda: self.study.update_space(wanted),
        )

    def pause_or_resume(self) -> None:
        """Pause an active arm, or resume the one that is paused."""
        arms = self.study.arms()
        if self.paused is not None and arms[self.paused - 1].state == "paused":
            arm, self.paused = self.paused, None
            self.call({"do": "resume", "arm": arm}, lambda: self.study.resume(arm))
            return
        active = [one.id for one in arms if one.state == "active"]
        if len(active) > 1:
            self.paused = arm = self.rng.choice(active)
            self.call({"do": "pause", "arm": arm}, lambda: self.study.pause(arm))

    def expire(self) -> None:
        """Let a window pass."""
        self.now += 0.6 * WINDOW_S
        self.call({"do": "expire"}, lambda: self.study.expire())

    def step(self) -> None:
        """One call at random."""
        self.now += self.rng.random()
        dice = self.rng.random()
        if dice < 0.30 or not self.open:
            self.ask(1)
        elif dice < 0.42:
            self.ask(self.rng.randint(2, 40))
        elif dice < 0.86:
            self.tell()
        elif dice < 0.91 and self.rewards:
            self.tell_again()
        elif dice < 0.94:
            self.pause_or_resume()
        elif dice < 0.96:
            self.update_space()
        else:
            self.expire()


def main() -> None:
    path, seed = sys.argv[1], int(sys.argv[2])
    traffic = Traffic(path, seed)
    while True:  # until it is killed
        traffic.step()


if __name__ == "__main__":
    main()
