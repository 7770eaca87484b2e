"""The behavioural checks of an oracle, for imabo's own and for yours.

Subclass ``OracleContract`` in a test module and give it your oracle::

    import pytest
    from imabo.testing import OracleContract

    class TestMyOracle(OracleContract):
        @pytest.fixture
        def oracle(self):
            return MyOracle()

pytest then runs every check on it. Give the fixture ``params`` to check several settings.
"""

from __future__ import annotations

import json
from typing import get_args

import numpy as np
import pytest

from imabo import policies
from imabo.arms import ActiveSet, Floats, Origin
from imabo.oracles.base import Exhausted, Oracle, Proposal
from imabo.testing.extremes import EXTREMES
from imabo.testing.parts import check_is_frozen, check_round_trip, for_each, left_alone, repeated
from imabo.testing.situations import SITUATIONS, SPACES, noisy_set

FINITE = [name for name, build in SPACES.items() if build().n_configs is not None]

in_every_situation = for_each("situation", SITUATIONS)
in_every_space = for_each("space", SPACES)


class OracleContract:
    """Checks that an oracle is a pure, storable function whose proposals are valid and new.

    Use it for an oracle of your own: subclass it and override the fixture ``oracle`` (see the
    module's docstring).

    Example:
        >>> import pytest
        >>> from imabo import oracles
        >>> class TestMine(OracleContract):
        ...     @pytest.fixture(params=[0.1, 0.3])
        ...     def oracle(self, request):
        ...         return oracles.TPE(gamma=request.param)
    """

    @pytest.fixture
    def oracle(self) -> Oracle:
        """Override it: the oracle to check."""
        raise NotImplementedError("a subclass of OracleContract must provide the oracle fixture")

    # --- a value --------------------------------------------------------------------------------

    def test_it_is_a_frozen_dataclass(self, oracle: Oracle) -> None:
        """Nobody can change an oracle that a study was created with."""
        assert isinstance(oracle, Oracle)
        check_is_frozen(oracle)

    def test_its_settings_survive_the_store(self, oracle: Oracle) -> None:
        """Its fields are JSON-safe and rebuild it, parts inside included."""
        check_round_trip(oracle, "oracle")

    # --- pure -----------------------------------------------------------------------------------

    @in_every_situation
    def test_the_same_view_and_stream_give_the_same_proposal(
        self, oracle: Oracle, situation: str
    ) -> None:
        """Twice on one active set, and on an equal one: a log can be replayed."""
        repeated(SITUATIONS[situation], lambda arms: propose(oracle, arms, seed=7))

    @in_every_situation
    def test_proposing_changes_nothing(self, oracle: Oracle, situation: str) -> None:
        """Neither its input, nor itself, nor a global random stream."""
        arms = SITUATIONS[situation]()
        scores = arms.known_means().copy()
        with left_alone(oracle, arms):
            for seed in range(3):
                propose(oracle, arms, seed=seed, scores=scores)
        assert (scores == arms.known_means()).all(), "it changed the scores"

    # --- valid and new --------------------------------------------------------------------------

    @in_every_situation
    def test_a_proposal_is_valid_and_new(self, oracle: Oracle, situation: str) -> None:
        """Whatever the arms, paused and retired ones included."""
        arms = SITUATIONS[situation]()
        for seed in range(5):
            check_proposal(propose(oracle, arms, seed=seed), arms)

    @in_every_space
    @pytest.mark.parametrize("n_arms", [0, 2, 30])
    def test_it_copes_with_every_kind_of_space(
        self, oracle: Oracle, space: str, n_arms: int
    ) -> None:
        """One parameter, thirty, choices only, constants; before it learns and after."""
        arms = noisy_set(SPACES[space](), n_arms)
        for seed in range(5):
            check_proposal(propose(oracle, arms, seed=seed), arms)

    @pytest.mark.parametrize("score", [0.0, 1e9, np.inf])
    def test_it_copes_with_equal_scores(self, oracle: Oracle, score: float) -> None:
        """As a policy gives them at the start of a phase."""
        arms = noisy_set(SPACES["conditional"](), 30)
        check_proposal(propose(oracle, arms, seed=0, scores=np.full(len(arms), score)), arms)

    @for_each("space", FINITE)
    def test_it_uses_a_finite_space_up_and_then_says_so(self, oracle: Oracle, space: str) -> None:
        """Each configuration once, then ``Exhausted``, and again ``Exhausted``."""
        arms = ActiveSet(SPACES[space]())
        rng = np.random.default_rng(4)
        for arm in range(1, (arms.space.n_configs or 0) + 1):
            proposal = propose(oracle, arms, seed=arm)
            check_proposal(proposal, arms)
            assert isinstance(proposal, Proposal)
            row = arms.admit(arm, proposal.config, mutated=proposal.mutated)
            if proposal.beliefs is not None:
                arms.put_beliefs(proposal.beliefs)
            arms.count_pull(row)
            if arm % 4:  # some rewards stay out
                arms.count_reward(row, float(rng.integers(2)), was_pending=True)
        for seed in range(3):
            assert propose(oracle, arms, seed=seed) == Exhausted()

    @for_each("extreme", EXTREMES)
    def test_it_proposes_whatever_the_size_of_the_rewards(
        self, oracle: Oracle, extreme: str
    ) -> None:
        """Also from scores as large as the rewards; what it expects is made of numbers."""
        arms = EXTREMES[extreme]()
        for seed in range(3):
            check_proposal(propose(oracle, arms, seed=seed), arms)
        scores = policies.Informed().scores(arms)
        check_proposal(propose(oracle, arms, seed=3, scores=scores), arms)


def propose(
    oracle: Oracle, arms: ActiveSet, *, seed: int, scores: Floats | None = None
) -> Proposal | Exhausted:
    """One proposal from a seed; the scores are the means when none are given."""
    if scores is None:
        scores = arms.known_means()
    return oracle.propose(arms, scores, np.random.default_rng(seed))


def check_proposal(proposal: Proposal | Exhausted, arms: ActiveSet) -> None:
    """A proposal that a study can admit to this active set; ``Exhausted`` if there is none."""
    if arms.exhausted:
        assert proposal == Exhausted()
        return
    assert isinstance(proposal, Proposal), f"{proposal!r}, but the space is not used up"
    config = proposal.config
    assert arms.space.validate(config) == config
    assert not arms.space.is_forbidden(config)
    assert config not in arms, f"{config} is an arm already"
    assert json.loads(json.dumps(config, allow_nan=False)) == config
    assert proposal.origin in get_args(Origin)
    assert proposal.parent is None or arms.row_of(proposal.parent) is not None
    assert proposal.mutated is None or proposal.mutated in config
    if proposal.beliefs is not None:
        # Raises when they are not about the rows and the proposed configuration, or not numbers.
        document = proposal.beliefs.document([*arms.ids.tolist(), 0])
        assert document["state"] == proposal.beliefs.state, "state changes when it is stored"
