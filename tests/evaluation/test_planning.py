"""What a plan says comes true."""

from __future__ import annotations

import pytest

from imabo.errors import InvalidSetting
from imabo.evaluation import Lift, plan
from tests.evaluation.test_lift import traffic


@pytest.mark.parametrize(("share", "reward"), [(0.1, 0.5), (0.3, 0.8), (0.2, 0.05)])
def test_the_width_after_so_many_rewards_is_the_planned_one(share: float, reward: float) -> None:
    found = plan(share, reward, 0.08)
    now = Lift().update(traffic(found.rewards, reward, reward, share)).estimate()
    assert now.half_width == pytest.approx(0.08, rel=0.12)
    assert found.half_width <= 0.08
    assert found.control_rewards == round(share * found.rewards)


def test_smaller_lifts_and_smaller_shares_need_more() -> None:
    few = plan(0.2, 0.6, 0.05)
    assert plan(0.2, 0.6, 0.025).rewards > 3 * few.rewards
    assert plan(0.05, 0.6, 0.05).rewards > 2 * few.rewards
    assert plan(0.2, 0.6, 0.05, level=0.99).rewards > few.rewards
    assert plan(0.2, 0.6, 0.05, feedback_rate=0.4).requests == pytest.approx(
        2.5 * few.rewards, abs=1
    )


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("share", (1.0, 0.5, 0.1)),
        ("reward", (0.1, 0.0, 0.1)),
        ("detect", (0.1, 0.5, 0.0)),
        ("half_width", (0.1, 0.5, 1e-9)),
    ],
)
def test_what_cannot_be_planned(name: str, arguments: tuple[float, float, float]) -> None:
    with pytest.raises(InvalidSetting, match=name):
        plan(*arguments)


def test_no_feedback_no_plan() -> None:
    with pytest.raises(InvalidSetting, match="feedback_rate"):
        plan(0.1, 0.5, 0.1, feedback_rate=0.0)
