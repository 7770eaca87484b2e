"""What a changed space brought in is explored soon, by every oracle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from imabo import Choice, Float, Int, Space, Study
from imabo.arms import ActiveSet, Restart
from imabo.oracles import GP, TPE, Mutate, Oracle, Random
from imabo.oracles.local import try_unseen
from imabo.space import Config, Parameter

from .sets import sampled

ORACLES: dict[str, Oracle] = {
    "GP": GP(mutations=60, draws=20),
    "Mutate": Mutate(),
    "TPE": TPE(),
    "TPE-univariate": TPE(multivariate=False),
}
CHANGES: dict[str, tuple[Parameter, Parameter]] = {
    "a choice": (Choice("old", "good"), Choice("old", "good", "new")),
    "a choice in the middle": (Choice("old", "good"), Choice("old", "new", "good")),
    "an ordered choice": (
        Choice(1, 2, 3, 4, 5, ordered=True),
        Choice(1, 2, 3, 4, 5, 6, ordered=True),
    ),
    "a wider range": (Float(0, 1), Float(0, 2)),
    "a lower end": (Float(1e-2, 1, log=True), Float(1e-4, 1, log=True)),
    "more steps": (Int(1, 10), Int(1, 20)),
}


def with_parameter(parameter: Parameter) -> Space:
    return Space(p=parameter, x=Float(0, 1), style=Choice("plain", "kind", "short"))


def rounds_until_new(oracle: Oracle, change: str, seed: int, before: int = 150) -> int:
    """Asks from the change to the first pull that the old space does not allow (100: none)."""
    old, new = (with_parameter(parameter) for parameter in CHANGES[change])
    rng = np.random.default_rng(seed)
    study = Study.create("s", old, oracle=oracle, seed=seed)
    for asked in range(before + 100):
        if asked == before:
            study.update_space(new)
        pull = study.ask()
        mean = 0.2 + 0.3 * (pull.config["p"] == "good") + 0.4 * float(pull.config["x"] or 0.0)
        study.tell(pull.id, float(rng.random() < mean))
        if not old.allows(pull.config):
            return asked - before + 1
    return 100


@pytest.mark.parametrize("oracle", ORACLES.values(), ids=ORACLES)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    ("n_seeds", "least", "before"),
    [(4, 3, 50), pytest.param(10, 8, 150, marks=pytest.mark.long)],
)
def test_a_new_value_is_served_within_30_asks_with_most_seeds(
    oracle: Oracle, change: str, n_seeds: int, least: int, before: int
) -> None:
    waited = [rounds_until_new(oracle, change, seed, before) for seed in range(n_seeds)]
    assert sum(asks <= 30 for asks in waited) >= least, sorted(waited)


class TestTryUnseen:
    space = Space(p=Choice(*range(40)), x=Float(0, 1), forbid=[{"p": [7]}])

    def reward(self, config: Config) -> float:
        return float(config["x"] or 0.0)

    def test_a_space_that_never_changed_is_left_to_the_oracle(self) -> None:
        rng = np.random.default_rng(0)
        before = rng.bit_generator.state
        assert try_unseen(sampled(self.space, 20, self.reward), rng) is None
        assert rng.bit_generator.state == before

    def test_half_of_the_proposals_are_the_best_arm_with_a_value_that_no_arm_has(self) -> None:
        arms = sampled(self.space, 20, self.reward, is_changed=True)
        best = int(arms.ids[arms.means.argmax()])
        tried = [try_unseen(arms, np.random.default_rng(seed)) for seed in range(200)]
        made = [proposal for proposal in tried if proposal is not None]
        assert 70 < len(made) < 130
        seen = {config["p"] for config in arms.configs}
        for proposal in made:
            assert proposal.config["p"] not in seen | {7}
            assert (proposal.parent, proposal.mutated) == (best, "p")
            assert proposal.config["x"] == arms.config_of(best)["x"]

    def test_when_every_value_has_an_arm_there_is_nothing_to_try(self) -> None:
        space = Space(p=Choice("a", "b"), x=Float(0, 1))
        arms = sampled(space, 30, self.reward, is_changed=True)
        assert {try_unseen(arms, np.random.default_rng(seed)) for seed in range(20)} == {None}


def test_random_explores_a_new_space_by_itself() -> None:
    waited = [rounds_until_new(Random(), "a choice", seed) for seed in range(20)]
    assert sum(asks <= 30 for asks in waited) >= 15, sorted(waited)


class TestNewChoice:
    """A choice that the space gained, after a study of 20 arms."""

    space = Space(p=Choice("a", "b", "c"), x=Float(0, 1))

    def arms(self, old: list[str], new: Sequence[Sequence[float]]) -> ActiveSet:
        """Arms with these choices and a reward each, then arms of c with these rewards."""
        made: list[tuple[Config, Sequence[float]]] = [
            ({"p": choice, "x": i / 20}, [0.5]) for i, choice in enumerate(old)
        ]
        made += [({"p": "c", "x": i / 40 + 0.01}, given) for i, given in enumerate(new)]
        arms = ActiveSet.from_rewards(self.space, made)
        arms.restart = Restart(len(old), len(old), 0, len(old))
        return arms

    def tried(self, *rewards: Sequence[float]) -> bool:
        """Whether c is still tried when its arms have these rewards."""
        arms = self.arms(["ab"[i % 2] for i in range(20)], rewards)
        made = [try_unseen(arms, np.random.default_rng(seed)) for seed in range(20)]
        assert all(proposal is None or proposal.config["p"] == "c" for proposal in made)
        return any(made)

    def test_it_is_tried_until_some_rewards_are_in(self) -> None:
        assert self.tried()
        assert self.tried([], [], [])
        assert self.tried([1.0, 0.0, 1.0], [1.0] * 6)
        assert not self.tried([1.0, 0.0, 1.0], [1.0] * 6, [0.0])

    def test_it_is_given_up_when_no_reward_ever_comes(self) -> None:
        assert self.tried(*[[]] * 24)
        assert not self.tried(*[[]] * 25)

    def test_a_choice_of_the_old_space_with_few_rewards_is_not_new(self) -> None:
        arms = self.arms(["a", "b"] * 9 + ["a", "c"], [])
        assert {try_unseen(arms, np.random.default_rng(seed)) for seed in range(20)} == {None}
