"""Problems whose truth is known, and studies of them with half of the feedback lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from imabo import Choice, Float, Space, Study, oracles, policies
from imabo.arms import ActiveSet, Floats
from imabo.policies.counts import prior_counts
from imabo.space import Config

LOSS: Final = 0.5
P0_ORIGINS: Final = ("warmup", "baseline")

Truth = Callable[[Config], float]


@dataclass(frozen=True)
class World:
    """A space, the true mean of each configuration, and what serving at random would give."""

    space: Space
    truth: Truth
    at_random: float
    is_finite: bool


@dataclass(frozen=True)
class Moment:
    """What a study knows at some moment, and the truth."""

    n: Floats
    sums: Floats
    prior_means: Floats
    prior_counts: Floats
    truths: Floats
    servable: Floats
    best: int  # row of the arm that the study recommends
    first_rewards: list[float]  # of the pulls that admitted an arm from P0, those that came
    at_random: float


def _table(shape: tuple[int, ...], means: Floats) -> World:
    axes = {f"p{i}": Choice(*range(size)) for i, size in enumerate(shape)}
    table = means.reshape(shape)

    def truth(config: Config) -> float:
        return float(table[tuple(int(str(config[name])) for name in axes)])

    return World(Space(axes), truth, float(table.mean()), True)


def few_choices(rng: np.random.Generator) -> World:
    return _table((2, 3), rng.uniform(0.4, 0.6, 6))


def prompts(rng: np.random.Generator) -> World:
    return _table((40,), rng.beta(2.0, 4.0, 40))


def rare(rng: np.random.Generator) -> World:
    return _table((4, 5), rng.uniform(0.01, 0.05, 20))


def two_numbers(rng: np.random.Generator) -> World:
    return _bump(rng, 0.35, 0.4)


def rare_numbers(rng: np.random.Generator) -> World:
    return _bump(rng, 0.01, 0.04)


def _bump(rng: np.random.Generator, floor: float, height: float) -> World:
    a, b = rng.uniform(0.2, 0.8, 2)

    def truth(config: Config) -> float:
        far = (float(str(config["x"])) - a) ** 2 + (float(str(config["y"])) - b) ** 2
        return float(floor + height * np.exp(-far / 0.1))

    side = (np.arange(200) + 0.5) / 200
    x, y = np.meshgrid(side, side)
    mean = floor + height * np.exp(-((x - a) ** 2 + (y - b) ** 2) / 0.1)
    space = Space(x=Float(0.0, 1.0), y=Float(0.0, 1.0))
    return World(space, truth, float(mean.mean()), False)


WORLDS: Final[dict[str, Callable[[np.random.Generator], World]]] = {
    "2 x 3 choices": few_choices,
    "40 prompts": prompts,
    "two numbers": two_numbers,
    "rare, 20 choices": rare,
    "rare, two numbers": rare_numbers,
}
PARTS: Final[dict[str, Callable[[], dict[str, Any]]]] = {
    "default": dict,
    "IMOSS": lambda: {"policy": policies.IMOSS(), "oracle": oracles.Mutate()},
}


def run(world: str, parts: str, seed: int, moments: Sequence[int]) -> list[Moment]:
    """One study of a world, as it is known after so many requests."""
    rng = np.random.default_rng([seed, list(WORLDS).index(world), 17])
    made = WORLDS[world](rng)
    clock = [0.0]
    study = Study.create(
        "s", made.space, seed=seed, window_s=50.0, clock=lambda: clock[0], **PARTS[parts]()
    )
    first: list[float] = []
    seen: list[Moment] = []
    origins: dict[int, str] = {}
    for t in range(1, moments[-1] + 1):
        clock[0] += 1.0
        pull = study.ask()
        if pull.arm not in origins:
            origin = next(arm.origin for arm in study.arms() if arm.id == pull.arm)
            origins[pull.arm] = origin
            counts = origin == "warmup" or (origin == "baseline" and not made.is_finite)
        else:
            counts = False
        reward = float(rng.random() < made.truth(pull.config))
        if rng.random() >= LOSS:
            study.tell(pull.id, reward)
            if counts:
                first.append(reward)
        if t in moments:
            best = study.best().arm
            seen.append(study.read(lambda arms, b=best: _moment(arms, made, b, first)))  # type: ignore[misc]
    study.close()
    return seen


def _moment(arms: ActiveSet, world: World, best: int, first: list[float]) -> Moment:
    return Moment(
        n=np.array(arms.n_rewards, dtype=float),
        sums=np.array(arms.unit_sums(), dtype=float),
        prior_means=np.array(arms.prior_means, dtype=float),
        prior_counts=np.array(prior_counts(arms), dtype=float),
        truths=np.array([world.truth(config) for config in arms.configs]),
        servable=np.array(arms.servable, dtype=float),
        best=int(np.flatnonzero(arms.ids == best)[0]),
        first_rewards=list(first),
        at_random=world.at_random,
    )
