"""Reproducibility: seeds, reopening, and making a study again from its log."""

from __future__ import annotations

import io
import json
import math
import subprocess
import sys
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from imabo import Study, oracles, policies
from imabo.errors import InvalidSetting, ReplayMismatch, StudyExists, UnknownStudy
from imabo.stores import MemoryStore, SQLiteStore, Store
from imabo.testing.audit import audit
from imabo.testing.study.base import ManualClock, facts_of, mixed_space, play
from tests.loops import first

from .traffic import SPACES, WINDOW_S, Traffic, story

PAIRS: dict[str, dict[str, Any]] = {
    "IMOSS-Mutate": {},
    "IMOSS-TPE": {"oracle": oracles.TPE()},
    "kl-Mixed": {
        "policy": policies.IMOSS(index="kl", warmup=3),
        "oracle": oracles.Mixed(oracles.Mutate(startup=4), epsilon=0.2),
    },
    "QRM2-Random": {"policy": policies.QRM2(), "oracle": oracles.Random()},
    "UCBAIR-Random": {"policy": policies.UCBAIR(), "oracle": oracles.Random()},
}

REPLAY = """
import dataclasses, json, sys
from imabo import Study

for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as lines, Study.replay(lines) as study:
        told = [study.arms(), list(study)]
        print(json.dumps([[dataclasses.asdict(x) for x in xs] for xs in told], default=str))
"""


def lines_of(study: Study) -> list[str]:
    file = io.StringIO()
    study.export(file)
    return file.getvalue().splitlines()


def drive(store: Store, pair: str, *, steps: int = 350, seed: int = 0, reopens: bool) -> Study:
    """Traffic on a new study, which is closed and opened again now and then, or never."""
    clock = ManualClock(1000.0)

    def reopen(old: Study) -> Study:
        old.close()
        return Study.open("s", store=store, clock=clock)

    study = Study.create(
        "s", SPACES[0], store=store, seed=11, window_s=WINDOW_S, clock=clock, **PAIRS[pair]
    )
    return Traffic(study, clock, seed, reopen if reopens else None).run(steps)


@pytest.mark.parametrize("pair", PAIRS)
def test_stores_and_reopening_make_no_difference_to_decisions(pair: str, tmp_path: Path) -> None:
    memory = story(drive(MemoryStore(), pair, reopens=False))
    counts = memory[0]
    assert counts["n_expired"] > 10
    assert counts["space_version"] > 2
    assert min(counts["n_pending"], counts["n_rewards"] - 30) > 0
    assert {arm.state for arm in memory[1]} == {"active", "paused", "retired"}
    assert story(drive(MemoryStore(), pair, reopens=True)) == memory
    with closing(SQLiteStore(str(tmp_path / "imabo.db"))) as store:
        assert story(drive(store, pair, reopens=True)) == memory


@pytest.mark.parametrize("seed", first(2, range(4)))
def test_reopening_makes_no_difference_under_other_traffic(seed: int) -> None:
    kept, reopened = (
        story(drive(MemoryStore(), "UCBAIR-Random", steps=700, seed=seed, reopens=reopens))
        for reopens in (False, True)
    )
    assert reopened == kept


@pytest.mark.service
def test_a_new_process_replays_the_logs(tmp_path: Path) -> None:
    studies = [drive(MemoryStore(), pair, steps=150, reopens=True) for pair in PAIRS]
    paths = [tmp_path / f"{pair}.jsonl" for pair in PAIRS]
    for study, path in zip(studies, paths, strict=True):
        study.export(path)
    done = subprocess.run(
        [sys.executable, "-c", REPLAY, *map(str, paths)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    for study, line in zip(studies, done.stdout.splitlines(), strict=True):
        _, arms, pulls = facts_of(study)
        again_arms, again_pulls = json.loads(line)
        assert again_arms == json.loads(json.dumps([asdict(arm) for arm in arms], default=str))
        for again, pull in zip(again_pulls, pulls, strict=True):
            assert again["id"].rpartition("-")[2] == pull.id.rpartition("-")[2]
            expected = json.loads(json.dumps(asdict(pull), default=str))
            assert again | {"id": pull.id} == expected


def test_a_replayed_study_has_the_same_log_and_goes_on(store: Store) -> None:
    log = lines_of(drive(MemoryStore(), "IMOSS-Mutate", steps=150, reopens=False))
    again = Study.replay(log, store=store)
    assert lines_of(again) == log
    play(again, 5, lambda pull: 0.5)
    assert store.names() == ["s"]


def test_own_policies_and_oracles_are_passed_to_replay() -> None:
    settings: dict[str, Any] = PAIRS["kl-Mixed"]
    study = Study.create("s", mixed_space(), seed=1, **settings)
    play(study, 40, lambda pull: 0.5)
    assert story(Study.replay(lines_of(study), **settings))[1] == study.arms()
    with pytest.raises(ReplayMismatch, match="line 1"):
        Study.replay(lines_of(study), policy=policies.UCBAIR())


def test_replay_refuses_a_store_that_has_the_study(store: Store) -> None:
    study = Study.create("s", mixed_space(), seed=1, store=store)
    play(study, 10, lambda pull: 0.5)
    before = facts_of(study)
    with pytest.raises(StudyExists):
        Study.replay(lines_of(study), store=store)
    assert facts_of(study) == before


def test_replay_refuses_a_store_that_is_none() -> None:
    with pytest.raises(InvalidSetting, match="nowhere"):
        Study.replay(lines_of(Study.create("s", mixed_space())), store="nowhere")


# --- logs that were changed -------------------------------------------------------------------


@pytest.fixture(scope="module")
def log() -> list[dict[str, Any]]:
    """A log with every kind of entry."""
    clock = ManualClock(1000.0)
    study = Study.create("s", mixed_space(), seed=1, window_s=WINDOW_S, clock=clock)
    lost = study.ask()
    play(study, 15, lambda pull: 0.5)
    clock.now += 2 * WINDOW_S
    study.ask()
    study.pause(2)
    study.add_arm({"model": "small", "temperature": 0.5, "top_k": 1})
    study.update_space(SPACES[1])
    study.tell(lost.id, 0.5)
    play(study, 20, lambda pull: 1.0)
    return [json.loads(line) for line in lines_of(study)]


def place_of(log: list[dict[str, Any]], kind: str) -> int:
    return next(i for i, entry in enumerate(log) if entry["kind"] == kind)


def replay(log: list[dict[str, Any]]) -> Study:
    return Study.replay(json.dumps(entry) for entry in log)


def test_the_log_of_these_tests_can_be_replayed(log: list[dict[str, Any]]) -> None:
    assert {entry["kind"] for entry in log[1:]} == {
        "ask", "tell", "expire", "state", "arm", "space",
    }  # fmt: skip
    assert [json.loads(line) for line in lines_of(replay(log))] == log


EDITS: list[tuple[str, dict[str, Any]]] = [
    ("ask", {"pull": 9}),
    ("ask", {"arm": 2}),
    ("ask", {"reason": "index"}),
    ("ask", {"config": {"model": "small", "temperature": 0.123, "top_k": 1}}),
    ("tell", {"pull": 99}),
    ("tell", {"pull": 0}),
    ("tell", {"pull": True}),
    ("tell", {"pull": 10**30}),
    ("tell", {"pull": "1"}),
    ("tell", {"reward": 1.5}),
    ("tell", {"reward": float("nan")}),
    ("tell", {"reward": "good"}),
    ("expire", {"before": 0.0}),
    ("expire", {"before": "yesterday"}),
    ("expire", {"before": float("inf")}),
    ("space", {"space": {}}),
    ("space", {"space": None}),
    ("arm", {"arm": 1}),
    ("arm", {"config": {"model": "none"}}),
    ("arm", {"config": [1]}),
    ("state", {"arm": 99}),
    ("state", {"arm": [1]}),
    ("state", {"arm": 10**30}),
    ("state", {"state": "asleep"}),
    ("state", {"state": []}),
    ("ask", {"at": "noon"}),
    ("tell", {"at": float("nan")}),
    ("ask", {"kind": "beg"}),
    ("ask", {"kind": None}),
    ("ask", {"kind": ["ask"]}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "edit"), EDITS, ids=str)
def test_an_edited_line_is_named(
    log: list[dict[str, Any]], kind: str, edit: dict[str, Any]
) -> None:
    place = place_of(log, kind)
    changed = [*log[:place], log[place] | edit, *log[place + 1 :]]
    with pytest.raises(ReplayMismatch, match=rf"^line {place + 1} of the log"):
        replay(changed)


FOLLOWED = {"origin", "parent", "mutated"}  # read only where a service's requests are followed
TOLD = {"difference"}  # follows from the spaces; older versions did not write it


@pytest.mark.parametrize("kind", ["ask", "tell", "expire", "state", "arm", "space"])
def test_a_line_without_one_of_its_fields_is_named(log: list[dict[str, Any]], kind: str) -> None:
    place = place_of(log, kind)
    for field in set(log[place]) - FOLLOWED - TOLD:
        short = {name: value for name, value in log[place].items() if name != field}
        with pytest.raises(ReplayMismatch, match=rf"^line {place + 1} of the log"):
            replay([*log[:place], short, *log[place + 1 :]])


def test_an_edited_reward_shows_where_it_first_changes_a_decision(
    log: list[dict[str, Any]],
) -> None:
    changed = [entry | {"reward": 0.0} if "reward" in entry else entry for entry in log]
    changed[0] = log[0]
    with pytest.raises(ReplayMismatch, match=r"^line \d+ of the log came out as"):
        replay([entry | ({"reward": entry["pull"] % 2} if "reward" in entry else {})
                for entry in log])  # fmt: skip
    with pytest.raises(ReplayMismatch, match=r"^line \d+ of the log"):
        replay([log[0] | {"seed": 2}, *log[1:]])


def test_a_lost_or_repeated_ask_is_a_mismatch(log: list[dict[str, Any]]) -> None:
    place = place_of(log, "ask")
    with pytest.raises(ReplayMismatch, match=rf"^line {place + 1} "):
        replay(log[:place] + log[place + 1 :])
    with pytest.raises(ReplayMismatch, match=rf"^line {place + 2} "):
        replay(log[: place + 1] + log[place:])


WRONG_HEADS: list[dict[str, Any]] = [
    {"kind": "ask"},
    {"format": 99},
    {"format": None},
    {"name": ""},
    {"name": 5},
    {"name": []},
    {"seed": None},
    {"seed": -1},
    {"seed": 0.5},
    {"space": None},
    {"space": []},
    {"space": {"parameters": 3}},
    {"policy": None},
    {"policy": {"type": "Nobody"}},
    {"policy": {"type": ["IMOSS"]}},
    {"policy": {"type": "IMOSS", "beta": 5}},
    {"policy": {"type": "IMOSS", "gamma": 5}},
    {"policy": {"type": "Policy"}},
    {"policy": "IMOSS"},
    {"oracle": {"type": "Mixed", "oracle": {"type": "Nobody"}}},
    {"oracle": {"type": "Mixed"}},
    {"oracle": 7},
    {"reward_range": [1, 0]},
    {"reward_range": "01"},
    {"reward_range": [0, 10**400]},
    {"window_s": -1},
    {"window_s": 10**400},
    {"window_s": "long"},
    {"created_at": "today"},
    {"created_at": float("inf")},
]


@pytest.mark.parametrize("edit", WRONG_HEADS, ids=lambda edit: str(edit)[:60])
def test_a_malformed_first_line_is_a_mismatch(
    log: list[dict[str, Any]], edit: dict[str, Any]
) -> None:
    with pytest.raises(ReplayMismatch):
        replay([log[0] | edit, *log[1:]])


@pytest.mark.parametrize(
    "field",
    ["name", "seed", "space", "policy", "oracle", "reward_range", "window_s", "created_at"],
)
def test_a_first_line_without_a_field_is_a_mismatch(log: list[dict[str, Any]], field: str) -> None:
    with pytest.raises(ReplayMismatch, match="line 1"):
        replay([{name: value for name, value in log[0].items() if name != field}, *log[1:]])


@pytest.mark.parametrize(
    "line", ["", "{", "[]", "null", "1" * 5000, '"ask"', "{}", "[" * 100_000, "\0", None, 5],
    ids=lambda line: repr(line)[:12],
)  # fmt: skip
def test_lines_that_are_no_entries_are_a_mismatch(log: list[dict[str, Any]], line: Any) -> None:
    with pytest.raises(ReplayMismatch):
        Study.replay([line])
    with pytest.raises(ReplayMismatch, match=r"^line 2 "):
        Study.replay([json.dumps(log[0]), line])


def test_an_empty_log_is_a_mismatch() -> None:
    with pytest.raises(ReplayMismatch):
        Study.replay([])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("context", {"a": math.nan}),
        ("context", "x" * 20_000),
        ("reason", ["waiting"]),
        ("origin", "elsewhere"),
        ("origin", None),
        ("parent", 99),
        ("parent", 10**400),
        ("mutated", {"x": 1}),
    ],
)
def test_a_log_of_a_service_is_followed_only_where_it_makes_sense(
    log: list[dict[str, Any]], sqlite_url: str, name: str, value: object
) -> None:
    """What was decided elsewhere cannot be compared, but must be something a study can have."""
    first, second = [i for i, entry in enumerate(log) if entry["kind"] == "ask"][:2]
    edited = [dict(entry) for entry in log]
    edited[first]["reason"] = "prepared"
    edited[second][name] = value
    with pytest.raises(ReplayMismatch, match=f"line {second + 1} of the log cannot be replayed"):
        Study.replay(map(json.dumps, edited), store=sqlite_url)


def test_a_failed_replay_leaves_no_study_and_lets_go_of_its_file(
    log: list[dict[str, Any]], sqlite_url: str
) -> None:
    # An open connection would be a ResourceWarning, which is an error here.
    with pytest.raises(ReplayMismatch):
        Study.replay([json.dumps(log[0]), "{}"], store=sqlite_url)
    with pytest.raises(UnknownStudy):
        Study.open("s", store=sqlite_url)


# --- arms that were added together ------------------------------------------------------------


@pytest.fixture
def additions() -> Study:
    """A study that several arms were added to at once, more than once."""
    study = Study.create("s", mixed_space(), seed=3, oracle=oracles.Random(), clock=lambda: 5.0)
    rng = np.random.default_rng(0)
    study.add_arms([study.space.sample(rng) for _ in range(30)])
    play(study, 40, lambda pull: 0.5)
    study.pause(7)
    study.retire(9)
    study.add_arms([study.arms()[8].config, study.space.sample(rng), study.arms()[6].config])
    study.pause(7)
    study.add_arms([study.arms()[6].config])
    play(study, 10, lambda pull: 0.5)
    return study


def test_arms_that_were_added_together_are_made_again(additions: Study) -> None:
    lines = lines_of(additions)
    again = Study.replay(lines)
    assert story(again) == story(additions)
    assert again.events() == additions.events()
    assert lines_of(again) == lines
    assert audit(additions.store, "s") == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("configs", []),
        ("configs", None),
        ("configs", [{"model": "small"}]),
        ("first", 2),
        ("last", 40),
        ("resumed", [31]),
        ("resumed", ["7"]),
        ("resumed", None),
    ],
    ids=repr,
)
def test_additions_that_were_edited_are_a_mismatch(
    additions: Study, name: str, value: object
) -> None:
    entries = [json.loads(line) for line in lines_of(additions)]
    first = next(entry for entry in entries if entry["kind"] == "arms")
    first[name] = value
    with pytest.raises(ReplayMismatch):
        Study.replay(map(json.dumps, entries))
