"""``imabo`` called in this process, and studies for it to work on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from imabo import Choice, Float, Space, Study, cli, oracles, policies
from imabo.testing.study.base import change_world, letters

STUDY = "support-answers"
N_PULLS, N_REWARDS = 150, 100  # of STUDY
CHANGED = "changed"  # a study that noticed a change of the world
STRANGE = "a\x1b[31m\nb"  # colours the terminal, if it gets there
SPACE = Space(model=Choice("small", "large"), temperature=Float(0.0, 1.0))
SMALLER: dict[str, Any] = {
    "parameters": [
        {"name": "model", "type": "choice", "values": ["large", "huge"]},
        {"name": "temperature", "type": "float", "low": 0, "high": 1},
    ]
}


@dataclass
class Done:
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document that it wrote."""
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """The one error that it wrote."""
        assert self.out == ""
        return json.loads(self.err)["error"]


class Imabo:
    """Runs commands in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *place: str) -> None:
        self._capsys = capsys
        self._place = place

    def __call__(self, *arguments: str) -> Done:
        self._capsys.readouterr()
        code = cli.main([*arguments, *self._place])
        written = self._capsys.readouterr()
        return Done(code, written.out, written.err)


def make_study(store: str, name: str = STUDY, n: int = N_PULLS) -> None:
    """A study whose large model is better, with a third of the feedback missing."""
    rng = np.random.default_rng(0)
    with Study.create(
        name,
        SPACE,
        policy=policies.IMOSS(),
        oracle=oracles.Mutate(),
        store=store,
        seed=1,
        window_s=3600.0,
    ) as study:
        for i in range(n):
            pull = study.ask(key="request-17" if i == 18 else None)
            if i % 3:
                rate = 0.8 if pull.config["model"] == "large" else 0.3
                study.tell(pull.id, float(rng.random() < rate))


def make_changed(store: str) -> None:
    """A study whose best letter stopped being good, as it noticed."""
    with Study.create(
        CHANGED, letters("a", "b", "c"), oracle=oracles.Random(), store=store, seed=1
    ) as study:
        change_world(study)
        study.pause(1)
