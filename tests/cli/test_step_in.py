"""Stepping in: states of arms, configurations by hand, the space, deleting."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from imabo import Choice, Float, Int, Space, Study
from imabo.cli.exits import UsageError
from imabo.cli.step_in import read_config
from imabo.errors import ImaboError, InvalidConfig
from tests.cli.calls import N_PULLS, SMALLER, STUDY, Imabo, make_study

SPACE = Space(
    {
        "model": Choice("small", "1", 1, None, True),
        "a=b": Choice("x", "y"),
        "k": Int(1, 10),
        "x": Float(0.0, 1.0, when={"model": "small"}),
    }
)


def answer(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Type this when asked."""
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


# --- arms ---------------------------------------------------------------------------------------


def test_a_paused_arm_is_not_served_until_it_is_resumed(anywhere: Imabo) -> None:
    states = {1: "paused", 2: "paused"}
    done = anywhere("pause", STUDY, "1", "2", "1", "--json")
    assert {arm["id"]: arm["state"] for arm in done.json["arms"]} == states
    found = anywhere("arms", STUDY, "--state=paused", "--json").json
    assert {row["id"]: row["state"] for row in found["rows"]} == states
    assert anywhere("resume", STUDY, "1").out.startswith("arm 1 is active: model=")
    assert anywhere("arms", STUDY, "--state=paused", "--json").json["n"] == 1


def test_a_retired_arm_comes_back_only_by_its_configuration(anywhere: Imabo) -> None:
    (arm,) = anywhere("retire", STUDY, "3", "--json").json["arms"]
    assert arm["state"] == "retired"
    refused = anywhere("resume", STUDY, "1", "3", "--json")
    assert (refused.code, refused.error["code"]) == (1, "invalid_setting")
    assert "imabo add" in refused.error["fix"]
    again = anywhere("add", STUDY, json.dumps(arm["config"]), "--json").json
    assert (again["id"], again["state"]) == (3, "active")


@pytest.mark.parametrize("words", ["pairs", "json", "file"])
def test_a_configuration_may_be_pairs_json_or_a_file(
    anywhere: Imabo, folder: Path, words: str
) -> None:
    config = {"model": "large", "temperature": 0.125}
    (folder / "config.json").write_text(json.dumps(config))
    given = {
        "pairs": ["model=large", "temperature=0.125"],
        "json": [json.dumps(config)],
        "file": ["@config.json"],
    }[words]
    assert anywhere("add", STUDY, *given, "--json").json["config"] == config
    assert "is active: model=large temperature=0.125" in anywhere("add", STUDY, *given).out


@pytest.mark.parametrize("where", ["json", "file"])
def test_a_list_of_configurations_is_added_together(
    anywhere: Imabo, folder: Path, where: str
) -> None:
    configs = [{"model": "large", "temperature": n / 8} for n in (1, 3, 5)]
    (folder / "configs.json").write_text(json.dumps(configs))
    given = "@configs.json" if where == "file" else json.dumps(configs)
    arms = anywhere("add", STUDY, given, "--json").json["arms"]
    assert [arm["config"] for arm in arms] == configs
    lines = anywhere("add", STUDY, given).out.splitlines()
    assert [" is active: model=large" in line for line in lines] == [True] * 3
    wrong = json.dumps([{"model": "large", "temperature": 0.9375}, {"model": "none"}])
    refused = anywhere("add", STUDY, wrong, "--json")
    assert (refused.code, refused.error["code"]) == (1, "invalid_config")
    assert "configuration 2 of 2" in refused.error["what"]
    assert anywhere("arms", STUDY, "--text", "0.9375", "--json").json["n"] == 0


@pytest.mark.parametrize(
    ("words", "config"),
    [
        (["model=1", "a=b=x"], None),  # no parameter "a"; the name ends at the first =
        (['{"model": 1, "a=b": "x", "k": 3}'], {"model": 1, "a=b": "x", "k": 3}),
    ],
)
def test_names_with_an_equals_sign_need_json(
    words: list[str], config: dict[str, object] | None
) -> None:
    if config is None:
        with pytest.raises(InvalidConfig):
            read_config(words, SPACE)
    else:
        assert read_config(words, SPACE) == config


@pytest.mark.parametrize(
    ("word", "value"),
    [("1", 1), ('"1"', "1"), ("small", "small"), ("null", None), ("true", True)],
)
def test_a_value_is_json_where_the_parameter_takes_it_and_text_otherwise(
    word: str, value: object
) -> None:
    space = Space(model=SPACE.parameters["model"])
    assert read_config([f"model={word}"], space)["model"] is value or (
        read_config([f"model={word}"], space)["model"] == value
    )
    assert read_config(["v=2"], Space(v=Choice("2", "3"))) == {"v": "2"}


@pytest.mark.parametrize(
    "words",
    [["{}"], ["[1]"], ["model=small"], ["k=11", "model=1"], ["k=2.5"], ["other=1"], ["=1"], ["{"]],
)
def test_a_configuration_that_does_not_fit_is_refused(words: list[str]) -> None:
    with pytest.raises((ImaboError, UsageError)):
        read_config(words, SPACE)


# --- the space ----------------------------------------------------------------------------------


def test_the_space_that_is_printed_can_be_set_again(anywhere: Imabo, folder: Path) -> None:
    printed = anywhere("space", STUDY, "--json").out
    (folder / "space.json").write_text(printed)
    done = anywhere("space", STUDY, "--set=space.json", "--dry-run")
    assert done.out == "This is the space that the study has.\n"
    assert (
        anywhere("space", STUDY, "--set=space.json", "--yes", "--json").json["space_version"] == 1
    )


def test_the_space_is_told_in_words(imabo: Imabo, folder: Path) -> None:
    space = Space(
        model=Choice("small", "large"),
        tokens=Int(16, 64, step=16, when={"model": ["large"]}),
        rate=Float(0.001, 1.0, log=True),
        forbid=[{"model": "small", "rate": [1.0]}],
    )
    store = f"sqlite:///{folder}/imabo.db"
    Study.create("s", space, store=store).close()
    lines = [" ".join(line.split()) for line in imabo("space", "s").out.splitlines()]
    assert "model choice small, large always" in lines
    assert "tokens int 16 to 64 in steps of 16 model is large" in lines
    assert "rate float 0.001 to 1 on a log scale always" in lines
    assert "never: model is small and rate is 1" in lines


def test_a_change_of_the_space_is_shown_asked_for_and_done(
    anywhere: Imabo, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "smaller.json").write_text(json.dumps(SMALLER))
    arguments = ["space", STUDY, "--set=smaller.json"]
    preview = anywhere(*arguments, "--dry-run", "--json").json
    small = anywhere("arms", STUDY, "--text=model = small", "--json").json["n"]
    assert preview["n_retired"] == small > 0
    for typed in ("no\n", "", "y\n"):
        answer(monkeypatch, typed)
        done = anywhere(*arguments)
        assert done.code == 1
        assert f"arms to retire: {small} " in done.out
        assert "nothing was changed" in done.err
    assert anywhere("show", STUDY, "--json").json["study"]["space_version"] == 1
    answer(monkeypatch, "yes\n")
    done = anywhere(*arguments)
    assert done.code == 0
    assert "Type yes: " in done.err
    assert done.out.endswith(f"{STUDY} is at space version 2\n")
    assert anywhere("arms", STUDY, "--state=retired", "--json").json["n"] == small


@pytest.mark.parametrize("content", ["{", "[]", '{"parameters": 3}', "\xff"])
def test_a_space_that_makes_no_sense_changes_nothing(
    imabo: Imabo, folder: Path, content: str
) -> None:
    (folder / "space.json").write_text(content, encoding="latin-1")
    done = imabo("space", STUDY, "--set=space.json", "--yes", "--json")
    assert done.code == 1
    assert done.error["code"] in ("invalid_space", "invalid_setting")
    assert imabo("show", STUDY, "--json").json["study"]["space_version"] == 1


def test_a_space_may_come_from_a_pipe(imabo: Imabo, monkeypatch: pytest.MonkeyPatch) -> None:
    assert imabo("space", STUDY, "--set=-").code == 2, "the answer could not be read"
    answer(monkeypatch, json.dumps(SMALLER))
    assert imabo("space", STUDY, "--set=-", "--yes").code == 0


# --- deleting -----------------------------------------------------------------------------------


def test_a_study_is_deleted_once_its_name_is_typed(
    anywhere: Imabo, monkeypatch: pytest.MonkeyPatch
) -> None:
    for typed in ("yes\n", f"{STUDY} \n", ""):
        answer(monkeypatch, typed)
        assert anywhere("delete", STUDY).code == 1
    assert anywhere("best", STUDY).code == 0
    answer(monkeypatch, f"{STUDY}\n")
    done = anywhere("delete", STUDY)
    assert (done.code, done.out) == (0, f"{STUDY} is deleted\n")
    assert f"{N_PULLS} pulls for good" in done.err
    assert anywhere("best", STUDY).code == 3


def test_deleting_as_json_names_what_went(imabo: Imabo, folder: Path) -> None:
    make_study(f"sqlite:///{folder}/imabo.db", "other", 1)
    assert imabo("delete", "other", "--yes", "--json").json == {"deleted": "other"}


# --- settings -----------------------------------------------------------------------------------


def test_settings_are_changed_and_told(anywhere: Imabo) -> None:
    done = anywhere("update", STUDY, "--window-s", "7200")
    assert done.out == "window_s is 7200, it was 3600\n"
    assert anywhere("update", STUDY, "--window-s=none", "--json").json["window_s"] is None
    assert "window_s changed from 7200.0 to None" in anywhere("events", STUDY).out
    refused = anywhere("update", STUDY, "--reward-range", "0", "5", "--json")
    assert (refused.code, refused.error["code"]) == (1, "invalid_setting")
    assert "on the scale of the range" in refused.error["why"]
    assert anywhere("update", STUDY).code == 2
