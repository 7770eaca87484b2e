"""Several processes on one file: nobody breaks, nobody waits long, nothing is counted twice."""

from __future__ import annotations

import math
from contextlib import ExitStack, closing
from itertools import pairwise
from pathlib import Path
from typing import Any

from imabo import Study, policies
from imabo.stores import SQLiteStore
from imabo.testing.stores.facts import check_sums, everything
from tests.stores.processes import Child, run_together

WRITE = "tests.stores.children.write"
READ = "tests.stores.children.read"
LONGEST_S = 30.0  # for one ask or tell, on a machine that does other things as well


def check_told(path: str, found: list[dict[str, Any]]) -> None:
    """What the writers say they did is what the file has, and the counters are its sums."""
    with Study.open("study", store=f"sqlite:///{path}") as study:
        rewards = {pull.id: pull.reward for pull in study}
    told = [item for one in found for item in one["told"].items()]
    assert len(told) == len(rewards)
    assert dict(told) == rewards
    with closing(SQLiteStore(path)) as store:
        check_sums(store)


def check_growth(path: str) -> None:
    """No two arms are equal, and at pull t there were fewer than max(N_s, 3 t^beta) arms."""
    policy = policies.Informed()
    with closing(SQLiteStore(path)) as store:
        found = everything(store)
    configs = [tuple(sorted(arm.config.items())) for arm in found.snapshot.arms]
    assert len(configs) == len(set(configs))
    admitted: dict[int, int] = {}
    for pull in found.pulls:
        admitted.setdefault(pull.arm, pull.number)
    for n_before, arm in enumerate(sorted(admitted)):
        bound = max(policy.warmup, policy.scale * math.pow(admitted[arm], policy.beta))
        assert n_before < bound
    assert len(configs) > policy.warmup  # the bound was put to use


def test_readers_do_not_break_or_hold_up_a_writer(study_path: str, tmp_path: Path) -> None:
    stop = tmp_path / "stop"
    with ExitStack() as stack:
        readers = [stack.enter_context(Child(READ, study_path, stop)) for _ in range(3)]
        writer = stack.enter_context(Child(WRITE, study_path, 1, 120))
        for child in (*readers, writer):
            child.ready()
        for child in (*readers, writer):
            child.start()
        written = writer.answer()
        stop.touch()
        seen = [reader.answer() for reader in readers]
    assert written["slowest_s"] < LONGEST_S
    assert all(counts == sorted(counts) for counts in seen)
    # They really read while it wrote.
    assert any(0 < count < len(written["told"]) for counts in seen for count in counts)
    check_told(study_path, [written])


def test_two_writers_on_one_study_decide_as_if_they_took_turns(study_path: str) -> None:
    found = run_together(WRITE, [(study_path, seed, 120) for seed in (1, 2)])
    assert max(one["slowest_s"] for one in found) < LONGEST_S
    check_told(study_path, found)
    check_growth(study_path)
    with Study.open("study", store=f"sqlite:///{study_path}") as study:
        owners = [int(pull.id in found[0]["told"]) for pull in study]
    # They really ran at the same time: the pulls of the two are mixed.
    assert sum(a != b for a, b in pairwise(owners)) >= 2
