"""The checker finds what it is for: every way to spoil a database, or an answer, is noticed."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from imabo.stores import open_store
from imabo.testing.audit import audit
from tests.chaos.checker import check
from tests.chaos.history import History
from tests.chaos.sample import NAME, play

# Some pulls to spoil. 'N' stands for them: of many that would do, the first.
REWARDED = "(SELECT min(number) FROM pulls WHERE state = 'rewarded' AND reason = 'index')"
KEYED = "(SELECT min(number) FROM pulls WHERE key IS NOT NULL AND part = 0)"
OTHER_ARM = "(SELECT max(id) FROM arms)"

# What is done to the database, and the kind of violation that the audit must find.
SPOILT_FACTS = {
    "a reward is deleted": (
        "UPDATE pulls SET state = 'pending', reward = NULL, rewarded_at = NULL, "
        f"rewarded_seq = NULL WHERE number = {REWARDED}",
        "counters",
    ),
    "a value is changed": (f"UPDATE pulls SET reward = 0.5 WHERE number = {REWARDED}", "counters"),
    "the last digit of a value is changed": (
        f"UPDATE pulls SET reward = reward * (1 + 2e-16) WHERE number = {REWARDED}",
        "counters",
    ),
    "a value is out of the range": (
        f"UPDATE pulls SET reward = 2.0 WHERE number = {REWARDED}",
        "pulls",
    ),
    "an arm's counter is doubled": ("UPDATE arms SET n_rewards = 2 * n_rewards", "counters"),
    "an arm's sum is doubled": (
        "UPDATE arms SET reward_sum = 2 * reward_sum WHERE id = 1",
        "counters",
    ),
    "the study's counter is doubled": ("UPDATE studies SET n_rewards = 2 * n_rewards", "counters"),
    "the study's sum is doubled": ("UPDATE studies SET reward_sum = 2 * reward_sum", "counters"),
    "one more is pending": ("UPDATE studies SET n_pending = n_pending + 1", "counters"),
    "two arms are equal": (
        "UPDATE arms SET config = (SELECT config FROM arms WHERE id = 1) WHERE id = 2",
        "arms",
    ),
    "an arm is gone": (f"DELETE FROM arms WHERE id = {OTHER_ARM}", "arms"),
    "an arm is paused without a word": ("UPDATE arms SET state = 'paused' WHERE id = 1", "arms"),
    "an arm's id is skipped": (
        f"UPDATE arms SET id = id + 1 WHERE id = {OTHER_ARM}",
        "numbers",
    ),
    "a pull is gone": (f"DELETE FROM pulls WHERE number = {REWARDED}", "numbers"),
    "the last pull is gone": (
        "DELETE FROM pulls WHERE number = (SELECT max(number) FROM pulls)",
        "numbers",
    ),
    "a pull has expired too early": (
        "UPDATE pulls SET state = 'expired' WHERE number = (SELECT max(number) FROM pulls "
        "WHERE state = 'pending')",
        "pulls",
    ),
    "a pull is of another arm": (
        f"UPDATE pulls SET arm = 1 + (arm = 1) WHERE number = {REWARDED}",
        "counters",
    ),
    "a signal is deleted": (
        f"UPDATE pulls SET signals = NULL WHERE number = {REWARDED}",
        "counters",
    ),
    "an arm's sum of a signal is doubled": (
        "UPDATE arms SET signals = json_set(signals, '$.cost[1]', 2 * signals ->> '$.cost[1]') "
        "WHERE signals IS NOT NULL",
        "counters",
    ),
    "a transaction is missing": ("UPDATE studies SET seq = seq + 1", "pulls"),
    "the schedule allowed fewer arms": (
        "UPDATE studies SET policy = json_set(policy, '$.beta', 0.3)",
        "schedule",
    ),
    "the schedule wanted more arms": (
        "UPDATE studies SET policy = json_set(policy, '$.beta', 0.7)",
        "schedule",
    ),
    "the policy would have chosen others": (
        "UPDATE studies SET policy = json_set(policy, '$.alpha', 5.0)",
        "decision",
    ),
}

# What only the client can know, and the words for it.
SPOILT_PROMISES = {
    "an acknowledged reward is gone": (SPOILT_FACTS["a reward is deleted"][0], "acknowledged and"),
    "an acknowledged reward is another": (
        SPOILT_FACTS["a value is changed"][0],
        "was acknowledged and 0.5 is there",
    ),
    "a refused reward is there": (
        f"UPDATE pulls SET reward = reward / 2 WHERE number = {REWARDED}",
        "was refused and",
    ),
    "a reward is there that nobody sent": (
        "UPDATE pulls SET state = 'rewarded', reward = 0.25, rewarded_at = 1e4, rewarded_seq = 1 "
        "WHERE number = (SELECT min(number) FROM pulls WHERE state <> 'rewarded')",
        "0.25 is there and was never sent",
    ),
    "an acknowledged signal is gone": (
        SPOILT_FACTS["a signal is deleted"][0],
        "was acknowledged and None is there",
    ),
    "an acknowledged signal is another": (
        f"UPDATE pulls SET signals = json_set(signals, '$.cost[0]', 0.5) WHERE number = {REWARDED}",
        "was acknowledged and 0.5 is there",
    ),
    "an acknowledged pull is gone": (SPOILT_FACTS["a pull is gone"][0], "is not there"),
    "a pull is there that nobody asked for": (
        "INSERT INTO pulls (study, number, arm, reason, state, served_at, served_seq) "
        "SELECT study, number + 1, arm, reason, 'pending', served_at, served_seq FROM pulls "
        "ORDER BY number DESC LIMIT 1",
        "pulls have no key",
    ),
    "a configuration is another": (
        "UPDATE arms SET config = json_set(config, '$.x', 0.125) WHERE id = 3",
        "was acknowledged and is",
    ),
    "a context is another": (
        f"UPDATE pulls SET context = '[1]' WHERE number = {KEYED}",
        "was acknowledged and is",
    ),
    "a key is another": (f"UPDATE pulls SET key = 'k' WHERE number = {KEYED}", "was never sent"),
    "a key is gone": (f"UPDATE pulls SET key = NULL WHERE number = {KEYED}", "pulls have no key"),
    "a key has a pull of another": (
        "UPDATE pulls SET key = (SELECT key FROM pulls WHERE key IS NOT NULL LIMIT 1), part = 9 "
        "WHERE number = (SELECT max(number) FROM pulls)",
        "has the parts",
    ),
}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, History]:
    path = tmp_path_factory.mktemp("sample") / "imabo.db"
    return path, play(path)


@pytest.fixture
def sample(played: tuple[Path, History], tmp_path: Path) -> tuple[str, History]:
    path, history = played
    return f"sqlite:///{shutil.copy(path, tmp_path)}", history


def spoil(url: str, statement: str) -> None:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as db:
        assert db.execute(statement).rowcount > 0
        db.commit()


def test_a_sound_study_has_nothing_to_find(sample: tuple[str, History]) -> None:
    url, history = sample
    assert check(history, url) == []
    assert history.counts["conflicts"] == history.n_acknowledged > 200


@pytest.mark.parametrize(("statement", "kind"), SPOILT_FACTS.values(), ids=list(SPOILT_FACTS))
def test_the_audit_finds(sample: tuple[str, History], statement: str, kind: str) -> None:
    url, _ = sample
    spoil(url, statement)
    with closing(open_store(url)) as store:
        assert kind in {violation.kind for violation in audit(store, NAME)}


OF_THE_NEWEST_VIEW = {"the schedule wanted more arms", "the policy would have chosen others"}


@pytest.mark.parametrize("name", list(SPOILT_FACTS))
def test_the_audit_of_a_shared_study_leaves_out_what_needs_the_newest_view(
    sample: tuple[str, History], name: str
) -> None:
    url, _ = sample
    statement, kind = SPOILT_FACTS[name]
    spoil(url, statement)
    with closing(open_store(url)) as store:
        kinds = {violation.kind for violation in audit(store, NAME, is_shared=True)}
    assert (kind in kinds) != (name in OF_THE_NEWEST_VIEW)


@pytest.mark.parametrize(
    ("statement", "words"), SPOILT_PROMISES.values(), ids=list(SPOILT_PROMISES)
)
def test_the_checker_finds(sample: tuple[str, History], statement: str, words: str) -> None:
    url, history = sample
    spoil(url, statement)
    found = [what for what in check(history, url) if what.startswith("study ")]
    assert any(words in what for what in found), found


def test_the_audit_lists_the_first_and_counts_the_rest(sample: tuple[str, History]) -> None:
    url, _ = sample
    spoil(url, "UPDATE arms SET n_pulls = n_pulls + 1")
    with closing(open_store(url)) as store:
        found = [str(violation) for violation in audit(store, NAME)]
    assert len(found) == 11
    assert found[0].startswith("counters: the tally of arm 1 is Tally(")
    assert found[-1].startswith("counters: and ")


def test_answers_that_contradict_each_other_are_noticed() -> None:
    history = History()
    asked = history.asked("s", "key", 1, None)
    pull = dict.fromkeys(("id", "study", "arm", "config", "reason", "served_at", "context"), "a")
    assert history.got(asked, [pull])
    assert not history.got(asked, [pull])
    assert history.contradictions == []
    history.got(asked, [pull | {"id": "b"}])
    history.got(history.asked("s", "other", 2, None), [pull])
    for value in (0.25, 0.5):
        history.telling("a", value)
        history.recorded("a", value)
    history.conflicted("a", 0.5)
    assert [what.split()[1] for what in history.contradictions] == ["key", "2", "pull", "pull"]
