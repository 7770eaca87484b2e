"""The part of the study's contract about signals, budgets and limits."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from imabo.engine.requests import Reward
from imabo.errors import (
    InvalidSetting,
    InvalidSignal,
    RewardConflict,
    SignalConflict,
    StudyExists,
    UnknownKey,
    UnknownPull,
)
from imabo.objective import Limit, Objective, Signal
from imabo.study import Study
from imabo.testing.study.base import QUICK, MakeStudy, StudyCases, letters, refused

SIGNALS = {"cost": Signal(low=0.0, unit="$"), "latency_s": Signal(low=0.0, high=100.0)}
OBJECTIVE = Objective(budgets={"cost": 2.0}, limits=[Limit("latency_s", above=2.0, share=0.25)])


def made(make_study: MakeStudy, **settings: Any) -> Study:
    """A study of two letters with two signals."""
    usual = {"seed": 1, "signals": SIGNALS, "objective": OBJECTIVE}
    return make_study("goals", letters("a", "b"), **usual | settings)


def serve(study: Study, rounds: int) -> None:
    """The letter b earns 0.9 and costs 4, the other 0.6 and 1."""
    for _ in range(rounds):
        pull = study.ask()
        is_b = pull.config["letter"] == "b"
        signals = {"cost": 4.0 if is_b else 1.0, "latency_s": 0.5}
        study.tell(pull.id, 0.9 if is_b else 0.6, signals=signals)


class GoalCases(StudyCases):
    """Signals once each, and what an objective does with them."""

    def test_signals_come_with_the_reward_or_by_themselves(self, make_study: MakeStudy) -> None:
        """In any order, by the pull's id or by its key."""
        study = made(make_study)
        first, second = study.ask(), study.ask(key="order 3")
        study.tell(first.id, 0.5, signals={"cost": 0.1 + 0.2})
        study.signal(first.id, "latency_s", 1)
        study.signal(key="order 3", name="cost", value=0.25)
        study.tell(key="order 3", reward=1.0, signals={"latency_s": True})
        assert study.pull(first.id).signals == {"cost": 0.1 + 0.2, "latency_s": 1.0}
        assert study.pull(key="order 3").signals == {"cost": 0.25, "latency_s": 1.0}
        assert study.pull(second.id).reward == 1.0

    def test_the_same_signal_again_changes_nothing(self, make_study: MakeStudy) -> None:
        """Another value is a conflict, and refuses the reward that comes with it."""
        study = made(make_study)
        pull = study.ask()
        study.signal(pull.id, "cost", 0.5)
        study.signal(pull.id, "cost", 0.5)
        with refused(study, SignalConflict, 0.5):
            study.signal(pull.id, "cost", 0.75)
        with refused(study, SignalConflict):
            study.tell(pull.id, 1.0, signals={"cost": 0.75})
        study.tell(pull.id, 1.0, signals={"cost": 0.5})
        with refused(study, RewardConflict):
            study.tell(pull.id, 0.5, signals={"latency_s": 1.0})

    @pytest.mark.parametrize("value", [-0.5, float("nan"), float("inf"), "1", None])
    def test_a_value_that_is_no_such_signal_is_refused(
        self, make_study: MakeStudy, value: Any
    ) -> None:
        """And nothing else happens."""
        study = made(make_study)
        pull = study.ask()
        with refused(study, InvalidSignal):
            study.signal(pull.id, "cost", value)

    def test_an_undeclared_name_is_refused_with_the_list(self, make_study: MakeStudy) -> None:
        """And with the one that was meant."""
        study = made(make_study)
        pull = study.ask()
        with refused(study, InvalidSignal, "latency_s") as caught:
            study.signal(pull.id, "latency", 1.0)
        assert "'cost'" in str(caught.value)
        with refused(study, UnknownPull):
            study.signal("nothing-1", "cost", 1.0)
        with refused(study, UnknownKey):
            study.signal(key="nothing", name="cost", value=1.0)

    def test_a_batch_has_rewards_with_and_without_signals(self, make_study: MakeStudy) -> None:
        """One that is refused does not hold up the others."""
        study = made(make_study)
        pulls = study.ask(4)
        told = study.tell_many(
            [
                (pulls[0].id, 0.5),
                Reward(0.25, pulls[1].id, signals={"cost": 1.0}),
                Reward(0.25, pulls[2].id, signals={"price": 1.0}),
                Reward(None, pulls[3].id, signals={"cost": 2.0}),
            ]
        )
        assert [None if one is None else one.code for one in told] == [
            *(None, None, "invalid_signal", None)
        ]
        found = [study.pull(pull.id) for pull in pulls]
        assert [one.reward for one in found][:2] == [0.5, 0.25]
        assert [dict(one.signals) for one in found if one.id != pulls[2].id] == [
            *({}, {"cost": 1.0}, {"cost": 2.0})
        ]

    def test_the_spend_follows_the_budget(self, make_study: MakeStudy) -> None:
        """And the best is the mix within it, with its shares."""
        study = made(make_study, objective=Objective(budgets={"cost": 2.0}), **QUICK)
        serve(study, 200)
        costs = [pull.signals["cost"] for pull in study]
        assert 1.8 < sum(costs[50:]) / 150 < 2.05
        best = study.best()
        assert best.shares is not None
        assert sorted(round(share, 1) for share in best.shares.values()) == [0.3, 0.7]
        assert best.is_within
        found = study.frontier()
        assert [one.use for one in found.arms] == [1.0, 4.0]
        assert found.at(2.5).mean == pytest.approx(0.75, abs=0.005)
        assert dict(found.at(2.0).shares) == pytest.approx(dict(best.shares))
        assert found.at(2.0).mean == pytest.approx(best.mix_mean)
        assert (found.budget, found.signal, found.unit) == (2.0, "cost", "$")
        assert found.price == pytest.approx(0.1, rel=0.05)
        assert "0.01 of reward costs $" in str(found)

    def test_what_no_arm_can_keep_is_said(self, make_study: MakeStudy) -> None:
        """And the cheapest is served."""
        study = made(make_study, objective=Objective(budgets={"cost": 0.5}), **QUICK)
        serve(study, 60)
        served = [pull.config["letter"] for pull in study][20:]
        assert served.count("a") >= len(served) - 2
        assert not study.best().is_within
        assert "nothing is within the budget" in str(study.frontier("cost"))
        study.update(objective=Objective(budgets={"cost": 3.0}))
        serve(study, 40)
        events = [one for one in study.events() if one.kind in ("infeasible", "feasible")]
        assert [one.kind for one in events] == ["infeasible", "feasible"]
        assert str(events[0]).startswith("nothing is within the budget of cost, $0.5 a request")
        assert events[0].data["use"] == pytest.approx(1.0)

    def test_a_budget_changes_while_the_study_runs(self, make_study: MakeStudy) -> None:
        """The next decisions go by it, and an event says so."""
        study = made(make_study, objective=Objective(budgets={"cost": 1.2}), **QUICK)
        serve(study, 80)
        study.update(objective=Objective(budgets={"cost": 9.0}))
        assert "the budget of cost changed from 1.2 to 9" in str(study.events()[-1])
        serve(study, 40)
        assert [pull.config["letter"] for pull in study][-20:] == ["b"] * 20
        study.update(objective=None)
        assert study.best().shares is None
        with pytest.raises(InvalidSetting, match="tokens"):
            study.update(objective=Objective(budgets={"tokens": 1.0}))

    def test_another_declaration_of_the_goal_is_another_study(self, make_study: MakeStudy) -> None:
        """Unless it may be updated."""
        made(make_study).close()
        made(make_study).close()
        other = Objective(budgets={"cost": 3.0})
        with pytest.raises(StudyExists, match="objective"):
            made(make_study, objective=other)
        study = made(make_study, objective=other, if_changed="update")
        assert "the budget of cost changed from 2 to 3" in str(study.events()[-1])

    def test_an_objective_needs_declared_signals(self, make_study: MakeStudy) -> None:
        """It is refused otherwise."""
        with pytest.raises(InvalidSetting, match="cost"):
            made(make_study, signals=None)

    def test_exports_have_the_signals(self, make_study: MakeStudy) -> None:
        """The log can be replayed, and the rows have a cell of them."""
        study = made(make_study)
        serve(study, 5)
        study.signal(study.ask().id, "cost", 3.0)
        text = io.StringIO()
        study.export(text, "jsonl")
        lines = [json.loads(line) for line in text.getvalue().splitlines()]
        assert lines[0]["objective"]["budgets"] == {"cost": 2.0}
        assert lines[-1] == {"kind": "signal", "signals": {"cost": 3.0}} | {
            name: lines[-1][name] for name in ("at", "pull")
        }
        again = Study.replay(text.getvalue().splitlines())
        assert [pull.signals for pull in again] == [pull.signals for pull in study]
        text = io.StringIO()
        study.export(text, "csv")
        assert '""cost"": 3.0' in text.getvalue()
        assert text.getvalue().split("\r\n")[0].count("signal.cost") == 1
        columns = study.to_columns()
        assert json.loads(columns["signals"][-1]) == {"cost": 3.0}
        assert columns["signal.cost"] == [pull.signals.get("cost") for pull in study]

    def test_a_price_list_is_known_before_anything_is_served(self, make_study: MakeStudy) -> None:
        """Nothing need be reported; the spend is what the list says."""
        prices = {"letter": {"a": 1.0, "b": 4.0}}
        signals = {"cost": Signal(low=0.0, known=prices)}
        goal = Objective(budgets={"cost": 2.0})
        study = made(make_study, signals=signals, objective=goal, **QUICK)
        for _ in range(150):
            pull = study.ask()
            study.tell(pull.id, 0.9 if pull.config["letter"] == "b" else 0.6)
        costs = [prices["letter"][str(pull.config["letter"])] for pull in study]
        assert 1.7 < sum(costs[50:]) / 100 < 2.1
        with pytest.raises(InvalidSetting, match="price list"):
            made(
                lambda name, *rest, **how: make_study("other", *rest, **how),
                signals={"cost": Signal(known={"letter": {"a": 1.0}})},
                objective=None,
            )
