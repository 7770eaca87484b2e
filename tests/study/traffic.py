"""Simulated traffic for studies: the same steps for the same seed, whatever the store."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from imabo import Arm, Choice, Float, Int, Pull, Space, Study
from imabo.errors import NothingToServe
from imabo.space import Config
from imabo.testing.study.base import ManualClock, facts_of, mixed_space

WINDOW_S = 120.0

SPACES = [
    mixed_space(),
    # Wider and narrower at once, with a child of a child.
    Space(
        model=Choice("large", "huge"),
        temperature=Float(0.0, 2.0),
        top_k=Int(1, 10),
        tokens=Int(256, 8192, log=True, when={"model": ["large", "huge"]}),
        think=Choice(False, True, when={"model": "huge"}),
        depth=Int(1, 4, when={"think": True}),
    ),
    Space(model=Choice("small", "large"), temperature=Float(0.0, 1.0, step=0.5), top_k=Int(3, 4)),
]


def reward_of(config: Config) -> float:
    """A reward in [0, 1) that depends on the configuration alone."""
    return zlib.crc32(json.dumps(config, sort_keys=True).encode()) / 2**32


def story(study: Study) -> tuple[dict[str, int], list[Arm], list[Pull]]:
    """All that happened, without the ids, which no two studies share."""
    counts, arms, pulls = facts_of(study)
    return counts, arms, [replace(pull, id="") for pull in pulls]


class Traffic:
    """Requests with late, lost and out-of-order feedback, and a person who changes things.

    Args:
        study: The study to drive; its clock must be ``clock``.
        clock: Moved forward, and now and then back.
        seed: Of the traffic; it does not depend on what the study decides.
        reopen: Called now and then in place of the study, to go on with what it returns.
    """

    def __init__(
        self,
        study: Study,
        clock: ManualClock,
        seed: int,
        reopen: Callable[[Study], Study] | None = None,
    ) -> None:
        self.study = study
        self.clock = clock
        self.random = random.Random(seed)
        self.reopen = reopen
        self.waiting: list[Pull] = []

    def run(self, steps: int) -> Study:
        moves: list[tuple[int, Callable[[float], None]]] = [
            (40, self._ask),
            (45, self._tell),
            (8, self._wait),
            (3, self._change_arm),
            (1, self._change_space),
            (3, self._reopen),
        ]
        weights, calls = zip(*moves, strict=True)
        for _ in range(steps):
            (move,) = self.random.choices(calls, weights)
            move(self.random.random())
        return self.study

    def _ask(self, luck: float) -> None:
        self.clock.now += 1.0
        with suppress(NothingToServe):
            self.waiting += (
                self.study.ask(count=1 + int(6 * luck)) if luck > 0.7 else [self.study.ask()]
            )

    def _tell(self, luck: float) -> None:
        if self.waiting:
            pull = self.waiting.pop(int(luck * len(self.waiting)))
            if luck < 0.8:  # else it is lost
                self.study.tell(pull.id, 0.8 * reward_of(pull.config) + 0.2 * luck)

    def _wait(self, luck: float) -> None:
        self.clock.now += WINDOW_S * (luck - 0.1) / 4
        if luck > 0.8:
            self.study.expire()

    def _change_arm(self, luck: float) -> None:
        arms = self.study.arms()
        if not arms:
            return
        arm = arms[int(luck * 997) % len(arms)]
        if luck < 0.2 and arm.state == "active":
            self.study.retire(arm)
        elif luck < 0.6 and arm.state != "retired":
            (self.study.pause if arm.state == "active" else self.study.resume)(arm)
        elif self.study.space.allows(arm.config):
            self.study.add_arm(arm.config)
        else:
            config = {"model": "large", "temperature": luck, "top_k": 3, "tokens": 512}
            if self.study.space.allows(config):
                self.study.add_arm(config)

    def _change_space(self, luck: float) -> None:
        self.study.update_space(SPACES[int(luck * len(SPACES))])

    def _reopen(self, luck: float) -> None:
        del luck
        if self.reopen is not None:
            self.study = self.reopen(self.study)
