"""Prices of what requests use, against a linear program; what arms are charged; the bank."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from imabo import Choice, Objective, Signal, Space, Study, policies
from imabo.arms import ActiveSet, Floats
from imabo.errors import InvalidSetting, InvalidSignal
from imabo.mixing import best_shares
from imabo.objective import Constraint, Limit, check_prices, objective_document, signals_document
from imabo.pricing import allowances, in_reach, is_worth_a_try, priced, prices
from imabo.spending import Spending, bank_after, lately_key

COST = Constraint("cost", "cost", 1.0)
SLOW = Constraint("s > 2", "s", 0.05, 2.0)


def dual(values: Floats, costs: Floats, allowed: Floats, found: Floats) -> float:
    """What the best mix could earn at most, by these prices: no less than it does."""
    return float(found @ allowed + (values - found @ costs).max())


def best(values: Floats, costs: Floats, allowed: Floats) -> float | None:
    found = linprog(-values, costs, allowed, np.ones((1, len(values))), [1.0], (0.0, 1.0))
    return None if found.fun is None else -float(found.fun)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 30), st.integers(1, 2))
def test_prices_are_those_of_the_best_mix(seed: int, n_arms: int, n_budgets: int) -> None:
    rng = np.random.default_rng(seed)
    values, costs = rng.random(n_arms), rng.lognormal(0.0, 1.0, (n_budgets, n_arms))
    allowed = np.ones(n_budgets)
    earned = best(values, costs, allowed)
    found = prices(values, costs, allowed)
    assert (found >= 0.0).all()
    if earned is not None:
        slack = dual(values, costs, allowed, found) - earned
        is_alone = bool((costs <= allowed[:, None]).all(axis=0).any())
        # Where only mixes keep several budgets, prices are found one by one: they are near.
        assert -1e-9 <= slack <= (1e-9 if n_budgets == 1 or is_alone else 0.5)


def test_nothing_is_charged_for_what_is_plenty() -> None:
    values, costs = np.array([0.5, 0.9]), np.array([[0.2, 0.8]])
    assert prices(values, costs, np.ones(1)).tolist() == [0.0]


def test_what_was_overspent_is_saved_again() -> None:
    assert allowances(np.array([-5.0, 0.0, 40.0, 1e6])).tolist() == [1.0, 1.0, 0.9, 0.0]


def spent(bank: float) -> ActiveSet:
    """Two arms, the dearer one better; each has used what it uses."""
    arms = ActiveSet(Space(m=Choice("a", "b")))
    arms.spending = Spending([COST])
    for number, (letter, cost) in enumerate((("a", 0.5), ("b", 2.0)), start=1):
        row = arms.admit(number, {"m": letter})
        arms.count_pull(row, 100)
        for _ in range(100):
            arms.count_reward(row, 0.5 * number - 0.1, was_pending=True)
            arms.spending.count(row, {"cost": cost})
    arms.spending.put_banks({"cost": bank})
    return arms


@pytest.mark.parametrize(("bank", "row"), [(-1.0, 1), (1.0, 0)])
def test_the_bank_decides_between_the_arms_of_the_mix(bank: float, row: int) -> None:
    net = priced(spent(bank), np.array([0.4, 0.9]))
    assert int(net.argmax()) == row
    assert abs(net[0] - net[1]) < 1e-4


def dear(lately: float, *, use: float = 60.0, n_pulls: int = 600) -> ActiveSet:
    """Two arms that are known well, one of which uses sixty budgets at a time."""
    arms = ActiveSet(Space(m=Choice("a", "b")))
    arms.spending = Spending([COST])
    for number, (letter, cost) in enumerate((("a", 0.5), ("b", use)), start=1):
        row = arms.admit(number, {"m": letter})
        arms.count_pull(row, n_pulls // 2)
        for _ in range(n_pulls // 2):
            arms.count_reward(row, 0.5 * number - 0.1, was_pending=True)
            arms.spending.count(row, {"cost": cost})
    arms.spending.put_banks({"cost": -1.0, lately_key("cost"): lately})
    return arms


@pytest.mark.parametrize(
    ("lately", "n_pulls", "found"),
    [(0.99, 600, [True, False]), (0.85, 600, [True, True]), (1.1, 400, [True, True])],
)
def test_what_may_use_more_than_there_is_waits(
    lately: float, n_pulls: int, found: list[bool]
) -> None:
    arms, scores = dear(lately, n_pulls=n_pulls), np.array([0.4, 0.9])
    assert in_reach(arms).tolist() == found
    assert np.isfinite(priced(arms, scores)).tolist() == found
    assert int(priced(arms, scores).argmax()) == int(found[1])


def test_what_is_tried_again_must_be_there_twice() -> None:
    scores = np.array([0.4, 0.4])
    assert is_worth_a_try(dear(0.6), scores).tolist() == [True, True]
    arms = dear(0.85)
    assert in_reach(arms).tolist() == [True, True]
    assert is_worth_a_try(arms, scores).tolist() == [True, False]


def test_requests_that_are_out_take_from_what_is_there() -> None:
    arms = dear(0.85)
    arms.count_pull(1, 2)
    assert in_reach(arms).tolist() == [True, False]


def test_where_all_is_dear_all_may_be_served() -> None:
    arms = dear(1.1)
    arms.put_state(0, "paused")
    assert in_reach(arms).tolist() == [False, True]
    assert int(priced(arms, np.array([0.4, 0.9]))[1] > -np.inf)


@pytest.mark.parametrize(("bank", "behind", "row"), [(-9.0, 0.003, 1), (-9.0, 0.1, 0), (1.0, 0, 0)])
def test_what_is_left_over_goes_to_what_is_hardly_worse(
    bank: float, behind: float, row: int
) -> None:
    net = priced(spent(bank), np.array([0.8, 0.8 - behind]))
    assert int(net.argmax()) == row


def test_what_one_request_may_use_is_the_same_read_or_counted() -> None:
    costs = [0.3, 2.0, 11.0, 0.7, 1e-9, 5.5]
    counted, read = Spending([COST, SLOW]), Spending([COST, SLOW])
    uses = {"cost": {"expected": [1.5, 0.5, 1.0]}, "s > 2": {"expected": [0.1, 0.1, 0.1]}}
    for one in (counted, read):
        one.load(uses, [1, 2], {1: 0, 2: 1})
        one.most(2)
    for cost in costs:
        counted.count(1, {"cost": cost, "s": cost})
    sums = [float(len(costs)), 0.0, 0.0]
    for cost in costs:
        sums[1:] = sums[1] + cost, sums[2] + cost * cost
    read.put_sums(1, {"cost": sums, "s > 2": [len(costs), 2.0]})
    assert counted.most(2).tolist() == read.most(2).tolist()
    assert counted.most(2)[1].tolist() == [0.0, 0.0]
    assert counted.most(2)[0, 1] > max(costs)


def test_a_study_without_an_objective_is_charged_nothing() -> None:
    arms = ActiveSet(Space(m=Choice("a", "b")))
    arms.admit(1, {"m": "a"})
    scores = np.array([0.5])
    assert priced(arms, scores) is scores


def test_a_bank_has_ends() -> None:
    assert bank_after(-9.5, 0.0, COST) == -10.0
    assert bank_after(90.0, 1000.0, COST) == 400.0
    assert bank_after(-79.5, 0.0, SLOW) == -80.0
    assert bank_after(390.0, 1.0, SLOW) == 400.0


def test_requests_that_are_out_count_in_the_bank() -> None:
    arms = spent(0.0)
    assert arms.spending is not None
    arms.count_pull(1, 10)
    ahead = arms.spending.banks_ahead(arms.n_pulls, arms.n_pending)
    assert 9.0 < float(ahead[0]) < 11.0


def test_a_rare_event_says_little_at_first() -> None:
    spending = Spending([SLOW])
    for seconds in (0.1, 0.1, 9.0):
        spending.count(0, {"s": seconds})
    assert spending.costs(1)[0, 0] < 2.0
    for _ in range(500):
        spending.count(0, {"s": 0.1})
    assert spending.costs(1)[0, 0] < 0.2


def test_shares_of_what_cannot_be_kept_are_the_cheapest() -> None:
    values, uses = np.array([0.9, 0.5]), np.array([[9.0, 3.0], [0.1, 0.2]])
    shares, is_within = best_shares(values, uses, np.array([1.0, 1.0]))
    assert (shares.tolist(), is_within) == ([0.0, 1.0], False)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Signal(low=1.0, high=0.0),
        lambda: Signal(known={}),
        lambda: Signal(known={"model": {"a": "dear"}}),  # type: ignore[dict-item]
        lambda: Limit("s", above=1.0, share=1.5),
        lambda: Objective(maximise="profit"),
        lambda: Objective(budgets={"cost": 0.0}),
        lambda: Objective(limits=[Limit("s", 1.0, 0.1), Limit("s", 1.0, 0.2)]),
        lambda: signals_document({"reward": Signal()}),
        lambda: signals_document({"two words": Signal()}),
        lambda: signals_document({"cost": {"low": 1.0, "dear": True, "high": 0.0}}),
        lambda: objective_document({"budgets": {"cost": 1.0}}, None),
        lambda: objective_document({"limits": [{"signal": "s"}]}, {"s": {}}),
        lambda: check_prices({"c": {"known": {"n": 1.0}}}, Space(m=Choice("a", "b"))),
        lambda: check_prices({"c": {"known": {"m": [["a", 1.0]]}}}, Space(m=Choice("a", "b"))),
    ],
)
def test_what_makes_no_sense_is_refused(make: object) -> None:
    with pytest.raises((InvalidSetting, InvalidSignal)):
        make()  # type: ignore[operator]


def test_documents_come_back() -> None:
    signal = Signal(0.0, 5.0, "$", {"m": {"a": 1.0, 1: 2.0}, "n": 0.5})
    assert Signal.restore(signal.document()) == signal
    assert signal.expected({"m": 1, "n": 4}) == 4.0
    goal = Objective(budgets={"cost": 1.0}, limits=(Limit("s", 2.0, 0.1),))
    assert Objective.restore(goal.document()) == goal


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("limits", [(), (Limit("seconds", 2.0, 0.4),)])
@pytest.mark.parametrize("policy", [policies.QRM2(), policies.UCBAIR(), policies.IMOSS()])
def test_a_policy_with_infinite_scores_keeps_a_budget(
    policy: policies.Policy, limits: tuple[Limit, ...]
) -> None:
    """An arm that must be served first has no price to compare with."""
    rng = np.random.default_rng(0)
    study = Study.create(
        "s",
        Space(model=Choice("small", "large")),
        policy=policy,
        signals={"cost": Signal(low=0.0), "seconds": Signal(low=0.0)},
        objective=Objective(budgets={"cost": 0.5}, limits=limits),
        seed=0,
    )
    costs = []
    for _ in range(400):
        pull = study.ask()
        large = pull.config["model"] == "large"
        costs.append(1.0 if large else 0.1)
        reward = float(rng.random() < (0.9 if large else 0.5))
        study.tell(pull.id, reward, signals={"cost": costs[-1], "seconds": 1.0})
    assert 0.4 < np.mean(costs[200:]) < 0.56
