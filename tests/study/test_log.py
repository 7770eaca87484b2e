"""What a study says when it notices a change: one line, through ``logging``, and nothing else."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

from imabo import Choice, Space, Study, oracles, policies
from imabo.testing.study.base import change_world, letters, play

LOGGER = "imabo.engine.rewards"


def watching(space: Space, **settings: object) -> Study:
    chosen: dict[str, object] = {"policy": policies.Informed(), "oracle": oracles.Random()}
    return Study.create("support-answers", space, seed=1, **chosen | settings)  # type: ignore[arg-type]


def test_a_change_is_a_warning_in_the_study_s_own_units(caplog: pytest.LogCaptureFixture) -> None:
    study = watching(letters("a", "b", "c"), reward_range=(0.0, 10.0))
    with caplog.at_level(logging.INFO, LOGGER):
        play(study, 20, lambda pull: 5.0)
        assert caplog.records == []
        assert study.n_drifts == 0
        change_world(study, scale=10.0)
    (record,) = caplog.records
    *_, event = study.events()
    assert (record.name, record.levelname) == (LOGGER, "WARNING")
    assert record.getMessage() == f"study 'support-answers': {event}"
    facts = vars(record)["facts"]
    assert facts == {"study": "support-answers", "kind": "drift", **event.data}
    assert study.n_drifts == 1


def test_names_of_parameters_cannot_forge_lines(caplog: pytest.LogCaptureFixture) -> None:
    study = watching(Space({"a\nWARNING b": Choice("x", "y"), "other": Choice(*range(8))}))
    with caplog.at_level(logging.INFO, LOGGER):
        for number in range(600):
            pull = study.ask()
            is_good = pull.config["a\nWARNING b"] == "x"
            chance = (0.95 if number < 400 else 0.02) if is_good else 0.4
            study.tell(pull.id, float((number * 0.6180339887) % 1.0 < chance))
    told = [record.getMessage() for record in caplog.records]
    assert any(r"a\nWARNING b" in line for line in told)
    assert not any("\n" in line for line in told)


def test_a_study_that_is_reopened_or_replayed_says_nothing(
    caplog: pytest.LogCaptureFixture, tmp_path: object
) -> None:
    store = f"sqlite:///{tmp_path}/imabo.db"
    with watching(letters("a", "b", "c"), store=store) as study:
        change_world(study)
        study.export(f"{tmp_path}/log.jsonl")
    caplog.clear()
    with Study.open("support-answers", store=store) as again:
        assert again.best().since is not None
        assert again.n_drifts == 0
    with open(f"{tmp_path}/log.jsonl", encoding="utf-8") as lines:
        copy = Study.replay(lines)
    assert [event.kind for event in copy.events()] == ["created", "drift"]
    assert caplog.records == []


@pytest.mark.service
def test_an_application_that_says_nothing_of_logging_gets_python_s_own_line() -> None:
    code = (
        "from imabo import Study, oracles, policies\n"
        "from imabo.testing.study.base import change_world, letters\n"
        "study = Study.create('s', letters('a', 'b', 'c'), policy=policies.Informed(),\n"
        "                     oracle=oracles.Random(), seed=1)\n"
        "change_world(study)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("study 's': rewards of ")
