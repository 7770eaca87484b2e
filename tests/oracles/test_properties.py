"""On any space, proposals are valid and new."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from imabo.arms import ActiveSet, Restart
from imabo.oracles import Exhausted, Oracle, Proposal
from imabo.space import Space
from imabo.testing.oracles import check_proposal
from tests.space.strategies import random_spaces

from .cases import ORACLES

ROUNDS = 14


def grow(oracle: Oracle, space: Space, seed: int, is_changed: bool) -> None:
    """Admit some proposals with random rewards, checking each."""
    rng = np.random.default_rng(seed)
    arms = ActiveSet(space)
    for arm in range(1, ROUNDS + 1):
        if is_changed and arm == ROUNDS // 2:
            arms.restart = Restart(arms.totals.n_pulls, arms.totals.n_rewards, 0, len(arms))
        proposal = oracle.propose(arms, arms.known_means(), rng)
        if isinstance(proposal, Exhausted):
            # A continuum a few floats wide is not counted as finite, but it can be used up.
            assert arms.exhausted or all(space.sample(rng) in arms for _ in range(100))
            return
        check_proposal(proposal, arms)
        assert isinstance(proposal, Proposal)
        row = arms.admit(arm, proposal.config, mutated=proposal.mutated)
        arms.count_pull(row)
        if rng.random() < 0.8:
            arms.count_reward(row, float(rng.random()), was_pending=True)


@pytest.mark.parametrize("oracle", ORACLES.values(), ids=ORACLES)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    space=st.one_of(random_spaces(), random_spaces(small=True)),
    seed=st.integers(0, 2**32 - 1),
    is_changed=st.booleans(),
)
def test_proposals_are_valid_and_new(
    oracle: Oracle, space: Space, seed: int, is_changed: bool
) -> None:
    grow(oracle, space, seed, is_changed)
