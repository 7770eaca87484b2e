"""Signals, objectives and the frontier on the command line."""

from __future__ import annotations

from pathlib import Path

from imabo import Choice, Objective, Signal, Space, Study
from tests.cli.calls import Imabo

DECLARATION = """
name = "router"
[space.model]
type = "choice"
values = ["small", "large"]
[signals.cost]
low = 0.0
unit = "$"
[objective]
budgets = {cost = 2.0}
"""


def test_a_budget_is_declared_reported_on_and_looked_at(anywhere: Imabo, tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(DECLARATION, encoding="utf-8")
    made = anywhere("create", str(file), "--json").json
    assert made["objective"]["budgets"] == {"cost": 2.0}
    refused = anywhere("signal", "router", "nothing-1", "cost=1", "--json")
    assert refused.error["code"] == "unknown_pull"
    assert anywhere("signal", "router", "nothing-1", "cost").code == 2
    empty = anywhere("frontier", "router", "--json")
    assert empty.error["code"] == "no_rewards"


def test_a_pull_is_told_with_its_signals(imabo: Imabo, folder: Path) -> None:
    signals, objective = {"cost": Signal(low=0.0, unit="$")}, Objective(budgets={"cost": 2.0})
    store = f"sqlite:///{folder / 'imabo.db'}"
    space = Space(model=Choice("small", "large"))
    with Study.create("router", space, store=store, signals=signals, objective=objective) as study:
        first, second = study.ask(), study.ask()
    told = imabo("tell", "router", first.id, "0.5", "--signal", "cost=1.5")
    assert told.out.splitlines()[-1] == "its signal cost is 1.5"
    assert imabo("signal", "router", second.id, "cost=3", "--json").json["signals"] == {"cost": 3}
    assert "  cost     3" in imabo("pull", "router", second.id).out
    conflict = imabo("signal", "router", second.id, "cost=4", "--json")
    assert conflict.error["code"] == "signal_conflict"
    shown = imabo("frontier", "router").out
    assert shown.startswith("cost: $2.25 a request so far, $2 allowed")
    assert "* arm 1: 1.5 0.5" in shown


def test_a_guardrail_watches_a_signal(imabo: Imabo, folder: Path) -> None:
    store = f"sqlite:///{folder / 'imabo.db'}"
    with Study.create(
        "router", Space(model=Choice("a", "b")), store=store, signals={"cost": Signal(low=0.0)}
    ):
        pass
    watched = ("control", "router", "model=a", "--margin", "0.2", "--watch")
    refused = imabo(*watched, "costs", "--json")
    assert refused.error["code"] == "invalid_setting"
    done = imabo(*watched, "cost", "--json").json["guardrail"]
    assert done == {"margin": 0.2, "level": 0.975, "signal": "cost", "worse": "higher"}
    assert "margin 0.2 of cost, higher is worse" in imabo("control", "router").out
    lower = imabo("control", "router", "--margin", "0.1", "--watch", "cost", "--lower-is-worse")
    assert "margin 0.1 of cost, lower is worse" in lower.out
