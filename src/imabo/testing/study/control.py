"""The contract of the control: groups, the lift, rolling back and going on."""

from __future__ import annotations

from typing import Any

import pytest

from imabo.control import Control
from imabo.engine.requests import Reward
from imabo.errors import InvalidConfig, InvalidSetting, NoControl, StudyExists
from imabo.evaluation import Guardrail
from imabo.objective import Signal
from imabo.study import Study
from imabo.testing.study.base import QUICK, MakeStudy, StudyCases, letters, refused

TODAY = Control({"letter": "a"}, share=0.5)


class ControlCases(StudyCases):
    """A share of the requests gets the control; the rest is compared with it."""

    @pytest.fixture
    def compared(self, make_study: MakeStudy) -> Study:
        """A study whose control is the letter a."""
        return make_study("s", letters("a", "b", "c"), seed=1, control=TODAY, **QUICK)

    def test_a_pull_says_which_group_it_is_of(self, compared: Study) -> None:
        """And how likely that was; the control serves its own configuration alone."""
        pulls = compared.ask(count=60)
        assert {pull.group for pull in pulls} == {"control", "tuned"}
        assert {pull.propensity for pull in pulls} == {0.5}
        served = {pull.config["letter"] for pull in pulls if pull.group == "control"}
        assert served == {"a"}
        assert compared.pull(pulls[0].id).group == pulls[0].group
        assert [pull.group for pull in compared] == [pull.group for pull in pulls]

    def test_the_lift_is_tuned_less_control(self, compared: Study) -> None:
        """Its interval has the truth, and everything that it rests on is told."""
        assert compared.lift().estimate is None
        pulls = compared.ask(count=600)
        compared.tell_many([(p.id, 0.75 if p.group == "tuned" else 0.25) for p in pulls])
        lift, n_control = compared.lift(), sum(pull.group == "control" for pull in pulls)
        assert lift.estimate == pytest.approx(0.5, abs=0.05)
        assert lift.interval is not None
        assert lift.interval[0] < 0.5 < lift.interval[1]
        assert (lift.tuned_mean, lift.control_mean) == pytest.approx((0.75, 0.25))
        assert (lift.n_control, lift.served_control) == (n_control, n_control)
        assert lift.n_tuned + lift.n_control == 600
        assert [one.n_tuned for one in lift.by_day.values()] == [lift.n_tuned]
        assert lift.control == TODAY
        assert str(lift).startswith("Tuned is better than the control")

    def test_a_roll_back_serves_the_control_to_everyone_until_it_is_resumed(
        self, compared: Study
    ) -> None:
        """Doing it again changes nothing."""
        compared.roll_back(reason="complaints")
        compared.roll_back()
        assert compared.lift().state == "rolled back"
        assert {pull.config["letter"] for pull in compared.ask(count=40)} == {"a"}
        assert compared.resume() is None
        compared.resume()
        assert compared.lift().state == "tuning"
        assert {pull.group for pull in compared.ask(count=40)} == {"control", "tuned"}
        kinds = [event.kind for event in compared.events()]
        assert (kinds.count("rolled back"), kinds.count("resumed")) == (1, 1)

    def test_the_arm_of_the_control_stays_in_service(self, compared: Study) -> None:
        """It would be served all the same: the control is changed or ended first."""
        for verb in (compared.pause, compared.retire):
            with refused(compared, InvalidSetting, 1):
                verb(1)
        compared.update_control(None)
        assert compared.retire(1).state == "retired"

    # --- declared ---------------------------------------------------------------------------------

    def test_a_declared_control_that_differs_is_named_line_by_line(
        self, make_study: MakeStudy
    ) -> None:
        """The default refuses it, an update applies it, and who keeps the study leaves it."""
        space = letters("a", "b", "c")
        study = make_study("s", space, seed=1, control=TODAY, exposure=0.5, **QUICK)
        limit = Guardrail(margin=0.1)
        wanted = {"control": Control({"letter": "a"}, 0.2), "exposure": 0.9, "guardrail": limit}
        with refused(study, StudyExists, "s") as caught:
            make_study("s", space, **wanted, **QUICK)
        for line in (
            "\n  - control: share 0.5 becomes 0.2",
            "\n  - exposure: 0.5 becomes 0.9",
            "\n  - guardrail: none becomes margin 0.1",
            'if_changed="update" applies this',
        ):
            assert line in str(caught.value), line
        make_study("s", space, if_changed="keep", **wanted, **QUICK)
        assert study.lift().control.share == 0.5
        for _ in range(2):  # the second time there is nothing new
            make_study("s", space, if_changed="update", **wanted, **QUICK)
            assert study.lift().control.share == 0.2
            assert [event.kind for event in study.events()] == ["created", "control", "control"]
        chances = {"control": 1.0 - 0.9 * 0.8, "tuned": 0.9 * 0.8}
        for pull in study.ask(count=20):
            assert pull.propensity == pytest.approx(chances[str(pull.group)])

    def test_a_space_and_its_control_are_declared_together(self, make_study: MakeStudy) -> None:
        """Also where the space does not allow the control until then; without it, it is refused."""
        study = make_study("s", letters("a", "b"), seed=1, control=TODAY, **QUICK)
        new: dict[str, Any] = {"if_changed": "update", **QUICK}
        with refused(study, InvalidSetting, {"letter": "a"}):
            make_study("s", letters("b", "c"), **new)
        with refused(study, StudyExists) as caught:
            make_study("s", letters("b", "c"), **QUICK)
        assert '"update" is refused: the space does not allow the control' in str(caught.value)
        wanted = Control({"letter": "c"}, 0.5)
        with refused(study, StudyExists) as caught:
            make_study("s", letters("b", "c"), control=wanted, **QUICK)
        assert '"update" applies this, keeps all that was learned' in str(caught.value)
        study = make_study("s", letters("b", "c"), control=wanted, **new)
        pulls = study.ask(count=40)
        assert {pull.config["letter"] for pull in pulls if pull.group == "control"} == {"c"}
        assert [event.kind for event in study.events()] == ["created", "control", "space"]
        assert "with a share of 0.5" in str(study.events()[-1])

    def test_a_declaration_without_a_control_leaves_it_alone(self, make_study: MakeStudy) -> None:
        """What an operator set by hand is not ended by a program that never had one."""
        space = letters("a", "b")
        study = make_study("s", space, seed=1, **QUICK)
        study.update_control(TODAY, exposure=0.5)
        for mode in ("error", "update", "keep"):
            make_study("s", space, if_changed=mode, **QUICK)
        make_study("s", letters("a", "b", "c"), if_changed="update", **QUICK)
        assert study.lift().control == TODAY
        assert study.ask().propensity in (0.25, 0.75)

    def test_a_guardrail_may_watch_a_signal(self, make_study: MakeStudy) -> None:
        """It rolls back when the tuned side's is higher, whatever the rewards are."""
        watch = Guardrail(signal="latency_s", margin=0.5)
        signals = {"latency_s": Signal(low=0.0, high=4.0, unit="s")}
        with pytest.raises(InvalidSetting, match="latency_s"):
            make_study("s", letters("a", "b"), seed=1, control=TODAY, guardrail=watch, **QUICK)
        study = make_study(
            "s", letters("a", "b"), seed=1, control=TODAY, guardrail=watch, signals=signals, **QUICK
        )
        told = [
            Reward(1.0, pull.id, signals={"latency_s": 3.0 if pull.group == "tuned" else 1.0})
            for pull in study.ask(count=300)
        ]
        for first in range(0, len(told), 50):
            study.tell_many(told[first : first + 50])
        (event,) = [event for event in study.events() if event.kind == "rolled back"]
        assert str(event).endswith("latency_s is higher than the control's by more than 0.5 s")
        assert (event.data["signal"], event.data["method"]) == ("latency_s", "betting")
        assert {pull.config["letter"] for pull in study.ask(count=20)} == {"a"}

    def test_a_control_is_set_changed_and_ended(self, make_study: MakeStudy) -> None:
        """What is left out stays; without a control there is no lift and no way back."""
        study = make_study("s", letters("a", "b", "c"), seed=1, **QUICK)
        assert study.ask().group is None
        for call in (study.lift, study.roll_back):
            with refused(study, NoControl, "s"):
                call()
        with refused(study, InvalidConfig, "z"):
            study.update_control(Control({"letter": "z"}))
        study.update_control(TODAY, exposure=0.0, guardrail=Guardrail(margin=0.1))
        assert {pull.config["letter"] for pull in study.ask(count=30)} == {"a"}
        study.update_control(exposure=1.0)
        assert study.ask().propensity == 0.5
        study.update_control(None)
        assert study.ask().group is None
        kinds = [event.kind for event in study.events()]
        assert kinds.count("control") == 3
