"""``imabo create``: the same study from TOML, from JSON and by a service."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from imabo import Study, oracles, policies
from tests.cli.calls import Imabo

TOML = """
name = "declared"
window_s = 3600
reward_range = [0, 5]
seed = 7
policy = "IMOSS"
oracle = {type = "TPE"}
forbid = [{model = "small", passages = [9, 10]}]

[space.model]
type = "choice"
values = ["small", "large"]

[space.passages]
type = "int"
low = 1
high = 10
"""
SPACE = {
    "parameters": [
        {"name": "model", "type": "choice", "values": ["small", "large"]},
        {"name": "passages", "type": "int", "low": 1, "high": 10},
    ],
    "forbid": [{"model": "small", "passages": [9, 10]}],
}
JSON = {
    "name": "declared",
    "space": SPACE,
    "window_s": 3600,
    "reward_range": [0, 5],
    "seed": 7,
    "policy": {"type": "IMOSS"},
    "oracle": "TPE",
}


def test_a_study_is_made_from_a_file_and_found_again(anywhere: Imabo, folder: Path) -> None:
    (folder / "study.toml").write_text(TOML)
    (folder / "study.json").write_text(json.dumps(JSON))
    made = anywhere("create", "study.toml", "--json")
    assert made.code == 0, made.err
    assert (made.json["window_s"], made.json["reward_range"]) == (3600.0, [0.0, 5.0])
    assert (made.json["policy"]["type"], made.json["oracle"]["type"]) == ("IMOSS", "TPE")
    assert made.json["space"]["forbid"] == [{"model": ["small"], "passages": [9, 10]}]
    again = anywhere("create", "study.json", "--json")  # the same, said in JSON
    assert again.json == made.json
    text = anywhere("create", "study.json", "--name", "other")
    assert text.out == "other is created: 2 parameters, 0 requests so far\n"


def test_it_says_whether_a_study_is_created_updated_or_unchanged(
    anywhere: Imabo, folder: Path
) -> None:
    one = "\n".join(line for line in TOML.splitlines() if not line.startswith("forbid"))
    one = one.split("[space.passages]")[0].replace('"declared"', '"outcome"')
    (folder / "one.toml").write_text(one)
    (folder / "two.toml").write_text(one.replace("3600", "60"))
    parts = "1 parameter, 0 requests so far\n"
    assert anywhere("create", "one.toml").out == f"outcome is created: {parts}"
    assert anywhere("create", "one.toml").out == f"outcome is there, unchanged: {parts}"
    kept = anywhere("create", "two.toml", "--if-changed=keep")
    assert kept.out == f"outcome is there, unchanged: {parts}"
    updated = f"outcome is updated: {parts}"
    assert anywhere("create", "two.toml", "--if-changed=update").out == updated
    three = one.replace("3600", "60").replace('"large"]', '"large", "huge"]')
    (folder / "three.toml").write_text(three)
    assert anywhere("create", "three.toml", "--if-changed=update").out == updated


def test_what_a_file_says_is_what_a_program_would(imabo: Imabo, folder: Path) -> None:
    (folder / "study.toml").write_text(TOML.replace("[0, 5]", '"none"'))
    assert imabo("create", "study.toml", "--store", "sqlite:///new.db").code == 0
    with Study.open("declared", store="sqlite:///new.db") as study:
        assert (study.policy, study.oracle) == (policies.IMOSS(), oracles.TPE())
        assert (study.seed, study.reward_range) == (7, None)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (TOML.replace("window_s", "windows_s"), "sets 'windows_s'.*write 'window_s'"),
        (TOML.replace('name = "declared"', ""), "has no name.*--name"),
        (TOML.partition("[space")[0], "has no space"),
        (TOML.replace('"choice"', '"chioce"'), "chioce"),
        (TOML.replace('"IMOSS"', '"IMOS"'), "IMOS"),
        (TOML.replace('{type = "TPE"}', "3"), "oracle is 3"),
        (TOML.replace("= 7", "= "), "cannot be read"),
        ('name = "s"\n[space]\nmodel = 3\n', "parameter 'model' is 3"),
    ],
)
def test_a_file_that_is_wrong_says_what_is(
    imabo: Imabo, folder: Path, wrong: str, words: str
) -> None:
    (folder / "study.toml").write_text(wrong)
    done = imabo("create", "study.toml")
    assert done.code == 1
    assert re.search(words, done.err, re.DOTALL), done.err
    assert "Traceback" not in done.err


def test_a_changed_file_is_refused_updated_or_kept(anywhere: Imabo, folder: Path) -> None:
    file = folder / "study.toml"
    file.write_text(TOML)
    assert anywhere("create", "study.toml").code == 0
    file.write_text(TOML.replace("3600", "60").replace('"large"]', '"huge"]'))
    refused = anywhere("create", "study.toml")
    assert refused.code == 1
    for words in ("'huge' is added", "3600.0 becomes 60.0", "--if-changed update", "keep"):
        assert words in refused.err, refused.err
    kept = anywhere("create", "study.toml", "--if-changed", "keep", "--json")
    assert kept.json["window_s"] == 3600.0
    new = anywhere("create", "study.toml", "--if-changed", "update", "--revision", "7", "--json")
    assert (new.json["window_s"], new.json["revision"]) == (60.0, 7)
    file.write_text(TOML)
    old = anywhere("create", "study.toml", "--if-changed", "update", "--revision", "6", "--json")
    assert (old.json["window_s"], old.json["revision"]) == (60.0, 7)


def test_a_file_declares_the_control(anywhere: Imabo, folder: Path) -> None:
    control = """
exposure = 0.5

[control]
config = {model = "small", passages = 3}
share = 0.2

[guardrail]
margin = 0.05
"""
    head, _, space = TOML.partition("\n[space.model]")
    (folder / "study.toml").write_text(f"{head}\n{control}\n[space.model]{space}")
    made = anywhere("create", "study.toml", "--json")
    assert made.code == 0, made.err
    assert made.json["rollout"]["control"]["share"] == 0.2
    assert made.json["rollout"]["exposure"] == 0.5
    changed = control.replace("0.2", "0.4").replace("0.05", "0.02")
    (folder / "study.toml").write_text(f"{head}\n{changed}\n[space.model]{space}")
    refused = anywhere("create", "study.toml")
    for words in ("control: share 0.2 becomes 0.4", "margin 0.05 becomes margin 0.02"):
        assert words in refused.err, refused.err
    updated = anywhere("create", "study.toml", "--if-changed", "update", "--json").json
    assert updated["rollout"]["control"]["share"] == 0.4
    chance = control.replace('{model = "small", passages = 3}', '"random"')
    (folder / "random.toml").write_text(f"{head}\n{chance}\n[space.model]{space}")
    drawn = anywhere("create", "random.toml", "--name=drawn", "--json").json
    assert drawn["rollout"]["control"] == {"config": None, "share": 0.2}
    wrong = control.replace("share", "shere")
    (folder / "study.toml").write_text(f"{head}\n{wrong}\n[space.model]{space}")
    assert "a table with config and share" in anywhere("create", "study.toml").err
