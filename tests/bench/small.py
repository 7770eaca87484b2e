"""A problem small enough to work out by hand, for the tests of the runner."""

from __future__ import annotations

from imabo import Choice, Space
from imabo.space import Config
from imabo_bench.methods.base import Player, Served
from imabo_bench.problems.base import Problem

MEANS = {"low": 0.25, "middle": 0.5, "high": 0.75}


class Three(Problem):
    """Three configurations; a reward is the mean itself."""

    name = "test/three"
    space = Space(x=Choice(*MEANS))
    optimum = 0.75

    def mean(self, config: Config) -> float:
        return MEANS[str(config["x"])]

    def draw(self, config: Config, rng: object) -> float:
        del rng
        return self.mean(config)


class Scripted(Player):
    """Serves what it is told to, and writes down what it hears."""

    def __init__(self, script: list[str]) -> None:
        self.script, self.heard, self.n = script, list[tuple[str, float]](), 0

    def ask(self) -> Served | None:
        if self.n == len(self.script):
            return None
        self.n += 1
        return Served(str(self.n), {"x": self.script[self.n - 1]})

    def tell(self, key: str, reward: float) -> None:
        self.heard.append((key, reward))

    def recommend(self) -> Config | None:
        return {"x": "middle"} if self.heard else None

    @property
    def n_arms(self) -> int:
        return len(set(self.script[: self.n]))
