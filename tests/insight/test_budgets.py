"""Budgets and limits as people see them: how they are kept, what they buy, and what they cost."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from imabo import Choice, Limit, Objective, Signal, Space, Study, insight
from imabo.errors import InvalidSetting, InvalidSignal
from imabo.insight import Overview, StudySnapshot
from imabo.insight.drawings.figures import OF_SIGNALS
from imabo.insight.drawings.svg import svg
from imabo.insight.questions import answers
from imabo.testing.study.base import ManualClock
from tests.insight.story import MODELS, PRICES, budgeted, instant, spend_on


@pytest.fixture(scope="module")
def played() -> tuple[Study, list[dict[str, float]]]:
    """A study with a budget and a limit, and what its requests used."""
    return budgeted(600)


@pytest.fixture(scope="module")
def snapshot(played: tuple[Study, list[dict[str, float]]]) -> StudySnapshot:
    return insight.read(played[0])


def test_a_goal_says_what_was_used_since_the_start_and_lately(
    played: tuple[Study, list[dict[str, float]]], snapshot: StudySnapshot
) -> None:
    told = [one for one in played[1] if one]
    cost, slow = insight.goals(snapshot)
    assert (cost.name, cost.allowed, cost.n) == ("cost", 2.0, len(told))
    assert cost.used == pytest.approx(np.mean([one["cost"] for one in told]))
    recent = [one["cost"] for one in told[-cost.n_recent :]]
    assert cost.recent == pytest.approx(np.mean(recent))
    assert cost.n_recent >= cost.n / 10
    above = [one["seconds"] > 1.0 for one in told]
    assert (slow.name, slow.above, slow.allowed) == ("seconds > 1", 1.0, 0.4)
    assert slow.used == pytest.approx(np.mean(above))
    assert cost.trend[-1] == insight.spend(snapshot).rolling[-1]  # type: ignore[union-attr]


def test_the_spend_over_time_is_that_of_the_requests_between_two_points(
    played: tuple[Study, list[dict[str, float]]], snapshot: StudySnapshot
) -> None:
    model = insight.spend(snapshot)
    assert model is not None
    start = 0
    for pulls, n, mean in zip(model.pulls, model.n, model.mean, strict=True):
        assert pulls is not None
        # A milestone is kept as a request is served, before it says what it used.
        end = int(pulls) - (pulls != model.pulls[-1])
        used = [one["cost"] for one in played[1][start:end] if one]
        assert (n, mean) == (len(used), pytest.approx(np.mean(used)) if used else None)
        start = end
    assert set(model.allowed) == {2.0}
    (share,) = insight.limits(snapshot)
    assert share.cumulative[-1] == pytest.approx(insight.goals(snapshot)[1].used)


def test_another_budget_counts_from_when_it_was_set() -> None:
    clock = ManualClock(1e9)
    study, told = budgeted(200, clock=clock, limits=())
    changed_at = clock.now = clock.now + 1.0
    study.update(objective=Objective(budgets={"cost": 1.5}))
    (goal,) = insight.goals(insight.read(study))
    assert (goal.recent, goal.is_kept) == (None, None)
    answer = insight.overview(insight.read(study)).answers[-1]
    assert (answer.name, answer.answer) == ("budget", "Not known yet")
    spend_on(study, clock, 200, told)
    snapshot = insight.read(study)
    model, (goal,) = insight.spend(snapshot), insight.goals(snapshot)
    assert model is not None
    expected = [2.0 if at < changed_at else 1.5 for at in model.times if at is not None]
    assert model.allowed == expected
    assert goal.n_recent <= sum(map(bool, told[200:]))
    made = insight.figure("spend", snapshot)
    budget = next(trace for trace in made["data"] if trace["name"] == "budget")
    assert budget["y"] == [2.0, 2.0, 1.5, 1.5]
    assert budget["x"][1] == budget["x"][2] == 1000.0 * changed_at
    study.update(objective=None)
    snapshot = insight.read(study)
    assert insight.goals(snapshot) == []
    assert insight.spend(snapshot).allowed[-1] is None  # type: ignore[union-attr]


def test_the_plane_has_every_arm_and_the_curve_is_what_the_frontier_says(
    played: tuple[Study, list[dict[str, float]]],
) -> None:
    study, _ = budgeted(400, limits=())
    snapshot = insight.read(study)
    model, found = insight.tradeoff(snapshot), study.frontier()
    assert model is not None
    assert [(one.arm, one.is_on_frontier) for one in model.arms] == [
        (one.arm, one.is_on_frontier) for one in found.arms
    ]
    assert [one.use for one in model.arms] == pytest.approx([one.use for one in found.arms])
    assert [one.mean for one in model.arms] == pytest.approx([one.mean for one in found.arms])
    for one in model.curve:
        assert one.mean == pytest.approx(found.at(one.budget).mean)
        assert dict(one.parts) == pytest.approx(dict(found.at(one.budget).shares), abs=1e-6)
    assert model.now is not None
    assert model.now.mean == pytest.approx(found.at(2.0).mean)
    best = study.best()
    assert {one.arm: one.share for one in model.arms if one.share} == best.shares


def test_other_limits_are_kept_where_another_budget_is_looked_at(snapshot: StudySnapshot) -> None:
    model = insight.tradeoff(snapshot)
    assert model is not None
    assert model.n_others == 1
    free = insight.tradeoff(insight.read(budgeted(600, limits=())[0]))
    assert free is not None
    assert free.curve[-1].mean is not None
    assert model.curve[-1].mean is not None
    assert model.curve[-1].mean < free.curve[-1].mean  # the best alone is too often slow


def test_a_price_list_speaks_where_nothing_is_reported() -> None:
    clock = ManualClock(1e9)
    signals = {"cost": Signal(known=PRICES, unit="$")}
    study, _ = budgeted(0, clock=clock, signals=signals, limits=())
    for number in range(40):
        clock.now += 1.0
        study.tell(study.ask().id, float(number % 3 > 0))
    snapshot = insight.read(study)
    served = [MODELS[str(pull.config["model"])][1] for pull in study.pulls()]
    (goal,) = insight.goals(snapshot)
    assert goal.n == 40
    assert goal.used == pytest.approx(np.mean(served))
    model = insight.tradeoff(snapshot)
    assert model is not None
    assert {one.use for one in model.arms} <= {1.0, 2.0, 3.0}
    assert {one.use for one in study.frontier().arms} == {one.use for one in model.arms}
    row = insight.arm_table(snapshot, sort="signal:cost").rows[0]
    assert row.signals == {"cost": MODELS[str(row.config["model"])][1]}


def test_arms_have_the_means_of_their_signals_and_are_sorted_by_them(
    snapshot: StudySnapshot,
) -> None:
    rows = insight.arm_table(snapshot, sort="signal:cost").rows
    costs = [row.signals["cost"] for row in rows]
    assert costs == sorted(costs, reverse=True)
    assert set(rows[0].signals) == {"cost", "seconds"}
    with pytest.raises(InvalidSetting, match="signal:price"):
        insight.arm_table(snapshot, sort="signal:price")
    with pytest.raises(InvalidSignal, match="'price'"):
        insight.tradeoff(snapshot, "price")


def test_without_signals_nothing_is_said_of_them() -> None:
    snapshot = insight.read(instant(60)[0])
    key = insight.overview(snapshot)
    assert [one.name for one in key.answers] == ["working", "best", "cost", "feedback"]
    assert (key.goals, key.best and key.best.mix) == ((), None)
    assert not set(OF_SIGNALS) & set(insight.figures_of(snapshot))
    page = insight.report(snapshot)
    assert not any(f'data-figure="{name}"' in page for name in OF_SIGNALS)
    for name in OF_SIGNALS:
        assert insight.figure(name, snapshot)["data"] == []


def test_figures_of_signals_come_with_them_and_limits_with_limits(snapshot: StudySnapshot) -> None:
    assert set(OF_SIGNALS) <= set(insight.figures_of(snapshot))
    alone = insight.figures_of(insight.read(budgeted(20, objective=None)[0]))
    assert set(alone) & set(OF_SIGNALS) == {"frontier", "budgets", "spend"}


def answer_of(key: Overview, **changes: object) -> tuple[str, str]:
    """What the first goal says to the fifth question, with other numbers."""
    goal = replace(key.goals[0], **changes)  # type: ignore[arg-type]
    found = answers(replace(key, goals=(goal,)))[-1]
    return found.answer, found.tone


def test_the_fifth_answer_says_whether_the_budget_is_kept(snapshot: StudySnapshot) -> None:
    key = insight.overview(snapshot)
    kept = answer_of(key, recent=1.99, is_kept=True)
    assert kept == ("Yes: $1.99 of $2 a request", "good")
    over = answer_of(key, recent=2.5, is_kept=False)
    assert over == ("No: $2.5 of $2 a request", "warn")
    unclear = answer_of(key, recent=2.5, is_kept=None)
    assert unclear == ("Not clear yet: $2.5 of $2 a request", "plain")
    (question,) = {one.question for one in key.answers if one.name == "budget"}
    assert question == "Is it within budgets and limits?"
    detail = key.answers[-1].detail
    assert "of reward costs $" in detail
    assert "seconds > 1: " in detail


def test_the_best_is_a_mix_with_its_shares_in_words(snapshot: StudySnapshot) -> None:
    study, _ = budgeted(400, limits=())
    key = insight.overview(insight.read(study))
    shares = study.best().shares
    assert key.best is not None
    assert key.best.mix is not None
    mix = key.best.mix
    assert shares is not None
    assert {part.arm: part.share for part in mix.parts} == shares
    assert len(mix.parts) == 2
    assert mix.mean == pytest.approx(sum(part.share * part.mean for part in mix.parts))
    assert mix.uses["cost"] == pytest.approx(2.0)
    words = next(one for one in key.answers if one.name == "best")
    assert " + " in words.answer
    assert words.detail.startswith("Together reward 0.")
    json.dumps(insight.overview_document(key), allow_nan=False)


def test_a_budget_that_nothing_keeps_is_said() -> None:
    study, _ = budgeted(100, objective=Objective(budgets={"cost": 0.1}), limits=())
    key = insight.overview(insight.read(study))
    answer = key.answers[-1]
    assert (answer.answer, answer.tone) == ("No: nothing is within it", "bad")
    assert "small" in key.answers[1].answer
    assert key.goals[0].price_text == "there is no price, because nothing is within it"
    model = insight.tradeoff(insight.read(study))
    assert model is not None
    assert model.now is not None
    assert model.now.mean is None


def test_a_report_and_a_notebook_show_what_the_page_does(snapshot: StudySnapshot) -> None:
    page = insight.report(snapshot)
    for name in OF_SIGNALS:
        assert f'data-figure="{name}"' in page
    assert "cost, mean" in page
    assert "Within budgets and limits: " in page
    study, _ = budgeted(60, limits=())
    shown = study.frontier()._repr_html_()
    assert "of reward costs $" in shown
    assert "&lt;b&gt;" in shown


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e6])
def test_a_unit_of_users_is_text_in_every_figure(scale: float) -> None:
    study = Study.create(
        "s", Space(model=Choice("a", "b")), seed=0, signals={"use": Signal(unit="<b>x")},
        objective=Objective(budgets={"use": 2.0 * scale}, limits=[Limit("use", 3.0 * scale, 0.5)]),
    )  # fmt: skip
    for number in range(40):
        pull = study.ask()
        use = scale * (100.0 if pull.config["model"] == "b" and number % 3 else 1.0)
        study.tell(pull.id, 0.5, signals={"use": use})
    snapshot = insight.read(study)
    for name in OF_SIGNALS:
        made = insight.figure(name, snapshot)
        assert made["data"]
        assert "<b>" not in json.dumps(made)
        assert "<b>" not in svg(made)
    assert "<b>x" not in insight.report(snapshot)


def test_milestones_without_signals_are_left_out(snapshot: StudySnapshot) -> None:
    """A database of before has such; what is known of later ones is still shown."""
    points = list(snapshot.history.signals)
    points[1:9] = [None] * 8
    older = replace(snapshot, history=replace(snapshot.history, signals=points))
    model, whole = insight.spend(older), insight.spend(snapshot)
    assert model is not None
    assert whole is not None
    assert len(model.mean) == len(whole.mean) - 8
    assert model.cumulative[-1] == whole.cumulative[-1]
