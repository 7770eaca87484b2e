"""Random, and the P0 draw that every oracle falls back on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kstest

from imabo import Choice, Float, Int, Space
from imabo.oracles import Exhausted, Random
from imabo.oracles.base import fresh_pool

from .sets import grown, proposals, sampled


def test_proposals_follow_p0_whatever_the_rewards() -> None:
    arms = sampled(Space(x=Float(0, 1)), 30, lambda config: float(config["x"] or 0.0))
    made = [float(p.config["x"] or 0.0) for p in proposals(Random(), arms, 400)]
    assert kstest(made, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("left", [0, 4711, 9999])
def test_the_last_configuration_of_a_finite_space_is_found(left: int) -> None:
    space = Space(k=Int(0, 9999))
    arms = grown(space, (({"k": k}, 0.5, 0, None) for k in range(10_000) if k != left))
    (proposal,) = proposals(Random(), arms, 1)
    assert proposal.config == {"k": left}


def test_the_one_rare_branch_with_a_continuum_is_found() -> None:
    """199 of 200 values are taken, and the space cannot be listed."""
    space = Space(k=Choice(*range(200)), x=Float(0, 1, when={"k": 77}))
    arms = grown(space, (({"k": k}, 0.5, 0, None) for k in range(200) if k != 77))
    for proposal in proposals(Random(), arms, 20):
        assert proposal.config["k"] == 77


def test_a_continuum_of_two_floats_is_used_up_without_an_error() -> None:
    space = Space(x=Float(1.0, math.nextafter(1.0, 2.0)))
    rng = np.random.default_rng(0)
    found = {space.identity(config): config for config in (space.sample(rng) for _ in range(100))}
    rows = ((config, 0.5, 1, None) for config in found.values())
    arms = grown(space, rows)
    assert Random().propose(arms, arms.means, rng) == Exhausted()


@pytest.mark.slow
def test_of_a_finite_space_too_entangled_to_count_some_are_drawn() -> None:
    """About 10^9 configurations, though ``n_configs`` does not know it."""
    names, rng = [f"p{i}" for i in range(16)], np.random.default_rng(1)
    clauses = [
        {str(name): int(rng.integers(4)) for name in rng.choice(names, size=3, replace=False)}
        for _ in range(60)
    ]
    space = Space({name: Choice(0, 1, 2, 3) for name in names}, forbid=clauses)
    assert space.n_configs is None
    listed = fresh_pool(grown(space, [(space.sample(rng), 0.5, 1, None)]), rng)
    assert 90 <= len({space.identity(config) for config in listed}) == len(listed) <= 100
    assert all(space.allows(config) for config in listed)
