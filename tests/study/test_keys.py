"""Keys beside the contract: in a log that is replayed, and in a large study."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from imabo import Float, Space, Study, oracles
from imabo.documents import RETRY_PREFIX
from imabo.errors import ReplayMismatch, RewardConflict
from imabo.stores import MemoryStore
from imabo.stores.sqlite import statements
from imabo.testing.study.base import letters


def log_of(study: Study) -> list[str]:
    text = io.StringIO()
    study.export(text, "jsonl")
    return text.getvalue().splitlines()


def test_a_replayed_study_knows_its_keys() -> None:
    study = Study.create("s", letters("a", "b"), seed=1)
    study.ask(key="order-3", context={})
    study.ask(count=3, key="job")
    study.ask(key=RETRY_PREFIX + "0f")
    study.tell(key="job", part=2, reward=0.5)
    again = Study.replay(log_of(study))
    keys = [(pull.key, pull.part, pull.reward, pull.context) for pull in again]
    assert keys == [(pull.key, pull.part, pull.reward, pull.context) for pull in study]
    again.tell(key="order-3", reward=1.0)
    assert again.ask(count=3, key="job") == again.pulls_of("job")
    assert log_of(again)[1:6] == log_of(study)[1:6]


def test_a_log_whose_keys_do_not_add_up_is_refused() -> None:
    study = Study.create("s", letters("a", "b"), seed=1)
    study.ask(count=2, key="job")
    head, first, second = log_of(study)
    for part in (0, 2, "1", None, True):
        broken = json.dumps(json.loads(second) | {"part": part})
        with pytest.raises(ReplayMismatch, match="line 3"):
            Study.replay([head, first, broken])


def test_a_look_up_by_key_uses_the_index(tmp_path: Path) -> None:
    study = Study.create("s", Space(x=Float(0, 1)), seed=0, store=f"sqlite:///{tmp_path}/a.db")
    study.ask(key="k")
    with study.store._connections.reading() as db:  # type: ignore[attr-defined]
        wanted = {"study": 1, "keys": '["k"]'}
        plan = db.execute("EXPLAIN QUERY PLAN " + statements.KEYED, wanted).fetchall()
    steps = [row[3] for row in plan]
    assert "SEARCH pulls USING INDEX pulls_key (study=? AND key=?)" in steps
    assert not any(step.startswith("SCAN pulls") for step in steps)
    study.close()


def test_pruning_in_memory_forgets_the_keys_of_what_it_takes() -> None:
    study = Study.create("s", letters("a"), seed=0, store=MemoryStore(), oracle=oracles.Random())
    study.ask(count=2, key="job")
    study.tell(key="job", part=0, reward=1.0)
    assert study.store.prune("s", before=1e12) == 1
    assert [pull.part for pull in study.pulls_of("job")] == [1]
    study.tell(key="job", part=1, reward=1.0)


def test_a_second_reward_is_refused_by_the_name_that_was_told() -> None:
    study = Study.create("s", letters("a", "b"), seed=0)
    pull = study.ask(key="order-3")
    study.tell(key="order-3", reward=1.0)
    with pytest.raises(RewardConflict, match=r"the pull with the key 'order-3' has the reward 1"):
        study.tell(key="order-3", reward=0.0)
    with pytest.raises(RewardConflict, match=f"pull {pull.id} has the reward 1"):
        study.tell(pull.id, 0.0)
