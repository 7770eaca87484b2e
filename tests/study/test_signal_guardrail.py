"""A guardrail that watches a signal: it fires, rests on the log, and is what was asked for."""

from __future__ import annotations

import io
import json
import logging
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest

from imabo import Choice, Control, Guardrail, Objective, Signal, Space, Study, oracles, policies
from imabo.control import Rollout
from imabo.engine import signal_lifts
from imabo.errors import InvalidSetting
from imabo.evaluation import Lift, Outcome
from imabo.stores import Store

SPACE = Space(model=Choice("small", "large"))
SECONDS = {"latency_s": Signal(low=0.0, high=4.0, unit="s"), "cost": Signal(low=0.0)}
WATCH = Guardrail(signal="latency_s", margin=0.2)


class Clock:
    """Seconds that pass."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def make(store: Store | None = None, **settings: Any) -> Study:
    cheap: dict[str, Any] = {"policy": policies.IMOSS(), "oracle": oracles.Mutate()}
    control: dict[str, Any] = {"control": Control({"model": "small"}, share=0.3)}
    given = {"signals": SECONDS, "seed": 3, "guardrail": WATCH, **cheap, **control} | settings
    return Study.create("study", SPACE, store=store, clock=Clock(), **given)


def run(study: Study, n: int, *, large: float = 2.0, small: float = 0.5, seed: int = 0) -> None:
    """The better model is the slower one; costs and rewards come apart from the seconds."""
    rng = Random(seed)
    for _ in range(n):
        pull = study.ask()
        is_large = pull.config["model"] == "large"
        study.signal(pull.id, "latency_s", (large if is_large else small) * rng.uniform(0.5, 1.5))
        study.tell(pull.id, 0.9 if is_large else 0.3, signals={"cost": rng.random()})


def rolled_back(study: Study) -> list[Any]:
    return [event for event in study.events() if event.kind == "rolled back"]


def test_it_rolls_back_when_tuned_is_slower_though_it_earns_more(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    study = make(store)
    with caplog.at_level(logging.WARNING):
        run(study, 400)
    assert study.state == "rolled back"
    (event,) = rolled_back(study)
    reason = "latency_s is higher than the control's by more than 0.2 s"
    assert str(event).startswith("the study was rolled back by the guardrail to arm 1 {")
    assert str(event).endswith(f"}}: {reason}")
    assert reason in caplog.text
    found = event.data
    assert (found["signal"], found["worse"], found["method"]) == ("latency_s", "higher", "betting")
    assert found["tuned_mean"] > 1.5
    assert found["control_mean"] == pytest.approx(0.5, abs=0.1)
    assert 0.2 < found["interval"][0] < found["lift"] < found["interval"][1]
    assert study.n_rollbacks == 1
    assert {pull.group for pull in study.ask(5)} == {"control"}


def test_it_does_not_while_the_signal_is_within_the_margin(store: Store) -> None:
    study = make(store, guardrail=Guardrail(signal="latency_s", margin=0.5))
    run(study, 400, large=0.8, small=0.5)
    assert study.state == "tuning"


def test_rewards_are_not_what_it_watches(store: Store) -> None:
    study = make(store)
    for pull in study.ask(count=300):
        is_control = pull.group == "control"
        study.tell(pull.id, float(is_control), signals={"latency_s": 1.0})
    assert study.state == "tuning"


def test_a_guardrail_of_rewards_hears_of_rewards_that_come_with_signals(store: Store) -> None:
    study = make(store, guardrail=Guardrail(margin=0.02))
    for pull in study.ask(count=600):
        is_control = pull.group == "control"
        study.tell(pull.id, float(is_control), signals={"latency_s": 1.0})
    assert study.state == "rolled back"


def test_lower_may_be_worse(store: Store) -> None:
    signals = {"thumbs": Signal(low=0.0, high=1.0)}
    watch = Guardrail(signal="thumbs", margin=0.05, worse="lower")
    study = make(store, signals=signals, guardrail=watch)
    for pull in study.ask(count=600):
        study.signal(pull.id, "thumbs", 0.9 if pull.group == "control" else 0.4)
    (event,) = rolled_back(study)
    assert event.data["reason"] == "thumbs is lower than the control's by more than 0.05"
    assert (event.data["tuned_mean"], event.data["control_mean"]) == pytest.approx((0.4, 0.9))


def test_without_both_ends_it_takes_longer_and_says_asymptotic(store: Store) -> None:
    """Nothing is proved of it, so it does not speak before 500 values."""
    study = make(store, signals={**SECONDS, "latency_s": Signal(low=0.0, unit="s")})
    run(study, 450)
    assert study.state == "tuning"
    run(study, 300, seed=1)
    (event,) = rolled_back(study)
    assert event.data["method"] == "asymptotic"


def test_it_is_a_function_of_the_log(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few are read at a time, whatever else is told of the pulls meanwhile."""
    monkeypatch.setattr(signal_lifts, "_PAGE", 3)
    study = make(store, guardrail=Guardrail(signal="latency_s", margin=3.0))
    rng, outcomes, waiting = Random(1), [], list[Any]()
    for number in range(150):
        pull = study.ask()
        value = round(rng.uniform(0.0, 4.0), 3)
        study.signal(pull.id, "latency_s", value)
        waiting.append(pull)
        share = pull.propensity if pull.group == "control" else 1.0 - (pull.propensity or 0.0)
        outcomes.append(Outcome(-value, pull.group == "control", share or 0.0))
        if number % 7 == 0:  # others move to the end
            study.signal(waiting.pop(rng.randrange(len(waiting))).id, "cost", 1.0)
    comparison = study._engine.comparison
    found = comparison.watched(study.rollout.guardrail)
    expected = Lift((-4.0, 0.0)).update(outcomes)
    assert found.total.values.tolist() == expected.total.values.tolist()


def test_another_process_and_one_that_opens_it_find_the_same(store: Store) -> None:
    study = make(store, guardrail=Guardrail(signal="latency_s", margin=3.0))
    run(study, 40)
    study.prune(datetime(2100, 1, 1, tzinfo=UTC))  # what was deleted is kept in its sums
    run(study, 40, seed=1)
    again = Study.open("study", store=store, clock=Clock())
    guardrail = study.rollout.guardrail
    assert again.rollout.guardrail == guardrail
    found = again._engine.comparison.watched(guardrail)
    assert found.total.n == 80
    here = study._engine.comparison.watched(guardrail)
    assert found.total.values.tolist() == here.total.values.tolist()


def test_a_signal_that_comes_while_pruning_is_in_the_lift(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process tells it after the lift was kept, and before the pulls are deleted."""
    study = make(store, guardrail=Guardrail(signal="latency_s", margin=3.0))
    other = Study.open("study", store=store, clock=Clock())
    run(study, 40)
    late = study.ask(20)
    for pull in late:
        study.tell(pull.id, 0.5)  # finished, but for their seconds
    prune = type(store).prune

    def slowly(self: Store, *args: Any, **kwargs: Any) -> int:
        monkeypatch.setattr(type(store), "prune", prune)
        for pull in late:
            other.signal(pull.id, "latency_s", 1.0)
        return prune(self, *args, **kwargs)

    monkeypatch.setattr(type(store), "prune", slowly)
    assert study.prune(datetime(2100, 1, 1, tzinfo=UTC)) == 60, "as soon as the lift has them"
    guardrail = study.rollout.guardrail
    for one in (study, other, Study.open("study", store=store, clock=Clock())):
        assert one._engine.comparison.watched(guardrail).total.n == 60


def test_after_a_resume_it_judges_what_comes_then(store: Store) -> None:
    study = make(store)
    run(study, 400)
    assert len(rolled_back(study)) == 1
    study.resume()
    run(study, 200, large=0.5, seed=1)  # somebody made it faster
    assert study.state == "tuning"
    # Another watch after a resume does not dig up the past either.
    study.update_control(guardrail=Guardrail(margin=0.02))
    study.update_control(guardrail=WATCH)
    run(study, 100, large=0.5, seed=2)
    assert study.state == "tuning"


def test_it_is_exported_and_replayed(store: Store) -> None:
    study = make(store)
    run(study, 300)
    file = io.StringIO()
    study.export(file, "jsonl")
    again = Study.replay(file.getvalue().splitlines())
    assert (again.state, again.rollout.guardrail) == ("rolled back", WATCH)
    told = json.loads(json.dumps(study.events()[-1].data))
    assert json.loads(json.dumps(again.events()[-1].data)) == told


def test_what_cannot_be_watched_is_refused() -> None:
    with pytest.raises(InvalidSetting, match=r"'latency'.*latency_s"):
        make(guardrail=Guardrail(signal="latency"))
    with pytest.raises(InvalidSetting, match="signals are: none"):
        make(signals=None)
    with pytest.raises(InvalidSetting, match="worse"):
        Guardrail(signal="latency_s", worse="smaller")  # type: ignore[arg-type]
    study = make()
    with pytest.raises(InvalidSetting, match="watches the signal 'latency_s'"):
        study.update(signals={"cost": Signal(low=0.0)})
    with pytest.raises(InvalidSetting, match="tokens"):
        study.update_control(guardrail=Guardrail(signal="tokens"))
    assert study.rollout.guardrail == WATCH
    study.update_control(None)
    study.update(signals={"cost": Signal(low=0.0)})
    assert study.rollout == Rollout(changed_at=study.rollout.changed_at)


def test_it_goes_with_a_budget(store: Store) -> None:
    study = make(store, objective=Objective(budgets={"cost": 0.6}))
    run(study, 400)
    assert study.state == "rolled back"
