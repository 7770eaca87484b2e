"""One request on the command line, by its id or by its key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from imabo import Study
from tests.cli.calls import STRANGE, STUDY, Imabo


@pytest.fixture
def asked(anywhere: Imabo, folder: Path) -> Iterator[Study]:
    """The study that the commands are about, to ask it."""
    served = folder / "served.db"
    path = served if served.exists() else folder / "imabo.db"
    with Study.open(STUDY, store=f"sqlite:///{path}") as study:
        yield study


def test_a_pull_is_shown_and_told_by_its_key(anywhere: Imabo, asked: Study) -> None:
    pull = asked.ask(key="order 3/4")
    shown = anywhere("pull", STUDY, "order 3/4", "--by-key")
    assert shown.out.startswith(f'{pull.id}: pending, key "order 3/4", part 0')
    assert anywhere("tell", STUDY, "order 3/4", "0.25", "--by-key").code == 0
    (found,) = anywhere("pull", STUDY, pull.id, "--json").json["pulls"]
    assert (found["reward"], found["key"]) == (0.25, "order 3/4")
    conflict = anywhere("tell", STUDY, pull.id, "0.5", "--json")
    assert (conflict.code, conflict.error["code"]) == (1, "reward_conflict")


def test_an_unknown_key_is_refused_and_asks_nothing(anywhere: Imabo, asked: Study) -> None:
    before = asked.n_pulls
    refused = anywhere("tell", STUDY, "nowhere", "0.5", "--by-key", "--json")
    assert (refused.code, refused.error["code"]) == (3, "unknown_key")
    asked.refresh()
    assert asked.n_pulls == before


def test_a_key_of_several_shows_all_and_takes_a_part(anywhere: Imabo, asked: Study) -> None:
    asked.ask(count=2, key=STRANGE)
    shown = anywhere("pull", STUDY, STRANGE, "--by-key")
    assert ("part 0" in shown.out, "part 1" in shown.out, "\x1b" in shown.out) == (1, 1, 0)
    refused = anywhere("tell", STUDY, STRANGE, "1", "--by-key", "--json")
    assert "parts 0, 1" in refused.error["why"]
    told = anywhere("tell", STUDY, STRANGE, "1", "--by-key", "--part=1", "--json").json
    assert (told["part"], told["reward"]) == (1, 1.0)
    assert anywhere("pull", STUDY, "x-1", "--part=1", "--json").error["code"] == "invalid_setting"


def test_a_thumb_is_a_reward_and_other_words_are_explained(anywhere: Imabo, asked: Study) -> None:
    pull = asked.ask()
    assert anywhere("tell", STUDY, pull.id, "true", "--json").json["reward"] == 1.0
    refused = anywhere("tell", STUDY, pull.id, "good")
    assert refused.code == 2
    assert "'good' is not a number: a reward is one in the study's range, or true" in refused.err
