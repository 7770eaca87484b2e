"""The shipped contract, on every public oracle, and on oracles that it must refuse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from imabo.arms import ActiveSet, Floats
from imabo.oracles import Exhausted, Oracle, Proposal, Random, TabPFN
from imabo.testing.oracles import OracleContract

from .cases import ORACLES, public_classes


class TestEveryOracle(OracleContract):
    @pytest.fixture(params=ORACLES)
    def oracle(self, request: pytest.FixtureRequest) -> Oracle:
        return ORACLES[request.param]


def test_no_public_oracle_is_missed() -> None:
    elsewhere = {TabPFN}  # needs weights: test_tabpfn.py puts it through the contract
    assert {type(oracle) for oracle in ORACLES.values()} == public_classes() - elsewhere


@dataclass(frozen=True)
class Repeats(Oracle):
    """Draws from P0 without looking at what is there."""

    def propose(
        self, arms: ActiveSet, scores: Floats, rng: np.random.Generator
    ) -> Proposal | Exhausted:
        del scores
        return Proposal(arms.space.sample(rng))


@dataclass(frozen=True)
class GivesUp(Oracle):
    """Says that the space is used up when it has a few arms."""

    def propose(
        self, arms: ActiveSet, scores: Floats, rng: np.random.Generator
    ) -> Proposal | Exhausted:
        return Exhausted() if len(arms) > 2 else Random().propose(arms, scores, rng)


@dataclass(frozen=True)
class Meddles(Random):
    """Changes the scores that it was given."""

    def propose(
        self, arms: ActiveSet, scores: Floats, rng: np.random.Generator
    ) -> Proposal | Exhausted:
        scores[:] = 0.25
        return Random().propose(arms, scores, rng)


class TestTheContractRefuses:
    contract = OracleContract()

    @pytest.mark.parametrize("oracle", [Repeats(), GivesUp()], ids=["repeats", "gives up"])
    def test_an_oracle_that_does_not_use_the_space_up(self, oracle: Oracle) -> None:
        with pytest.raises(AssertionError):
            self.contract.test_it_uses_a_finite_space_up_and_then_says_so(oracle)

    def test_an_oracle_that_changes_its_input(self) -> None:
        with pytest.raises(AssertionError, match="changed the scores"):
            self.contract.test_proposing_changes_nothing(Meddles())
