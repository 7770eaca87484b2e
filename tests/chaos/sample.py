"""A small study in a file, and the history of the one client it had."""

from __future__ import annotations

from pathlib import Path
from random import Random

from imabo import Float, Int, Pull, Signal, Space, Study, oracles, policies
from imabo.errors import RewardConflict
from tests.chaos.checker import stamp
from tests.chaos.history import LASTING, History, Pulled, cost_of

NAME = "sample"


def play(path: Path) -> History:
    """Ask and tell for a while, in a file that is made for it; returns the history."""
    history, rng, now = History(), Random(5), [1000.0]
    waiting: list[Pulled] = []
    with Study.create(
        NAME,
        Space(x=Float(0.0, 1.0), k=Int(1, 8)),
        policy=policies.IMOSS(),
        oracle=oracles.Random(),
        signals={"cost": Signal(low=0.0)},
        store=f"sqlite:///{path}",
        seed=1,
        window_s=20.0,
        clock=lambda: now[0],
    ) as study:
        for step in range(150):
            now[0] += rng.random()
            key = None if step % 5 == 0 else f"key {step}"
            asked = history.asked(NAME, key, rng.choice([1, 3]), {"step": step})
            pulls = study.ask(count=asked.count, key=key, context=asked.context)
            shown = [_shown(pull) for pull in pulls]
            history.got(asked, shown)
            waiting += shown
            for _ in range(min(2, len(waiting))):
                tell(study, history, waiting.pop(rng.randrange(len(waiting)))["id"], rng.random())
    return history


def tell(study: Study, history: History, pull: str, value: float) -> None:
    """Tell a reward, and another value after it; and a signal of its own."""
    history.costing(pull, cost_of(pull))
    study.signal(pull, "cost", cost_of(pull))
    history.cost_recorded(pull, cost_of(pull))
    for reward in (value, value, value / 2):
        history.telling(pull, reward)
        try:
            study.tell(pull, reward)
            history.recorded(pull, reward)
        except RewardConflict:
            history.conflicted(pull, reward)


def _shown(pull: Pull) -> Pulled:
    """As the API shows it."""
    others = {"study": NAME, "served_at": stamp(pull.served_at)}
    return {key: others[key] if key in others else getattr(pull, key) for key in LASTING}
