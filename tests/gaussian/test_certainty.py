"""Rewards without a range: how sure the model is, and what follows from that."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from imabo.arms import ActiveSet, Beliefs
from imabo.gaussian.kernel import Points
from imabo.gaussian.process import Hyperparameters, Process
from imabo.gaussian.surface import Surface
from imabo.oracles import GP
from imabo.space import Config

from .samples import LINE

N_ARMS = 30
SEEDS = range(5)


def arms_of(kind: str, seed: int, ends: tuple[float, float] | None = None) -> ActiveSet:
    """Thirty arms on a line with ten noisy rewards each, of a smooth or a scattered surface."""
    rng = np.random.default_rng(seed)
    places = rng.random(N_ARMS)
    scattered = rng.choice([0.25, 0.75], N_ARMS)
    means = 0.5 + 0.3 * np.sin(5.0 * places) if kind == "smooth" else scattered
    rewards = np.clip(means[:, None] + rng.normal(0.0, 0.1, (N_ARMS, 10)), 0.0, 1.0)
    configs: list[Config] = [{"x": place} for place in places.tolist()]
    tried = list(zip(configs, rewards.tolist(), strict=True))
    return ActiveSet.from_rewards(LINE, tried, reward_range=ends)


def believed(arms: ActiveSet) -> Beliefs:
    return Surface(arms).beliefs(np.array([[0.5]]), np.array([[True]]))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_smooth_surface_convinces_it_and_scattered_arms_do_not(seed: int) -> None:
    assert Surface(arms_of("smooth", seed)).certainty > 0.99
    assert Surface(arms_of("scattered", seed)).certainty < 0.5


def test_with_a_range_it_is_always_sure() -> None:
    assert Surface(arms_of("scattered", 0, ends=(0.0, 1.0))).certainty == 1.0


def test_evidence_is_the_difference_of_two_log_posteriors() -> None:
    values, noise = np.random.default_rng(2).standard_normal(6), np.full(6, 0.3)
    points = Points(np.linspace(0.0, 1.0, 6)[:, None], np.array([False]))
    squares = float(((values - values.mean()) ** 2).sum())

    def unrelated(spread: float) -> float:
        variance = np.exp(spread) + 0.3
        return 0.5 * float(squares / variance + 6.0 * np.log(variance))

    # Without a signal, the process is the other explanation with a variance of its own.
    silent = Hyperparameters((-1.0,), signal=-40.0, own=0.5)
    penalty = silent.as_array() - Hyperparameters.prior(1).as_array()
    best = min(unrelated(s) + 0.5 * s * s for s in np.linspace(-4.0, 4.0, 8001))
    expected = best - unrelated(0.5) - 0.5 * float(penalty @ penalty)
    assert_allclose(Process.evidence(points, values, noise, silent), expected, atol=1e-5)


def test_little_is_expected_of_any_arm_while_it_is_not_sure() -> None:
    arms = arms_of("scattered", 0)
    surface = Surface(arms)
    counts = believed(arms).counts
    as_sure = believed(arms_of("scattered", 0, ends=(0.0, 1.0))).counts
    assert surface.certainty < 0.5
    assert counts.mean() < 0.5 * as_sure.mean()


def test_it_remembers_its_evidence_until_it_searches_again() -> None:
    arms = arms_of("smooth", 0)
    first = Surface(arms)
    arms.put_beliefs(Beliefs(np.zeros(N_ARMS), np.zeros(N_ARMS), believed(arms).state))
    assert Surface(arms).certainty == first.certainty
    forgotten = {k: v for k, v in believed(arms).state.items() if k != "evidence"}
    arms.put_beliefs(Beliefs(np.zeros(N_ARMS), np.zeros(N_ARMS), forgotten))
    assert Surface(arms).certainty < first.certainty  # as a study of an earlier version has it


@pytest.mark.parametrize(("kind", "least", "most"), [("smooth", 0, 1), ("scattered", 10, 20)])
def test_mutate_proposes_while_it_is_not_sure(kind: str, least: int, most: int) -> None:
    arms = arms_of(kind, 0)
    proposals = [
        GP(epsilon=0.0).propose(arms, arms.means, np.random.default_rng(i)) for i in range(20)
    ]
    by_mutate = [p for p in proposals if getattr(p, "mutated", None) is not None]
    assert least <= len(by_mutate) <= most
    assert all(getattr(p, "beliefs", None) is not None for p in proposals)
