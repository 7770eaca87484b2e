"""Confidence sequences: by hand, the same however fed, and right at all moments together."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from imabo.errors import InvalidReward, InvalidSetting
from imabo.evaluation import Asymptotic, Bernstein, Betting
from imabo.evaluation.bets import SIZES, log_capital, log_gains, log_weights, reach

KINDS: list[type[Any]] = [Betting, Bernstein, Asymptotic]
BOUNDED: list[type[Any]] = [Betting, Bernstein]


@pytest.mark.parametrize("kind", KINDS)
class TestEach:
    def test_one_by_one_is_all_at_once(self, kind: type[Any]) -> None:
        scores = np.random.default_rng(0).random(150)
        at_once = kind().update(scores)
        parts = kind().update(scores[:7]).update(scores[7:8]).update([]).update(scores[8:])
        one_by_one = kind()
        for score in scores.tolist():
            one_by_one = one_by_one.update([score])
        assert at_once == parts == one_by_one
        assert at_once.n == 150
        assert at_once.mean == pytest.approx(scores.mean())

    def test_a_document_brings_it_back(self, kind: type[Any]) -> None:
        before = kind(0.9).update([0.2, 0.7, 0.4])
        text = json.dumps(before.to_dict(), allow_nan=False)
        assert len(text) < 3000
        after = kind.from_dict(json.loads(text))
        assert after == before
        assert after.update([0.1]) == before.update([0.1])

    def test_the_running_interval_is_inside(self, kind: type[Any]) -> None:
        sequence = kind().update(np.random.default_rng(1).random(400))
        low, high = sequence.interval
        assert low <= sequence.running[0] < sequence.running[1] <= high

    def test_a_higher_level_is_wider(self, kind: type[Any]) -> None:
        scores = np.random.default_rng(2).random(300)
        (low, high), (lower, higher) = (kind(x).update(scores).interval for x in (0.9, 0.99))
        assert lower < low < high < higher

    @pytest.mark.parametrize("score", [math.nan, math.inf])
    def test_it_takes_only_numbers(self, kind: type[Any], score: float) -> None:
        with pytest.raises(InvalidReward, match="finite"):
            kind().update([score])

    def test_the_level_is_a_probability(self, kind: type[Any]) -> None:
        with pytest.raises(InvalidSetting, match="level"):
            kind(1.0)


@pytest.mark.parametrize("kind", BOUNDED)
class TestBounded:
    def test_without_a_score_it_is_everything(self, kind: type[Any]) -> None:
        assert kind().interval == (0.0, 1.0)
        assert kind().mean is None

    @pytest.mark.parametrize("score", [-0.1, 1.5])
    def test_it_takes_only_scores_in_its_range(self, kind: type[Any], score: float) -> None:
        with pytest.raises(InvalidReward, match=r"\[0, 1\]"):
            kind().update([0.5, score])

    @pytest.mark.parametrize("p", [0.5, 0.05])
    def test_it_is_rarely_ever_wrong(self, kind: type[Any], p: float) -> None:
        rng = np.random.default_rng(3)
        wrong = 0
        for _ in range(100):
            low, high = kind().update((rng.random(200) < p).astype(float)).running
            wrong += not low <= p <= high
        assert wrong <= 9  # 5 % and two standard errors


def test_betting_holds_for_the_average_of_means_that_change() -> None:
    rng = np.random.default_rng(4)
    means = np.concatenate((np.full(150, 0.2), np.full(150, 0.8)))
    wrong = 0
    for _ in range(60):
        low, high = Betting().update((rng.random(300) < means).astype(float)).interval
        wrong += not low <= 0.5 <= high
    assert wrong <= 6


def test_betting_is_tighter_than_bernstein() -> None:
    scores = (np.random.default_rng(5).random(3000) < 0.3).astype(float)
    (low, high), (lower, higher) = (kind().update(scores).interval for kind in BOUNDED)
    assert high - low < 0.85 * (higher - lower)


def test_bernstein_by_hand() -> None:
    # lambda_1 = min(1/2, sqrt(2 ln 40 / (1/4 ln 2))) = 1/2; psi(1/2) = ln 2 - 1/2; mean before 1/2.
    cost = 0.25 * (math.log(2.0) - 0.5)
    half = (math.log(40.0) + cost) / 0.5
    sequence = Bernstein().update([1.0])
    assert sequence.bets == 0.5
    assert sequence.cost == pytest.approx(cost)
    assert sequence.interval == (max(1.0 - half, 0.0), 1.0)


def test_the_capital_reaches_its_limit_where_reach_says() -> None:
    rng = np.random.default_rng(6)
    z = rng.normal(0.1, 0.2, 500).clip(-0.5, 0.5)
    higher, lower = log_gains(z, np.full(500, 0.5), np.full(500, 0.5))
    gains = np.array([higher.sum(axis=0), lower.sum(axis=0)])
    weights = log_weights(0.04, 0.5, 500.0)
    far = reach(gains, np.array([500.0, 500.0]), weights, 4.0)
    assert log_capital(gains, 500.0 * far, weights) == pytest.approx(4.0, abs=1e-9)
    assert far[0] < 0.0 < far[1]  # the scores are above their centre: the lower end is, too


def test_a_bet_that_could_lose_all_is_ruined() -> None:
    higher, lower = log_gains(np.array([0.1]), np.array([2.0]), np.array([0.2]))
    assert (higher[0][SIZES * 2.0 > 0.99] < -1e5).all()
    assert np.allclose(lower[0], np.log1p(-0.1 * SIZES))


def test_weights_are_a_distribution_over_the_bets_that_are_allowed() -> None:
    weights = np.exp(log_weights(0.25, 4.0, 1000.0))
    assert weights.sum() == pytest.approx(1.0)
    assert (weights[SIZES * 4.0 > 0.99] == 0.0).all()
    assert SIZES[np.argmax(weights)] == pytest.approx(math.sqrt(10.0 / 250.0), rel=0.25)


def test_the_asymptotic_one_says_nothing_below_two() -> None:
    assert Asymptotic().update([3.0]).interval == (-math.inf, math.inf)
    assert json.dumps(Asymptotic().update([3.0]).to_dict(), allow_nan=False)
