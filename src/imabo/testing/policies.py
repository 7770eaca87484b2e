"""The behavioural checks of a policy, for imabo's own and for yours.

Subclass ``PolicyContract`` in a test module and give it your policy::

    import pytest
    from imabo.testing import PolicyContract

    class TestMyPolicy(PolicyContract):
        @pytest.fixture
        def policy(self):
            return MyPolicy(beta=0.4)

pytest then runs every check on it. Give the fixture ``params`` to check several settings.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from imabo.arms import ActiveSet
from imabo.policies.base import Decision, Draws, Expand, Policy, Serve
from imabo.study import Study
from imabo.testing.extremes import EXTREMES
from imabo.testing.parts import check_is_frozen, check_round_trip, for_each, left_alone, repeated
from imabo.testing.situations import SITUATIONS, tiny_space

in_every_situation = for_each("situation", SITUATIONS)


class PolicyContract:
    """Checks that a policy is a pure, storable function and decides sensibly everywhere.

    Use it for a policy of your own: subclass it and override the fixture ``policy`` (see the
    module's docstring).

    Example:
        >>> import pytest
        >>> from imabo import policies
        >>> class TestMine(PolicyContract):
        ...     @pytest.fixture(params=[0.3, 0.5])
        ...     def policy(self, request):
        ...         return policies.IMOSS(beta=request.param)
    """

    @pytest.fixture
    def policy(self) -> Policy:
        """Override it: the policy to check."""
        raise NotImplementedError("a subclass of PolicyContract must provide the policy fixture")

    # --- a value --------------------------------------------------------------------------------

    def test_it_is_a_frozen_dataclass(self, policy: Policy) -> None:
        """Nobody can change a policy that a study was created with."""
        assert isinstance(policy, Policy)
        check_is_frozen(policy)

    def test_its_settings_survive_the_store(self, policy: Policy) -> None:
        """Its fields are JSON-safe and rebuild it."""
        check_round_trip(policy, "policy")

    # --- pure -----------------------------------------------------------------------------------

    @in_every_situation
    def test_the_same_view_and_draws_give_the_same_decision(
        self, policy: Policy, situation: str
    ) -> None:
        """Twice on one active set, and on an equal one: a log can be replayed."""
        repeated(SITUATIONS[situation], lambda arms: policy.decide(arms, Draws(3, 7)))
        repeated(SITUATIONS[situation], lambda arms: policy.scores(arms).tolist())

    @in_every_situation
    def test_deciding_changes_nothing(self, policy: Policy, situation: str) -> None:
        """Neither its input, nor itself, nor a global random stream."""
        arms = SITUATIONS[situation]()
        with left_alone(policy, arms):
            for number in range(20):
                policy.decide(arms, Draws(0, number))

    # --- sensible -------------------------------------------------------------------------------

    @in_every_situation
    def test_it_serves_active_arms_and_expands_only_where_it_can(
        self, policy: Policy, situation: str
    ) -> None:
        """Never a paused or retired arm; no growth of a space that is used up."""
        arms = SITUATIONS[situation]()
        for seed in range(20):
            check_decision(policy.decide(arms, Draws(seed, 1)), arms)

    @in_every_situation
    def test_every_row_has_a_score(self, policy: Policy, situation: str) -> None:
        """One number a row, servable or not, none of them NaN: oracles rank all arms by it."""
        arms = SITUATIONS[situation]()
        scores = policy.scores(arms)
        assert scores.shape == (len(arms),)
        assert not np.isnan(scores).any()

    @in_every_situation
    def test_it_can_serve_when_the_oracle_has_nothing_new(
        self, policy: Policy, situation: str
    ) -> None:
        """``serve`` picks an active arm in rounds where no arm could be admitted."""
        arms = SITUATIONS[situation]()
        if arms.n_servable:
            check_decision(policy.serve(arms, Draws(0, 1)), arms)

    @for_each("extreme", EXTREMES)
    def test_it_decides_whatever_the_size_of_the_rewards(
        self, policy: Policy, extreme: str
    ) -> None:
        """Scores that are numbers, and decisions, one by one and in a row; overflow is an error."""
        arms = EXTREMES[extreme]()
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            assert not np.isnan(policy.scores(arms)).any()
            rounds = policy.rounds(arms, 20)
            for number in range(20):
                check_decision(policy.decide(arms, Draws(0, number)), arms)
                served = rounds.serve(Draws(0, number))
                check_decision(served, arms)
                arms.count_pull(served.row)

    def test_a_single_arm_of_a_full_space_is_served_for_ever(self, policy: Policy) -> None:
        """The only active arm, whatever its rewards."""
        arms = SITUATIONS["exhausted, one active"]()
        for number in range(50):
            decision = policy.decide(arms, Draws(0, number))
            assert isinstance(decision, Serve)
            assert decision.row == 1

    def test_the_best_of_three_arms_is_served_most(self, policy: Policy) -> None:
        """In a study of 300 rounds whose only good configuration is plain to see."""
        study = Study.create("best-of-three", tiny_space(), policy=policy, seed=5)
        served: Counter[Any] = Counter()
        for _ in range(300):
            pull = study.ask()
            prompt = pull.config["prompt"]
            served[prompt] += 1
            study.tell(pull.id, float(prompt == "b"))
        assert served.most_common(1)[0][0] == "b", f"served {dict(served)}"


def check_decision(decision: Decision, arms: ActiveSet) -> None:
    """A decision that a study can carry out on this active set."""
    if isinstance(decision, Serve):
        assert 0 <= decision.row < len(arms), f"row {decision.row} of {len(arms)}"
        assert arms.servable[decision.row], f"row {decision.row} is {arms.state_of(decision.row)}"
    else:
        assert isinstance(decision, Expand), f"{decision!r} is no decision"
        assert decision.source in ("warmup", "oracle")
        if arms.exhausted:
            assert not arms.n_servable, "the space has no other configuration to admit"
