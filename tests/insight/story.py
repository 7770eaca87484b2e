"""Studies with a past, small and quick to make, for the tests of the read models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from imabo import (
    Choice,
    Float,
    Int,
    Limit,
    Objective,
    Pull,
    Signal,
    Space,
    Study,
    oracles,
    policies,
)
from imabo.testing.study.base import ManualClock, letters, play
from tests.study.traffic import SPACES, WINDOW_S, Traffic

# A space in which one parameter decides the reward, and another has a meaning only sometimes.
SPACE = Space(
    model=Choice("small", "large", "<b>&amp;"),
    fast=Choice(False, True),
    temperature=Float(0.0, 1.0),
    rate=Float(1e-4, 1.0, log=True),
    top_k=Int(1, 4),
    tokens=Int(256, 8192, log=True, when={"model": "large"}),
)


def make(name: str = "story", space: Space = SPACE, **settings: Any) -> Study:
    """A study with a quick oracle."""
    settings.setdefault("policy", policies.IMOSS(warmup=5))
    settings.setdefault("oracle", oracles.Mutate())
    settings.setdefault("seed", 3)
    settings.setdefault("clock", ManualClock(1e9))
    return Study.create(name, space, **settings)


def by_model(pull: Pull) -> float:
    """A reward that depends on the model alone."""
    return {"small": 0.2, "large": 0.8}.get(str(pull.config["model"]), 0.5)


def noisy(pull: Pull) -> float:
    """A reward of 0 or 1, on average ``by_model``, the same for the same pull number."""
    number = int(pull.id.rpartition("-")[2])
    return float((number * 0.6180339887) % 1.0 < by_model(pull))


def instant(
    rounds: int, reward: Callable[[Pull], float] = noisy, **settings: Any
) -> tuple[Study, list[Pull]]:
    """A study whose rewards came at once, and its pulls, which took a second each."""
    clock = settings.setdefault("clock", ManualClock(1e9))
    study = make(**settings)
    return study, go_on(study, clock, rounds, reward)


def drawn_often(
    rounds: int, reward: Callable[[Pull], float] = noisy, **settings: Any
) -> tuple[Study, list[Pull]]:
    """A study that mostly tries what it draws from P0, so that serving at random is known soon."""
    settings.setdefault("policy", policies.IMOSS(warmup=30, beta=0.9))
    return instant(rounds, reward, oracle=oracles.Random(), **settings)


def go_on(
    study: Study, clock: ManualClock, rounds: int, reward: Callable[[Pull], float] = noisy
) -> list[Pull]:
    """Play on, a second a round; the pulls."""
    pulls = []
    for _ in range(rounds):
        clock.now += 1.0
        pulls += play(study, 1, reward)
    return pulls


def eventful(steps: int = 400, seed: int = 1, **settings: Any) -> Study:
    """A study with late and lost rewards, paused and retired arms, and changes of the space."""
    clock = ManualClock(1e9)
    study = make(space=SPACES[0], clock=clock, window_s=WINDOW_S, **settings)
    return Traffic(study, clock, seed).run(steps)


def situations() -> dict[str, Callable[[], Study]]:
    """Studies of every kind, by what is special about them."""
    return {
        "no pulls": make,
        "an arm by hand, no pulls": _by_hand,
        "no rewards": lambda: _asked(30),
        "one pull": lambda: _asked(1),
        "one reward": lambda: instant(1)[0],
        "one arm": lambda: instant(20, _half, space=Space(only=Choice("x")))[0],
        "all alike": lambda: instant(40, _half)[0],
        "instant": lambda: instant(300)[0],
        "open range": lambda: instant(300, _wide, reward_range=None)[0],
        "other range": lambda: instant(60, _wide, reward_range=(-1000.0, 1000.0))[0],
        "eventful": eventful,
        "strange name": lambda: instant(30, name="<script>alert(1)</script>")[0],
        "own schedule": lambda: instant(40, policy=policies.QRM2())[0],
        "pruned": _pruned,
        "values of any kind": _any_values,
        "a change of the world": changed,
        "a budget and a limit": lambda: budgeted()[0],
        "signals alone": lambda: budgeted(objective=None)[0],
        "a price list": lambda: budgeted(signals={"cost": Signal(known=PRICES)}, limits=())[0],
        "signals and no requests": lambda: budgeted(0)[0],
    }


MODELS = {"small": (0.6, 1.0), "large": (0.9, 3.0), "<b>&amp;": (0.5, 2.0)}
PRICES = {"model": {name: cost for name, (_, cost) in MODELS.items()}}
BUDGET = Objective(budgets={"cost": 2.0})
SLOW = Limit("seconds", above=1.0, share=0.4)


def budgeted(
    rounds: int = 300,
    *,
    signals: dict[str, Signal] | None = None,
    objective: Objective | None = BUDGET,
    limits: Sequence[Limit] = (SLOW,),
    **settings: Any,
) -> tuple[Study, list[dict[str, float]]]:
    """A study of models that differ in what they cost, and what each request used."""
    clock = settings.setdefault("clock", ManualClock(1e9))
    if objective is not None:
        objective = replace(objective, limits=tuple(limits))
    study = Study.create(
        settings.pop("name", "budgeted"),
        Space(model=Choice(*MODELS)),
        signals=signals or {"cost": Signal(low=0.0, unit="$"), "seconds": Signal(unit="<b>s")},
        objective=objective,
        seed=3,
        **settings,
    )
    told: list[dict[str, float]] = []
    return study, spend_on(study, clock, rounds, told)


def spend_on(
    study: Study, clock: ManualClock, rounds: int, told: list[dict[str, float]]
) -> list[dict[str, float]]:
    """Play on, a second a round; each request says what it used, all but every fifth."""
    for _ in range(rounds):
        clock.now += 1.0
        pull = study.ask()
        number = int(pull.id.rpartition("-")[2])
        luck = (number * 0.6180339887) % 1.0
        good, cost = MODELS[str(pull.config["model"])]
        used = {"cost": cost * (0.5 + luck), "seconds": cost * luck}
        used = {name: used[name] for name in study.signals} if number % 5 else {}
        study.tell(pull.id, float(luck < good), signals=used)
        told.append(used)
    return told


def changed(clock: ManualClock | None = None) -> Study:
    """A study of which the best letter stopped being good, as it noticed."""
    clock = clock or ManualClock(1e9)
    study = make(
        space=letters("a", "b", "c"), policy=policies.Informed(), oracle=oracles.Random(),
        clock=clock,
    )  # fmt: skip
    for number in range(400):
        clock.now += 1.0
        pull = study.ask()
        good = (0.9 if number < 300 else 0.1) if pull.config["letter"] == "a" else 0.3
        study.tell(pull.id, float((number * 0.6180339887) % 1.0 < good))
        if study.n_drifts:
            break
    return study


def _half(pull: Pull) -> float:
    del pull
    return 0.5


def _wide(pull: Pull) -> float:
    return 200.0 * noisy(pull) - 50.0


def _by_hand() -> Study:
    study = make()
    study.add_arm(study.space.sample(np.random.default_rng(0)))
    return study


def _asked(n: int) -> Study:
    study = make()
    study.ask(count=n)
    return study


def _pruned() -> Study:
    study = eventful()
    study.prune(study.pulls(after=study.n_pulls // 2, limit=1)[0].served_at)
    return study


def _any_values() -> Study:
    space = Space(
        {
            "a b": Choice(None, True, 1.5, 2, "</script><img src=x onerror=alert(1)>"),
            "constant": Float(2.0, 2.0),
            "sum": Int(-5, 5),
            "many": Choice(*range(100)),
        }
    )
    return instant(120, _half_or_more, space=space)[0]


def _half_or_more(pull: Pull) -> float:
    return 0.5 + 0.5 * (pull.config["a b"] is True)
