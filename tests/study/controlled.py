"""Studies with a control, and what happens to them."""

from __future__ import annotations

import io
from collections.abc import Callable
from random import Random
from typing import Any

from imabo import Choice, Control, Float, Guardrail, Int, Space, Study, oracles, policies
from imabo.stores import Store

SPACE = Space(model=Choice("small", "large"), x=Float(0.0, 1.0))
TINY = Space(model=Choice("small", "middle", "large"), n=Int(1, 2))
TODAY = {"model": "small", "x": 0.5}
CHEAP: dict[str, Any] = {"policy": policies.IMOSS(), "oracle": oracles.Mutate()}


def clock() -> Callable[[], float]:
    """Seconds that pass."""
    now = [1_000_000.0]

    def tick() -> float:
        now[0] += 1.0
        return now[0]

    return tick


def make(store: Store | str | None = None, space: Space = SPACE, **settings: Any) -> Study:
    settings = {"control": Control(TODAY, share=0.2), "seed": 3, **CHEAP} | settings
    return Study.create("study", space, store=store, clock=clock(), **settings)


def run(study: Study, n: int, seed: int = 0, large: float = 0.8, small: float = 0.4) -> None:
    """Requests, of which seven in ten get feedback."""
    rng = Random(seed)
    for _ in range(n):
        pull = study.ask()
        mean = large if pull.config["model"] == "large" else small
        if rng.random() < 0.7:
            study.tell(pull.id, float(rng.random() < mean))


def lines_of(study: Study) -> list[str]:
    file = io.StringIO()
    study.export(file, "jsonl")
    return file.getvalue().splitlines()


def busy(store: Store | None, **settings: Any) -> Study:
    """A study to which everything happens that may."""
    study = make(store, **settings)
    run(study, 120)
    study.update_control(exposure=0.5, guardrail=Guardrail(margin=0.1))
    run(study, 60, seed=1)
    study.roll_back(reason="the phone rang")
    run(study, 30, seed=2)
    study.resume()
    run(study, 60, seed=3)
    if study.rollout.arm is not None:
        study.update_control(Control({"model": "large", "x": 0.25}, share=0.3))
    run(study, 60, seed=4)
    return study
