"""Signals, objectives and the frontier on the command line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from imabo import Choice, Objective, Signal, Space, Study, oracles, policies
from tests.cli.calls import Imabo
from tests.server.running import RunningServer

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
    assert re.search(r"\*\s+1\s+\$1\.5\s.*\s0\.4637\s", shown)


def test_arms_are_sorted_by_the_mean_of_a_signal(
    imabo: Imabo, folder: Path, request: pytest.FixtureRequest
) -> None:
    store, signals = f"sqlite:///{folder / 'imabo.db'}", {"cost": Signal(low=0.0)}
    with Study.create("r", Space(model=Choice("a", "b", "c")), store=store, signals=signals) as one:
        for cost, pull in zip((2.0, 3.0, 1.0), one.ask(count=3), strict=True):
            one.signal(pull.id, "cost", cost)
    server: RunningServer = request.getfixturevalue("server")  # on a copy of the database
    for place in ([], ["--url", server.url]):
        sort = ["arms", "r", *place, "--json"]
        rows = imabo(*sort, "--sort=signal:cost").json["rows"]
        assert [row["signals"]["cost"] for row in rows] == [3.0, 2.0, 1.0]
        rows = imabo(*sort, "--sort=signal:cost", "--ascending").json["rows"]
        assert [row["signals"]["cost"] for row in rows] == [1.0, 2.0, 3.0]
        refused = imabo(*sort, "--sort=signal:price").error
        assert (refused["code"], refused["what"]) == ("invalid_setting", "sort is 'signal:price'")
        assert "'admitted_at', 'signal:cost'" in refused["why"]


def test_budgets_are_shown_and_set_and_what_is_not_named_stays(
    anywhere: Imabo, tmp_path: Path
) -> None:
    file = tmp_path / "study.toml"
    file.write_text(DECLARATION, encoding="utf-8")
    anywhere("create", str(file))
    shown = anywhere("budget", "router").out
    assert "cost: nothing is known yet, $2 allowed" in shown
    changed = anywhere(
        "budget", "router", "cost=1.5", "--limit", "cost", "3", "0.25", "--json"
    ).json
    limit = {"signal": "cost", "above": 3.0, "share": 0.25}
    assert changed["objective"]["budgets"] == {"cost": 1.5}
    assert changed["objective"]["limits"] == [limit]
    assert [goal["name"] for goal in changed["goals"]] == ["cost", "cost > 3"]
    kept = anywhere("budget", "router", "cost=none", "--json").json["objective"]
    assert (kept["budgets"], kept["limits"]) == ({}, [limit])
    happened = anywhere("events", "router").out.splitlines()[-1]
    assert happened.endswith("the budget of cost ended")
    assert "the limit cost > 3 is 25% of the requests" in anywhere("events", "router").out
    assert anywhere("budget", "router", "--end", "--json").json["objective"] is None
    assert anywhere("budget", "router").out.startswith("There is no budget")
    refused = anywhere("budget", "router", "price=1", "--json")
    assert "'cost'" in refused.error["why"]
    assert anywhere("budget", "router", "cost=much").code == 2
    assert anywhere("budget", "router", "cost=1", "--end").code == 2


def test_a_mix_and_what_other_budgets_buy_are_printed(imabo: Imabo, folder: Path) -> None:
    signals, objective = {"cost": Signal(low=0.0, unit="$")}, Objective(budgets={"cost": 2.0})
    store = f"sqlite:///{folder / 'imabo.db'}"
    space = Space(model=Choice("small", "large"))
    with Study.create("router", space, store=store, signals=signals, objective=objective) as study:
        for _ in range(60):
            pull = study.ask()
            large = pull.config["model"] == "large"
            study.tell(pull.id, 0.9 if large else 0.6, signals={"cost": 3.0 if large else 1.0})
        small = next(arm.id for arm in study.arms() if arm.config["model"] == "small")
    shown = imabo("frontier", "router", "--at", "2.5").out
    assert re.search(r"\$2\.5\s+0\.82\d+\s+\$2\.5\s", shown)
    assert "nothing is within" in shown  # a quarter of the budget
    at = imabo("frontier", "router", "--at", "2.5", "--json").json["at"]
    assert at["mean"] == pytest.approx(0.825, abs=0.001)
    assert f"50% arm {small}" in imabo("best", "router").out
    assert re.search(r"within the budget: .*; mean reward 0\.75\b", imabo("best", "router").out)
    assert imabo("best", "router", "--json").json["mix_mean"] == pytest.approx(0.75, abs=0.001)
    whole = imabo("show", "router").out
    assert "Is it within the budget?" in whole
    assert re.search(r"0\.01 of reward costs \$0\.06\d+ more a request", whole)
    assert "signal cost" in imabo("arms", "router").out
    assert "$2 allowed" in imabo("watch", "router", "--count", "1").out


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


def test_budgets_of_signals_that_are_not_there_are_refused(imabo: Imabo, folder: Path) -> None:
    store = f"sqlite:///{folder / 'imabo.db'}"
    space = Space(model=Choice("small", "large"))
    with Study.create("router", space, store=store, signals={"cost": Signal(low=0.0)}):
        pass
    refused = imabo("budget", "router", "cots=1", "--json").error
    assert (refused["code"], refused["fix"]) == (
        "invalid_signal",
        "write 'cost', if you meant that one",
    )
    assert imabo("budget", "router", "nosuch=none", "--json").error["code"] == "invalid_signal"
    assert "cannot end" in imabo("budget", "router", "cost=none", "--json").error["what"]
    ended = imabo("budget", "router", "--limit", "cost", "2", "none", "--json")
    assert ended.error["what"] == "a limit cost > 2 cannot end"


def test_wrong_names_of_a_declaration_are_refused(imabo: Imabo, folder: Path) -> None:
    made = '[space.model]\ntype = "choice"\nvalues = ["small", "large"]\n'
    for wrong, right in (
        ("[signals.cost]\nlo = 0.0\n", "'low'"),
        ("[signals.cost]\nlow = 0.0\n[objective.budget]\ncost = 0.5\n", "'budgets'"),
        ('[signals.s]\n[[objective.limit]]\nsignal = "s"\nabove = 1.0\nshare = 0.1\n', "'limits'"),
    ):
        (folder / "study.toml").write_text(f'name = "typo"\n{made}{wrong}')
        refused = imabo("create", str(folder / "study.toml"), "--json")
        assert refused.error["code"] == "invalid_setting"
        assert right in refused.error["fix"]


def test_of_many_arms_twenty_are_printed(imabo: Imabo, folder: Path) -> None:
    store = f"sqlite:///{folder / 'imabo.db'}"
    space = Space(x=Choice(*range(30)))
    signals, objective = {"cost": Signal(low=0.0)}, Objective(budgets={"cost": 9.0})
    how: Any = {"signals": signals, "objective": objective, "policy": policies.IMOSS(warmup=30)}
    with Study.create("many", space, store=store, oracle=oracles.Random(), **how) as study:
        for _ in range(40):
            pull = study.ask()
            study.tell(pull.id, 0.5, signals={"cost": 1.0 + float(str(pull.config["x"]))})
        n_arms = len(study.frontier().arms)
    assert n_arms > 20
    shown = imabo("frontier", "many").out
    assert shown.count("x=") == 20
    assert f"{n_arms - 20} more arm" in shown
    assert len(imabo("frontier", "many", "--json").json["arms"]) == n_arms
    for wrong in ("nan", "-1", "inf"):
        refused = imabo("frontier", "many", f"--at={wrong}", "--json")
        assert refused.error["code"] == "invalid_setting"
