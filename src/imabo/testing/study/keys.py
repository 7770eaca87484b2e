"""The contract of keys: a caller's own names for pulls."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from imabo.engine.requests import Reward
from imabo.errors import (
    InvalidReward,
    InvalidSetting,
    RewardConflict,
    UnknownKey,
    UnknownPull,
)
from imabo.study import Study
from imabo.testing.study.base import MakeStudy, ManualClock, StudyCases, letters, refused

STRANGE = ["a/b", "..", "with space", "Grüße 你好", "50%", "a!b", "?x=1#y", "k-1", "a\nb", "=1+1"]
NOT_A_KEY: list[Any] = ["", " ", "\0", "x" * 201, "\ud800", 5, b"k"]


class KeyCases(StudyCases):
    """Telling and looking up by the key of an ask."""

    def test_a_pull_has_the_key_of_its_ask(self, study: Study) -> None:
        """And none when the caller gave none, whoever asked."""
        named, plain = study.ask(key="order-3"), study.ask()
        assert (named.key, named.part, plain.key, plain.part) == ("order-3", 0, None, 0)
        assert [pull.key for pull in study] == ["order-3", None]
        assert study.pull(key="order-3") == study.pull(named.id) == named

    def test_a_reward_may_name_the_key(self, study: Study) -> None:
        """Again with the same value changes nothing; another value is a conflict."""
        pull = study.ask(key="order-3")
        study.tell(key="order-3", reward=0.75)
        assert (study.pull(pull.id).reward, study.n_rewards) == (0.75, 1)
        study.tell(key="order-3", reward=0.75)
        study.tell(pull.id, 0.75)
        with refused(study, RewardConflict, 0.75):
            study.tell(key="order-3", reward=0.5)
        with refused(study, InvalidReward, 1.5):
            study.tell(key="order-3", reward=1.5)
        assert study.n_rewards == 1

    def test_an_unknown_key_is_refused_and_asks_nothing(self, study: Study) -> None:
        """The error names the key and the study, and says what to do."""
        study.ask(key="known")
        for call in (
            lambda: study.tell(key="r-1", reward=0.5),
            lambda: study.pull(key="r-1"),
            lambda: study.pulls_of("r-1"),
        ):
            with refused(study, UnknownKey, "r-1") as caught:
                call()
            assert "'s'" in str(caught.value)
            assert "pruned" in str(caught.value)
        assert (study.n_pulls, issubclass(UnknownKey, UnknownPull)) == (1, True)

    def test_keys_are_those_of_one_study(self, make_study: MakeStudy) -> None:
        """The same key names another pull in another study."""
        one, other = (make_study(name, letters("a"), seed=1) for name in "ab")
        one.ask(key="k")
        with refused(other, UnknownKey, "k"):
            other.tell(key="k", reward=1.0)
        other.ask(key="k")
        other.tell(key="k", reward=1.0)
        assert (one.n_rewards, other.n_rewards) == (0, 1)

    def test_a_key_of_several_pulls_needs_the_part(self, study: Study) -> None:
        """The refusal names the parts."""
        pulls = study.ask(count=3, key="job")
        assert [(pull.key, pull.part) for pull in pulls] == [("job", part) for part in range(3)]
        assert study.pulls_of("job") == pulls
        for call in (lambda: study.tell(key="job", reward=1.0), lambda: study.pull(key="job")):
            with refused(study, InvalidSetting, "job") as caught:
                call()
            assert "parts 0, 1, 2" in str(caught.value)
        with refused(study, UnknownKey, "job"):
            study.tell(key="job", part=3, reward=1.0)
        study.tell(key="job", part=1, reward=0.25)
        assert [pull.reward for pull in study.pulls_of("job")] == [None, 0.25, None]
        assert study.pull(key="job", part=1).id == pulls[1].id

    def test_one_of_id_and_key_names_a_pull(self, study: Study) -> None:
        """Both, neither, and a part without a key are refused."""
        call: Any = study.tell
        pull = study.ask(key="k")
        with refused(study, InvalidSetting, pull.id) as caught:
            call(pull.id, 0.5, key="k")
        assert "only one" in str(caught.value)
        signal: Any = study.signal
        for unnamed in (
            lambda: call(reward=0.5), call, lambda: call(reward="much"), lambda: call(part=0),
            lambda: call(signals={"cost": 1.0}), signal, lambda: call(None, 0.5), study.pull,
        ):  # fmt: skip
            with refused(study, UnknownPull) as caught:
                unnamed()
            assert "neither pull_id nor key was given" in str(caught.value)
        (missing,) = study.tell_many([Reward(cast("float", None))])
        assert "pull_id" in str(missing)
        with refused(study, InvalidSetting, 0):
            call(pull.id, 0.5, part=0)
        with refused(study, InvalidReward):
            call(key="k")
        with refused(study, InvalidSetting):
            study.pull(pull.id, key="k")
        for part in (-1, 1.0, True, "0"):
            with refused(study, InvalidSetting, part):
                call(key="k", reward=0.5, part=part)

    def test_any_text_is_a_key(self, study: Study) -> None:
        """Whatever a path or a file would make of it."""
        for key in STRANGE:
            pull = study.ask(key=key)
            study.tell(key=key, reward=0.5)
            assert study.pull(key=key).id == pull.id
            assert study.tell_many([Reward(0.5, key=key)]) == [None]
        assert [one.key for one in study] == STRANGE

    def test_what_is_not_a_key_is_refused(self, study: Study) -> None:
        """As when asking."""
        for key in NOT_A_KEY:
            with refused(study, InvalidSetting):
                study.tell(key=key, reward=0.5)
            with refused(study, InvalidSetting):
                study.pull(key=key)
            (error,) = study.tell_many([Reward(0.5, key=key)])
            assert isinstance(error, InvalidSetting)

    def test_many_rewards_may_name_keys_and_ids(self, study: Study) -> None:
        """One that is refused does not hold up the others."""
        pull, _, job = study.ask(), study.ask(key="a"), study.ask(count=2, key="job")
        told = study.tell_many(
            [
                Reward(0.1, key="a"),
                (pull.id, 0.2),
                Reward(0.3, key="missing"),
                Reward(0.4, key="job", part=1),
                Reward(0.5, key="job"),
                Reward(0.6, pull_id=job[0].id),
                Reward(7.0, key="a"),
                Reward(0.1, key="a"),
            ]
        )
        codes = [error and error.code for error in told]
        assert codes == [None, None, "unknown_key", None, "invalid_setting", None,
                         "invalid_reward", None]  # fmt: skip
        assert [one.reward for one in study] == [0.2, 0.1, 0.6, 0.4]

    def test_a_key_whose_pull_was_pruned_is_unknown(self, make_study: MakeStudy) -> None:
        """It may be used again."""
        clock = ManualClock(1e9)
        study = make_study("s", letters("a"), seed=1, clock=clock)
        study.ask(key="old")
        study.tell(key="old", reward=1.0)
        clock.now += 100.0
        assert study.prune(datetime.fromtimestamp(clock.now, UTC) - timedelta(seconds=50)) == 1
        with refused(study, UnknownKey, "old") as caught:
            study.tell(key="old", reward=1.0)
        assert "pruned" in str(caught.value)
        assert study.ask(key="old").key == "old"

    def test_a_late_reward_may_name_the_key(self, make_study: MakeStudy) -> None:
        """A pull past its window is still known by its key."""
        clock = ManualClock(1e9)
        study = make_study("s", letters("a"), seed=1, clock=clock, window_s=10.0)
        study.ask(key="late")
        clock.now += 1000.0
        assert study.expire() == 1
        study.tell(key="late", reward=1.0)
        assert study.pull(key="late").state == "rewarded"

    def test_exports_have_the_keys(self, make_study: MakeStudy) -> None:
        """So that a log of one's own can be joined with them."""
        study = make_study("s", letters("a", "b"), seed=1)
        study.ask(key="order-3"), study.ask(), study.ask(count=2, key="=1+1")
        text = io.StringIO()
        study.export(text, "jsonl")
        lines = [json.loads(line) for line in text.getvalue().splitlines()[1:]]
        keys = [(line.get("key"), line.get("part", 0)) for line in lines]
        assert keys == [("order-3", 0), (None, 0), ("=1+1", 0), ("=1+1", 1)]
        text = io.StringIO()
        study.export(text, "csv")
        rows = list(csv.DictReader(io.StringIO(text.getvalue())))
        # What a spreadsheet would take for a formula is JSON.
        assert [(row["key"], row["part"]) for row in rows] == [
            *(("order-3", "0"), ("", "0")),
            *(('"=1+1"', "0"), ('"=1+1"', "1")),
        ]
