"""Every method, found by name, keeps what a player promises."""

from __future__ import annotations

import pytest

from imabo.errors import InvalidSetting
from imabo_bench.methods import method_names, open_method
from imabo_bench.methods.ab_test import ABTest
from imabo_bench.methods.base import Method
from imabo_bench.methods.budgeted import Budgeted
from imabo_bench.methods.instant import InstantPlayer
from imabo_bench.methods.late import LatePlayer
from imabo_bench.methods.study import StudyMethod
from imabo_bench.methods.thompson import Thompson
from imabo_bench.methods.tpe_k import TPEK
from imabo_bench.problems.base import Problem
from imabo_bench.testing import LateFeedbackContract, MethodContract
from imabo_bench.testing.methods import ROUNDS, TOY
from imabo_bench.testing.small import FENCED

SLOW = {
    "tpe-1",
    "imoss-tabpfn",
    "imabo",
    "imabo-still",
    "imabo-control-5",
    "imabo-control-10",
}  # they fit a model for each arm
TREES = {"stosoo", "hoo-t", "stroquool"}
LATE = [
    n for n in method_names() if isinstance(open_method(n), ABTest | Thompson | TPEK | Budgeted)
]
INSTANT = [
    n for n in method_names() if n not in LATE and not isinstance(open_method(n), StudyMethod)
]


def rounds_of(method: Method, problem: Problem) -> int:
    """Slow methods play the spaces with conditions and the small one in full."""
    return 60 if method.name in SLOW and problem in (TOY, FENCED) else ROUNDS


class TestEveryMethod(MethodContract):
    @pytest.fixture(params=method_names())
    def method(self, request: pytest.FixtureRequest) -> Method:
        return open_method(request.param)

    def rounds(self, method: Method, problem: Problem) -> int:
        return rounds_of(method, problem)

    def ends(self, method: Method) -> bool:
        return method.name == "stroquool"

    def refuses(self, method: Method, problem: Problem) -> bool:
        """Tree searches refuse forbidden combinations: see test_pyxab."""
        return method.name in TREES and problem is FENCED


class TestLateFeedback(LateFeedbackContract):
    @pytest.fixture(
        params=["ab-test", "thompson-10", "thompson-50", "tpe-1", "tpe-10", "pacing-kl"]
    )
    def method(self, request: pytest.FixtureRequest) -> Method:
        return open_method(request.param)

    def rounds(self, method: Method, problem: Problem) -> int:
        return rounds_of(method, problem)


@pytest.mark.parametrize("name", INSTANT)
def test_methods_for_instant_feedback_refuse_any_other(name: str) -> None:
    player = open_method(name).start(TOY, rounds=ROUNDS, seed=0)
    assert isinstance(player, InstantPlayer)
    served = player.ask()
    assert served is not None
    with pytest.raises(InvalidSetting, match="no reward yet"):
        player.ask()
    with pytest.raises(InvalidSetting, match="nonsense"):
        player.tell("nonsense", 1.0)
    player.tell(served.key, 1.0)
    with pytest.raises(InvalidSetting, match="one reward"):
        player.tell(served.key, 1.0)


@pytest.mark.parametrize("name", LATE)
def test_methods_for_late_feedback_take_each_reward_once(name: str) -> None:
    player = open_method(name).start(TOY, rounds=ROUNDS, seed=0)
    assert isinstance(player, LatePlayer)
    first, second = player.ask(), player.ask()
    assert first.key != second.key
    with pytest.raises(InvalidSetting, match="nonsense"):
        player.tell("nonsense", 1.0)
    player.tell(second.key, 1.0)
    assert player.recommend() == second.config
    player.tell(first.key, 0.0)
    with pytest.raises(InvalidSetting, match="waits"):
        player.tell(first.key, 0.0)
