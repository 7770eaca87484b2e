"""Signals and objectives as they are declared: what is taken, and what is refused with a reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from imabo import Choice, Float, Limit, Objective, Signal, Space, Study
from imabo.client.telling import checked_signals
from imabo.errors import InvalidSetting, InvalidSignal
from imabo.objective import check_prices, objective_document, signals_document

SPACE = Space(model=Choice("small", "large"), temperature=Float(0.0, 2.0))
COST = {"cost": Signal(low=0.0)}


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({"objective": {"budget": {"cost": 0.5}}}, "write 'budgets'"),
        ({"objective": {"budgets": {"cost": 0.5}, "limit": []}}, "write 'limits'"),
        ({"objective": {"limits": [{"signal": "cost", "abov": 1.0, "share": 0.1}]}}, "'above'"),
        ({"signals": {"cost": {"lo": 0.0}}}, "write 'low'"),
        ({"signals": {"cost": {"price": 0.0}}}, "it takes 'low', 'high', 'unit', 'known'"),
    ],
)
def test_a_wrong_name_is_not_passed_over(settings: dict[str, Any], hint: str) -> None:
    with pytest.raises(InvalidSetting, match=hint):
        Study.create("s", SPACE, **{"signals": COST} | settings)


def test_an_objective_is_updated_by_its_right_names_only() -> None:
    study = Study.create("s", SPACE, signals=COST)
    with pytest.raises(InvalidSetting, match="budgets"):
        study.update(objective={"budget": {"cost": 0.5}})
    assert study.objective is None


def test_what_was_stored_by_this_version_or_before_still_opens() -> None:
    told = signals_document({"cost": {"low": 0.0, "unit": "$"}})
    assert signals_document(told) == told
    goal = objective_document({"budgets": {"cost": 1.0}}, told)
    assert goal is not None
    assert objective_document(goal, told) == goal
    assert Objective.restore({"budgets": {"cost": 1.0}}).constraints[0].budget == 1.0
    assert Signal.restore({"low": 0.0, "of_a_later_version": 1}) == Signal(low=0.0)


@pytest.mark.parametrize(
    "value", [np.float32(0.5), np.float64(0.5), np.int64(1), np.bool_(True), True, 1]
)
def test_a_signal_is_any_number_that_a_reward_is(value: Any) -> None:
    study = Study.create("s", SPACE, signals=COST)
    pull = study.ask()
    study.tell(pull.id, value, signals={"cost": value})
    assert study.pull(pull.id).signals == {"cost": float(value)}
    assert checked_signals({"cost": value}) == {"cost": float(value)}


@pytest.mark.parametrize("value", ["1", None, float("nan"), 10**400, 1j, np.float32("inf")])
def test_what_is_no_number_is_no_signal(value: Any) -> None:
    with pytest.raises(InvalidSignal):
        Signal().checked("cost", value)
    with pytest.raises(InvalidSignal):
        checked_signals({"cost": value})


@pytest.mark.parametrize("limits", [Limit("s", 1.0, 0.1), 5, {"s": 1.0}, ["s > 1"]])
def test_limits_are_a_list_of_limits(limits: Any) -> None:
    with pytest.raises(InvalidSetting, match="limits is"):
        Objective(limits=limits)


@pytest.mark.parametrize("signal", [5, None, "", "two words"])
def test_a_limit_is_of_a_named_signal(signal: Any) -> None:
    with pytest.raises(InvalidSetting, match="signal is"):
        Limit(signal, 2.0, 0.1)


def test_a_function_is_no_price_list_and_is_told_why() -> None:
    with pytest.raises(InvalidSetting, match="replay"):
        Signal(known=lambda config: 1.0)  # type: ignore[arg-type]


def test_a_price_list_is_within_the_signals_own_ends() -> None:
    def check(prices: dict[str, Any], **ends: Any) -> None:
        check_prices(signals_document({"cost": Signal(known=prices, **ends)}), SPACE)

    models = {"small": -1.0, "large": 1.0}
    with pytest.raises(InvalidSetting, match="low, 0"):
        check({"model": models}, low=0.0)
    with pytest.raises(InvalidSetting, match="high, 2"):
        check({"model": models, "temperature": 1.0}, high=2.0)
    check({"model": models, "temperature": 1.0}, low=-1.0, high=3.0)
    check({"model": models})
