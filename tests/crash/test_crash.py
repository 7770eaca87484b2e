"""After ``kill -9`` at any instant: what was handed out and acknowledged is there, exactly once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from tests.loops import first
from tests.stores.processes import Child

Call = dict[str, Any]
Line = tuple[int, str, Call]


@dataclass
class Said:
    """What a killed process said: the calls that returned, and the one that may have happened."""

    done: list[Call] = field(default_factory=list)
    in_flight: Call | None = None

    def hear(self, line: Line) -> None:
        _, when, call = line
        if when == "before":
            self.in_flight = call
        else:
            self.done.append(call)
            self.in_flight = None

    def all_done(self, *kinds: str) -> list[Call]:
        return [call for call in self.done if call["do"] in kinds]

    def in_flight_if(self, *kinds: str) -> Call | None:
        call = self.in_flight
        return call if call is not None and call["do"] in kinds else None


def crash(path: Path, seed: int, is_time: Callable[[Line], bool], delay_s: float) -> Said:
    """Run traffic, kill it a moment after a line for which it is time, hear all it said."""
    said = Said()
    with Child("tests.crash.traffic", path, seed) as child:
        while text := child.line():
            line: Line = tuple(json.loads(text))
            said.hear(line)
            if is_time(line):
                break
        began = time.perf_counter()
        while time.perf_counter() - began < delay_s:  # finer than sleep
            pass
        child.process.kill()
        while (text := child.line()).endswith("\n"):
            said.hear(tuple(json.loads(text)))
    return said


def check(said: Said, path: Path) -> None:
    """Compare what was said with what a new process finds."""
    with Child("tests.crash.report", path) as child:
        found = child.answer()
    if found is None:
        assert said.done == []
        return
    check_pulls(said, found)
    check_rewards(said, found)
    check_changes(said, found)
    assert found["integrity"] == "ok"
    assert found["gapless"]
    n_rewards = sum(reward is not None for _, reward in found["pulls"])
    assert found["n_rewards_gone_on"] == n_rewards + 6


def check_pulls(said: Said, found: dict[str, Any]) -> None:
    """Every pull that was handed out is there once; a batch is there whole or not at all."""
    handed_out = [pull for call in said.all_done("ask") for pull in call["ids"]]
    ids = [pull for pull, _ in found["pulls"]]
    assert len(set(ids)) == len(ids)
    assert ids[: len(handed_out)] == handed_out
    asked = said.in_flight_if("ask")
    assert len(ids) - len(handed_out) in (0, asked["count"] if asked else 0)


def check_rewards(said: Said, found: dict[str, Any]) -> None:
    """Every acknowledged reward is there with its value, and at most one more."""
    told = {call["id"]: call["reward"] for call in said.all_done("tell")}
    rewards = {pull: reward for pull, reward in found["pulls"] if reward is not None}
    last = said.in_flight_if("tell")
    maybe = told | ({last["id"]: last["reward"]} if last else {})
    assert rewards in (told, maybe)


def check_changes(said: Said, found: dict[str, Any]) -> None:
    """Every acknowledged change by hand is there, and at most one more."""
    last = said.in_flight_if("update_space", "pause", "resume")
    n_spaces = 1 + len(said.all_done("update_space"))
    versions = {n_spaces, n_spaces + (last is not None and last["do"] == "update_space")}
    assert found["space_version"] in versions
    states = {str(call["arm"]): call["do"] for call in said.all_done("pause", "resume")}
    for arm, did in states.items():
        if last is None or (last["do"] != "update_space" and last["arm"] != int(arm)):
            # A space that forbids the arm retires it.
            assert found["states"][arm] in ("paused" if did == "pause" else "active", "retired")


# Instants, each of a seed of its own: the traffic, the moment and the delay all follow from it.
# The first few of each kind are a part of `make test`, all of them of `make test-long`.
STARTUP: Final = range(100, 106)
MIDDLE: Final = range(200, 212)
BATCH: Final = range(300, 309)


@pytest.mark.parametrize("seed", first(2, STARTUP))
def test_killed_while_the_study_is_made(tmp_path: Path, seed: int) -> None:
    path, rng = tmp_path / "imabo.db", Random(seed)
    # From the moment before create() on, over the time it takes to make the file.
    said = crash(path, seed, lambda line: True, delay_s=rng.uniform(0.0, 0.03))
    check(said, path)


@pytest.mark.parametrize("seed", first(2, MIDDLE))
def test_killed_in_the_middle_of_traffic(tmp_path: Path, seed: int) -> None:
    path, rng = tmp_path / "imabo.db", Random(seed)
    number, delay_s = rng.randint(20, 250), rng.uniform(0.0, 0.003)
    said = crash(path, seed, lambda line: line[0] >= number, delay_s)
    assert len(said.done) >= number - 1
    check(said, path)


@pytest.mark.parametrize("seed", first(2, BATCH))
def test_killed_during_a_batch(tmp_path: Path, seed: int) -> None:
    path, rng = tmp_path / "imabo.db", Random(seed)
    number, delay_s = rng.randint(5, 150), rng.uniform(0.0, 0.004)

    def is_time(line: Line) -> bool:
        return line[0] >= number and line[1] == "before" and line[2].get("count", 0) > 10

    said = crash(path, seed, is_time, delay_s)
    check(said, path)


def test_the_instants_are_many() -> None:
    assert len({*STARTUP, *MIDDLE, *BATCH}) >= 25
