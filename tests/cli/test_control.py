"""The control on the command line, on a database and through a service."""

from __future__ import annotations

import pytest

from tests.cli.calls import STUDY, Imabo

CONFIG = ("model=small", "temperature=0.5")


def test_a_control_is_set_changed_and_ended(anywhere: Imabo) -> None:
    assert "none; set one with" in anywhere("control", STUDY).out
    done = anywhere("control", STUDY, *CONFIG, "--share", "0.2", "--margin", "0.1", "--json")
    assert done.json["control"] == {"config": {"model": "small", "temperature": 0.5}, "share": 0.2}
    assert done.json["guardrail"]["margin"] == 0.1
    assert anywhere("control", STUDY, "--exposure", "0.5", "--json").json["exposure"] == 0.5
    changed = anywhere("control", STUDY, "--share", "0.3", "--no-guardrail", "--json").json
    assert (changed["control"]["share"], changed["guardrail"]) == (0.3, None)
    assert changed["control"]["config"] == done.json["control"]["config"]
    text = anywhere("control", STUDY).out
    assert "model=small temperature=0.5" in text
    assert "exposure     0.5" in text
    assert anywhere("control", STUDY, "--end", "--json").json["control"] is None


def test_the_lift_and_the_way_back(anywhere: Imabo) -> None:
    refused = anywhere("lift", STUDY, "--json")
    assert (refused.code, refused.error["code"]) == (1, "no_control")
    assert anywhere("roll-back", STUDY).code == 1
    done = anywhere("roll-back", STUDY, *CONFIG, "--reason", "complaints")
    assert done.out.startswith(f"{STUDY} is rolled back: everyone gets model=small temperature=0.5")
    assert "reason       complaints" in anywhere("control", STUDY).out
    shown = anywhere("show", STUDY).out
    assert "The lift is not known yet" in shown
    assert "everyone gets the control" in shown
    told = anywhere("events", STUDY).out
    assert "rolled back by hand to arm" in told
    assert "{'model': 'small', 'temperature': 0.5}: complaints" in told
    assert anywhere("resume", STUDY).out == f"{STUDY} is tuning\n"
    assert anywhere("lift", STUDY, "--json").error["code"] == "no_control"
    anywhere("control", STUDY, *CONFIG)
    lift = anywhere("lift", STUDY, "--json").json
    assert (lift["n_tuned"], lift["state"], lift["control"]["share"]) == (0, "tuning", 0.05)
    assert anywhere("lift", STUDY).out.startswith("The lift is not known yet")


@pytest.mark.parametrize(
    "words",
    [
        ["--end", "--share", "0.1"],
        [*CONFIG, "--random"],
        ["--share", "0.1"],
        [*CONFIG, "--margin", "0.1", "--no-guardrail"],
        [*CONFIG, "--watch", "latency_s"],
    ],
)
def test_words_that_contradict_each_other_are_refused(imabo: Imabo, words: list[str]) -> None:
    assert imabo("control", STUDY, *words).code == 2


def test_a_plan_says_how_many_requests_it_takes(imabo: Imabo) -> None:
    wanted = ("plan", "--share", "0.1", "--reward", "0.6", "--detect", "0.03")
    whole, half = (imabo(*wanted, *more, "--json").json for more in ([], ["--feedback", "0.5"]))
    assert whole["rewards"] == whole["requests"] == half["rewards"]
    assert half["requests"] == 2 * whole["requests"]
    assert whole["half_width"] <= 0.03
    assert f"About {whole['requests']:,} requests" in imabo(*wanted).out
    assert imabo(*wanted, "--level", "2").code == 1
