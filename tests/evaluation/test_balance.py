"""Whether the groups' feedback rates differ, at every moment."""

from __future__ import annotations

import json

import numpy as np
import pytest

from imabo.evaluation import FeedbackBalance, Outcome


def rewards(n: int, share: float, ratio: float, seed: int) -> list[Outcome]:
    """Rewards when the control's feedback comes ``ratio`` times as often as the tuned side's."""
    rng = np.random.default_rng(seed)
    odds = share / (1.0 - share) * ratio
    return [Outcome(0.0, bool(c), share) for c in rng.random(n) < odds / (1.0 + odds)]


def test_rates_that_are_the_same_are_hardly_ever_said_to_differ() -> None:
    found = [FeedbackBalance().update(rewards(600, 0.1, 1.0, seed)).differs for seed in range(20)]
    assert sum(found) <= 1


@pytest.mark.parametrize("ratio", [0.6, 1.6])
def test_rates_that_differ_clearly_are_found(ratio: float) -> None:
    balance = FeedbackBalance().update(rewards(4000, 0.1, ratio, 1))
    assert balance.differs
    assert balance.ratio == pytest.approx(ratio, rel=0.25)


def test_a_share_that_changes_is_no_difference() -> None:
    outcomes = rewards(1000, 0.05, 1.0, 2) + rewards(1000, 0.5, 1.0, 3)
    balance = FeedbackBalance().update(outcomes)
    assert not balance.differs
    assert balance.ratio == pytest.approx(1.0, abs=0.15)


def test_a_document_brings_it_back() -> None:
    before = FeedbackBalance().update(rewards(50, 0.2, 1.0, 4))
    after = FeedbackBalance.from_dict(json.loads(json.dumps(before.to_dict(), allow_nan=False)))
    assert after == before
    assert FeedbackBalance().ratio is None


def test_requests_without_a_choice_are_left_out() -> None:
    assert FeedbackBalance().update([Outcome(1.0, True, 1.0)]) == FeedbackBalance()
