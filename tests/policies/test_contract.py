"""The shipped contract, on every public policy, and on policies that it must refuse."""

from __future__ import annotations

import inspect
import itertools
from dataclasses import dataclass, field

import pytest

from imabo.arms import ActiveSet
from imabo.policies import IMOSS, Decision, Expand, Policy, Serve
from imabo.policies.base import Draws
from imabo.testing.policies import PolicyContract

from .cases import POLICIES, public_classes


class TestEveryPolicy(PolicyContract):
    @pytest.fixture(params=POLICIES)
    def policy(self, request: pytest.FixtureRequest) -> Policy:
        return POLICIES[request.param]


def test_no_public_policy_is_missed() -> None:
    assert {type(policy) for policy in POLICIES.values()} == public_classes()


@dataclass(frozen=True)
class Remembers(IMOSS):
    """Keeps a list of its decisions."""

    made: list[Decision] = field(default_factory=list, hash=False)

    def decide(self, arms: ActiveSet, draws: Draws) -> Decision:
        decision = super().decide(arms, draws)
        self.made.append(decision)
        return decision


@dataclass(frozen=True)
class Careless(IMOSS):
    """Serves the first row, whatever its state, and grows a space that is used up."""

    def decide(self, arms: ActiveSet, draws: Draws) -> Decision:
        del draws
        return Serve(0) if len(arms) and not arms.exhausted else Expand("oracle")


ROLLS = itertools.count()


@dataclass(frozen=True)
class Restless(IMOSS):
    """Goes round the arms by a count of its own."""

    def decide(self, arms: ActiveSet, draws: Draws) -> Decision:
        del draws
        return Serve(next(ROLLS) % len(arms))


class TestTheContractRefuses:
    contract = PolicyContract()

    def test_a_policy_with_a_memory(self) -> None:
        with pytest.raises(AssertionError, match="remembers"):
            self.contract.test_deciding_changes_nothing(Remembers())

    @pytest.mark.parametrize("situation", ["some paused or retired", "exhausted"])
    def test_a_policy_that_ignores_states_and_the_end_of_the_space(self, situation: str) -> None:
        check = PolicyContract.test_it_serves_active_arms_and_expands_only_where_it_can
        with pytest.raises(AssertionError) as caught:
            check(self.contract, Careless())
        assert caught.value.__notes__ == ["with situation = 'some paused or retired'"]
        with pytest.raises(AssertionError):
            inspect.unwrap(check)(self.contract, Careless(), situation)

    def test_a_policy_that_cannot_be_replayed(self) -> None:
        check = PolicyContract.test_the_same_view_and_draws_give_the_same_decision
        with pytest.raises(AssertionError, match="two answers"):
            inspect.unwrap(check)(self.contract, Restless(), "all pending")

    def test_a_policy_that_is_no_frozen_dataclass(self) -> None:
        class Plain(IMOSS):
            __slots__ = ("extra",)

            def __setattr__(self, name: str, value: object) -> None:
                object.__setattr__(self, name, value)

        with pytest.raises(pytest.fail.Exception):
            self.contract.test_it_is_a_frozen_dataclass(Plain())
