"""A budget that nothing can keep: said once when it is so, and once when it no longer is."""

from __future__ import annotations

import io
import logging
from random import Random
from typing import Any

import pytest

from imabo import Choice, Limit, Objective, Signal, Space, Study, oracles, policies
from imabo.errors import StoreError
from imabo.stores import Store
from imabo.testing.audit import audit

SPACE = Space(model=Choice("small", "large"))
SIGNALS = {"cost": Signal(low=0.0, unit="$"), "latency_s": Signal(low=0.0, unit="s")}
CHEAP: dict[str, Any] = {"policy": policies.IMOSS(warmup=2), "oracle": oracles.Mutate(), "seed": 0}


def make(store: Store | None, objective: Objective, **settings: Any) -> Study:
    given = {"signals": SIGNALS, **CHEAP} | settings
    return Study.create("study", SPACE, store=store, objective=objective, **given)


def run(study: Study, n: int, *, small: float = 1.0, large: float = 3.0, seed: int = 0) -> None:
    rng = Random(seed)
    for _ in range(n):
        pull = study.ask()
        mean = large if pull.config["model"] == "large" else small
        told = {"cost": mean * rng.uniform(0.5, 1.5), "latency_s": mean * rng.uniform(0.5, 1.5)}
        study.tell(pull.id, rng.random(), signals=told)


def said(study: Study) -> list[str]:
    return [one.kind for one in study.events() if one.kind in ("infeasible", "feasible")]


def test_it_is_said_once_and_once_when_it_ends(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    study = make(store, Objective(budgets={"cost": 0.5}))
    with caplog.at_level(logging.WARNING):
        run(study, 200)
    assert said(study) == ["infeasible"]
    event = study.events()[-1]
    cheapest = next(arm.id for arm in study.arms() if arm.config["model"] == "small")
    assert (event.data["name"], event.data["arm"]) == ("cost", cheapest)
    assert event.data["use"] == pytest.approx(1.0, abs=0.2)
    words = f"cost, $0.5 a request: arm {cheapest}, which exceeds it least, uses $"
    assert str(event).startswith(f"nothing is within the budget of {words}")
    assert "nothing is within the budget" in caplog.text
    # Another process, and one that opens it later, say nothing new.
    with Study.open("study", store=store) as again:
        run(again, 60, seed=1)
    run(study, 60, seed=2)
    assert said(study) == ["infeasible"]
    study.update(objective=Objective(budgets={"cost": 1.8}))
    run(study, 60, seed=3)
    assert said(study) == ["infeasible", "feasible"]
    assert str(study.events()[-1]) == f"the budgets and limits can be kept: arm {cheapest} does"
    assert audit(store, "study") == []


def test_it_waits_until_it_is_sure(store: Store) -> None:
    """One that is just below the budget is not called too dear by bad luck."""
    study = make(store, Objective(budgets={"cost": 1.02}))
    run(study, 300)
    assert said(study) == []


def test_a_limit_may_be_what_nothing_keeps(store: Store) -> None:
    study = make(store, Objective(limits=[Limit("latency_s", above=0.8, share=0.2)]))
    run(study, 200)
    (event,) = [one for one in study.events() if one.kind == "infeasible"]
    assert (event.data["name"], event.data["above"]) == ("latency_s > 0.8", 0.8)
    assert str(event).startswith("nothing keeps latency_s > 0.8 to 20 % of the requests: arm ")


def test_what_a_mix_keeps_is_feasible(store: Store) -> None:
    """Each arm exceeds one of two budgets; half of each keeps both."""
    study = make(store, Objective(budgets={"cost": 2.0, "latency_s": 2.0}))
    for _ in range(200):
        pull = study.ask()
        uses = [1.0, 2.9] if pull.config["model"] == "small" else [2.9, 1.0]
        study.tell(pull.id, 0.5, signals=dict(zip(("cost", "latency_s"), uses, strict=True)))
    assert said(study) == []


def test_a_price_list_needs_no_reports(store: Store) -> None:
    prices = {"model": {"small": 1.0, "large": 3.0}}
    signals = {"cost": Signal(low=0.0, known=prices)}
    study = make(store, Objective(budgets={"cost": 0.5}), signals=signals)
    for pull in study.ask(count=40):
        study.tell(pull.id, 0.5)
    assert said(study) == ["infeasible"]
    study.update(objective=None)
    for pull in study.ask(count=40):
        study.tell(pull.id, 0.5)
    assert said(study) == ["infeasible", "feasible"]
    assert str(study.events()[-1]) == "the budgets and limits can be kept"


def test_it_is_replayed(store: Store) -> None:
    study = make(store, Objective(budgets={"cost": 0.5}))
    run(study, 120)
    file = io.StringIO()
    study.export(file, "jsonl")
    again = Study.replay(file.getvalue().splitlines())
    assert said(again) == ["infeasible"]
    assert str(again.events()[-1]) == str(study.events()[-1])


def test_a_store_that_fails_then_loses_no_report(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make(store, Objective(budgets={"cost": 0.5}))

    def fail(*_: Any, **__: Any) -> None:
        raise StoreError("the disk is full", "so", "make room")

    with monkeypatch.context() as broken:
        broken.setattr(type(store), "change", fail)
        run(study, 150)
    assert (study.n_rewards, said(study)) == (150, [])
    run(study, 20, seed=1)
    assert said(study) == ["infeasible"]


def test_small_amounts_are_said_as_people_write_them() -> None:
    study = make(None, Objective(budgets={"cost": 0.00001}))
    run(study, 200, small=0.00003, large=0.00009)
    assert "budget of cost, $0.00001 a request" in str(study.events()[-1])
