"""The simulated world: an assistant with settings, and users who rate its answers, or do not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from imabo.space import Choice, Config, Float, Int, Space

NEW_MODEL: Final = "large"
FALLEN_MODEL: Final = "medium"  # it gets worse behind its name, and nobody says so
_FALL: Final = 2.5


def _space(*models: str, **more: Int) -> Space:
    return Space(
        model=Choice(*models),
        prompt=Choice("plain", "step by step", "with examples"),
        temperature=Float(0.0, 1.0),
        passages=Int(1, 20),
        rerank=Choice(False, True),
        rerank_depth=Int(20, 200, log=True, when={"rerank": True}),
        **more,
        forbid=[{"model": "small", "passages": [17, 18, 19, 20]}],  # does not fit its context
    )


BEFORE: Final = _space("small", "medium")
# The new model brings a setting of its own.
_THOUGHT: Final = Int(256, 8192, log=True, when={"model": NEW_MODEL})
AFTER: Final = _space("small", "medium", NEW_MODEL, thinking_tokens=_THOUGHT)
# What the assistant does today: the control, and what is served when nobody tells it what to do.
DEFAULT: Final[dict[str, Any]] = {
    "model": "small", "prompt": "step by step", "temperature": 0.4, "passages": 6, "rerank": False,
}  # fmt: skip
# Nobody inside the simulation knows this one; the summary compares with it.
IDEAL: Final[dict[str, Any]] = {
    "model": NEW_MODEL, "prompt": "with examples", "temperature": 0.25, "passages": 4,
    "rerank": True, "rerank_depth": 80, "thinking_tokens": 2500,
}  # fmt: skip
# Delay and loss of a production system's feedback, as measured in the paper's group: log-normal
# delays, in requests, and 59 % that never comes.
DELAY_MU, DELAY_SIGMA, LOST = 0.58, 2.32, 0.59
WINDOW: Final = 300  # requests after which a rating is no longer waited for


def success_rate(config: Config, *, has_changed: bool = False) -> float:
    """The chance that an answer is good; what the assistant's owner would love to know.

    ``has_changed``: after the change of the world.
    """
    passages, temperature = float(config["passages"] or 0), float(config["temperature"] or 0)
    skill = {"small": -0.9, "medium": 0.1, NEW_MODEL: 0.3}[str(config["model"])]
    if has_changed and config["model"] == FALLEN_MODEL:
        skill -= _FALL
    skill += {"plain": -0.3, "step by step": 0.2, "with examples": 0.35}[str(config["prompt"])]
    skill -= 1.6 * (temperature - 0.25) ** 2
    ideal = 6.0
    if config["rerank"]:
        # A deep rerank lets fewer passages do the work, and helps until it only adds noise.
        ideal = 4.0
        skill += 0.5 - 0.25 * math.log2(float(config["rerank_depth"] or 1) / 80.0) ** 2
    skill -= 0.5 * math.log2(passages / ideal) ** 2 / 2.0
    if config["model"] == NEW_MODEL:
        # Better than the others when it may think, and neither too little nor too much.
        tokens = float(config["thinking_tokens"] or 1)
        skill += 1.4 - 0.15 * math.log2(tokens / 2500.0) ** 2
    return 1.0 / (1.0 + math.exp(-(skill + 0.2)))


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of a user.

    ``n`` is its number, from 1, and also the simulated time.
    """

    n: int
    luck: float  # the answer is good when this is below the configuration's success rate
    rated_at: float | None  # when the rating arrives, in requests; None when it never does
    at_random: Config  # what serving at random would have answered with
    has_changed: bool  # whether the world had changed by then

    def rate(self, config: Config) -> float:
        """The chance that an answer to this user is good."""
        return success_rate(config, has_changed=self.has_changed)

    def is_good(self, config: Config) -> bool:
        """Whether this user likes an answer that was made with ``config``."""
        return self.luck < self.rate(config)


class World:
    """The users of one run: the same ones for the same seed, whatever they are served.

    So two ways of serving can be compared user by user. Halfway one of the models gets worse behind
    its name; after two thirds a new model ships.
    """

    def __init__(self, rounds: int, seed: int) -> None:
        self.seed, rng = seed, np.random.default_rng([seed, 1])
        self.changes_after = rounds // 2  # the world is another after this request
        self.ships_after = rounds * 2 // 3  # the new model is there after this one
        self.visits = [self._visit(n, rng) for n in range(1, rounds + 1)]

    def _visit(self, n: int, rng: np.random.Generator) -> Visit:
        space = BEFORE if n <= self.ships_after else AFTER
        luck, is_lost = float(rng.random()), rng.random() < LOST
        delay = float(rng.lognormal(DELAY_MU, DELAY_SIGMA))
        rated_at = None if is_lost else n + delay
        return Visit(n, luck, rated_at, space.sample(rng), n > self.changes_after)
