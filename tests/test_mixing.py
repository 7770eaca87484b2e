"""The best mix: one answer for the recommendation, the frontier and the page, and a true one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from imabo import Choice, Float, Limit, Objective, Signal, Space, Study, insight
from imabo.errors import InvalidSetting
from imabo.frontier import Frontier, FrontierArm
from imabo.mixing import Mixer, best_shares

BUDGET = 0.5


@pytest.fixture(scope="module")
def study() -> Study:
    """Many little known arms: some were lucky, and some were cheap by luck."""
    made = Study.create(
        "router",
        Space(model=Choice("small", "large"), temperature=Float(0.0, 1.0)),
        signals={"cost": Signal(low=0.0, unit="$"), "latency_s": Signal(low=0.0, unit="s")},
        objective=Objective(budgets={"cost": BUDGET}, limits=[Limit("latency_s", 2.0, 0.1)]),
        seed=0,
    )
    rng = np.random.default_rng(0)
    for _ in range(200):
        pull = made.ask()
        large = pull.config["model"] == "large"
        cost = (1.0 if large else 0.1) * float(rng.lognormal(-0.125, 0.5))
        latency = float(rng.exponential(1.5 if large else 0.5))
        reward = float(rng.random() < (0.9 if large else 0.5))
        made.tell(pull.id, reward, signals={"cost": cost, "latency_s": latency})
    return made


def test_what_is_best_is_the_same_wherever_it_is_asked(study: Study) -> None:
    best, found = study.best(), study.frontier().at(BUDGET)
    assert best.shares is not None
    assert dict(found.shares) == pytest.approx(dict(best.shares))
    assert found.mean == pytest.approx(best.mix_mean)
    snapshot = insight.read(study)
    model, mix = insight.tradeoff(snapshot), insight.overview(snapshot).best.mix  # type: ignore[union-attr]
    assert model is not None
    assert model.now is not None
    assert mix is not None
    assert dict(model.now.parts) == pytest.approx(dict(best.shares))
    assert [model.now.mean, mix.mean] == pytest.approx([best.mix_mean] * 2)
    assert mix.mean == pytest.approx(sum(part.share * part.mean for part in mix.parts))
    for one in model.curve:
        asked = study.frontier().at(one.budget)
        assert one.mean == (pytest.approx(asked.mean) if asked.is_within else None)


def test_what_is_shown_is_not_flattered(study: Study) -> None:
    found = study.frontier()
    mix = found.at(BUDGET)
    by_id = {one.arm: one for one in found.arms}
    is_large = {arm: by_id[arm].config["model"] == "large" for arm in mix.shares}
    true = 0.5 + 0.4 * sum(share for arm, share in mix.shares.items() if is_large[arm])
    assert mix.mean == pytest.approx(true, abs=0.1)
    lucky = [one for one in found.arms if one.observed == 1.0 and one.n_rewards <= 2]
    assert lucky
    assert max(one.mean for one in lucky) < 0.95
    assert all(low <= one.mean <= high for one in found.arms for low, high in [one.interval])


def test_more_of_a_budget_never_buys_less_and_nothing_more_means_nothing(study: Study) -> None:
    found = study.frontier()
    means = [mean for _, mean in found.curve(30)]
    assert all(b >= a - 1e-9 for a, b in itertools.pairwise(means))
    now, more = found.at(BUDGET).mean, found.at(1.01 * BUDGET).mean
    assert found.price == pytest.approx((more - now) / (0.01 * BUDGET), abs=1e-6)


def test_the_other_limits_are_kept_at_another_budget(study: Study) -> None:
    found = study.frontier()
    assert found.others == {"latency_s > 2": 0.1}
    mix, arms = found.at(100.0), {one.arm: one for one in found.arms}
    uses = {one.arm: (one.others or {}).get("latency_s > 2", 1.0) for one in arms.values()}
    slow = float(np.sum([share * uses[arm] for arm, share in mix.shares.items()]))
    assert mix.is_within
    assert slow <= 0.1 + 1e-9
    assert any((one.others or {}).get("latency_s > 2", 0.0) > 0.1 for one in found.arms)


@pytest.mark.parametrize("seed", range(20))
def test_a_mix_within_one_budget_is_that_of_a_linear_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, uses = rng.random(12), rng.random((1, 12)) + 0.1
    for allowed in (float(uses.min()), 0.4, 0.8, 2.0):
        shares, is_within = best_shares(values, uses, np.array([allowed]))
        found = linprog(-values, uses, [allowed], np.ones((1, 12)), [1.0], (0.0, 1.0))
        assert is_within
        assert shares.sum() == pytest.approx(1.0)
        assert -(shares @ values) == pytest.approx(found.fun)
        assert shares @ uses[0] <= allowed + 1e-9


def test_of_what_nothing_keeps_the_constraint_is_named() -> None:
    means = np.array([0.5, 0.9])
    uses = np.array([[0.1, 1.0], [0.5, 0.6]])
    assert Mixer(means, means, uses, np.array([0.5, 0.2])).unkept() == [1]
    assert Mixer(means, means, uses, np.array([0.5, 0.55])).unkept() == []
    assert Mixer(means, means, np.array([[1.0, 3.0], [3.0, 1.0]]), np.ones(2)).unkept() == [0, 1]


def frontier_of_two(uses: tuple[float, float] = (1.0, 3.0)) -> Frontier:
    """As a service of before says it: without what came since."""
    arms = [
        FrontierArm(i, {}, mean, (0, 1), use, (0, 1), 9, 9, True)
        for i, (mean, use) in enumerate(zip((0.8, 1.0), uses, strict=True))
    ]
    return Frontier("cost", "$", 0.95, arms, 1.0)


def test_a_frontier_of_a_service_of_before_is_mixed_by_its_means() -> None:
    assert frontier_of_two().at(2.0).mean == pytest.approx(0.9)


@pytest.mark.parametrize("budget", [float("nan"), float("inf"), -1.0, "1", None, True, 1e61])
def test_what_is_no_budget_is_refused(budget: object) -> None:
    with pytest.raises(InvalidSetting, match="budget is"):
        frontier_of_two().at(budget)  # type: ignore[arg-type]


@pytest.mark.parametrize("points", [-1, 0, 2.5])
def test_a_curve_has_points(points: object) -> None:
    with pytest.raises(InvalidSetting, match="points is"):
        frontier_of_two().curve(points)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("error")
def test_a_budget_of_nothing_buys_what_is_free() -> None:
    mix = frontier_of_two().at(0)
    assert (dict(mix.shares), mix.is_within) == ({0: 1.0}, False)
    free = frontier_of_two(uses=(0.0, 3.0)).at(0.0)
    assert (dict(free.shares), free.is_within) == ({0: 1.0}, True)


def test_a_budget_that_is_kept_is_not_blamed_for_a_limit_that_is_not() -> None:
    study = Study.create(
        "limited",
        Space(model=Choice("small", "large")),
        signals={"cost": Signal(low=0.0, unit="$"), "latency_s": Signal(low=0.0, unit="s")},
        objective=Objective(budgets={"cost": 5.0}, limits=[Limit("latency_s", 2.0, 0.05)]),
        seed=0,
    )
    for _ in range(80):
        pull = study.ask()
        study.tell(pull.id, 0.5, signals={"cost": 1.0, "latency_s": 3.0})
    cost, slow = insight.goals(insight.read(study))
    assert (cost.can_be_kept, slow.can_be_kept) == (True, False)
    assert cost.price_text == "there is no price, because nothing keeps latency_s > 2"
    assert slow.price_text == "there is no price, because nothing is within it"
    answer = insight.overview(insight.read(study)).answers[-1]
    assert answer.answer == "No: nothing keeps latency_s > 2"
    assert "nothing keeps latency_s > 2, whatever the budget of cost is" in str(study.frontier())
