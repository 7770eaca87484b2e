"""What serving at random would give."""

from __future__ import annotations

import numpy as np
import pytest

from imabo.errors import InvalidReward, InvalidSetting
from imabo.evaluation import random_serving
from tests.evaluation.worlds import run


def test_too_little_is_not_known_yet_and_says_how_much_more() -> None:
    nothing = random_serving([])
    assert (nothing.mean, nothing.interval, nothing.is_known) == (None, None, False)
    few = random_serving([1.0, 0.0, 0.0, 1.0])
    assert few.mean is None
    assert few.interval is not None
    enough = random_serving([1.0, 0.0, 0.0, 1.0], n_control=few.n_more, control_sum=few.n_more / 2)
    assert enough.is_known
    assert enough.n_more == 0
    almost = few.n_more * 3 // 4
    assert not random_serving([1.0, 0.0], n_control=almost, control_sum=almost / 2).is_known


def test_what_the_rewards_were_does_not_decide_when_they_are_shown() -> None:
    """All zeros have a narrow interval early; means that are shown for that would be too low."""
    needed = random_serving([]).n_more
    for total in (0.0, 0.5, 1.0):
        almost = random_serving([], n_control=needed - 1, control_sum=total * (needed - 1))
        assert (almost.mean, almost.n_more) == (None, 1)
        assert random_serving([], n_control=needed, control_sum=total * needed).mean == total


def test_a_random_control_counts() -> None:
    found = random_serving([0.0, 1.0], n_control=998, control_sum=299.0)
    assert found.n == 1000
    assert found.mean == pytest.approx(0.3)
    assert found.interval is not None
    assert found.interval[0] < 0.3 < found.interval[1]


def test_it_covers_at_all_moments() -> None:
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(40):
        rewards = (rng.random(60) < rng.beta(2.0, 4.0, 60)).astype(float)  # another arm each time
        for n in range(3, 61, 8):
            low, high = random_serving(rewards[:n]).interval or (0.0, 1.0)
            if not low <= 1 / 3 <= high:
                wrong += 1
                break
    assert wrong <= 4


def test_the_first_rewards_of_studies_are_not_too_low() -> None:
    """The mean of the arms' means was 0.17 where the truth was 0.33."""
    first, truths, covered = [], [], []
    for seed in range(12):
        (moment,) = run("40 prompts", "IMOSS", 6000 + seed, (40,))
        first += moment.first_rewards
        truths.append(moment.at_random)
        low, high = random_serving(moment.first_rewards).interval or (0.0, 1.0)
        covered.append(low <= moment.at_random <= high)
    assert np.mean(first) == pytest.approx(np.mean(truths), abs=0.15)
    assert sum(covered) >= 11


def test_without_a_range() -> None:
    rng = np.random.default_rng(1)
    rewards = rng.normal(7.0, 1.0, 50)
    found = random_serving(rewards, is_bounded=False)
    assert found.mean == pytest.approx(7.0, abs=0.5)
    assert random_serving(rewards[:5], is_bounded=False).n_more == 25


def test_what_is_refused() -> None:
    with pytest.raises(InvalidReward, match=r"\[0, 1\]"):
        random_serving([2.0])
    with pytest.raises(InvalidSetting, match="control_sum"):
        random_serving([], n_control=3, control_sum=4.0)
