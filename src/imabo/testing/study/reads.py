"""The contract of what a study shows: best, events, arms, pulls, exports."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from imabo.errors import InvalidSetting, NoRewards
from imabo.policies import Informed
from imabo.study import Study
from imabo.testing.study.base import (
    QUICK,
    MakeStudy,
    StudyCases,
    change_world,
    facts_of,
    letters,
    mixed_space,
    play,
    refused,
    temperature_of,
)


class ReadCases(StudyCases):
    """What was learned, and how to take it elsewhere."""

    # --- best -----------------------------------------------------------------------------------

    def test_before_the_first_reward_there_is_no_best(self, study: Study) -> None:
        """Neither without pulls nor with pending ones."""
        with refused(study, NoRewards):
            study.best()
        study.ask(count=3)
        with refused(study, NoRewards):
            study.best()

    def test_best_reports_a_known_arm_with_an_interval_around_its_mean(
        self, make_study: MakeStudy
    ) -> None:
        """The interval lies in the reward range and narrows as the level falls.

        The mean is not the plain average, which is flattered by the choice; that is there, too.
        """
        study = make_study("s", mixed_space(), seed=1, **QUICK)
        play(study, 80, lambda pull: 1.0 if pull.config["model"] == "large" else 0.0)
        best = study.best()
        (arm,) = [arm for arm in study.arms() if arm.id == best.arm]
        assert (best.config, best.n_rewards) == (arm.config, arm.n_rewards)
        assert best.observed == arm.mean
        assert best.chance is not None
        assert 0.0 < best.chance <= 1.0
        low, high = best.interval
        assert 0.0 <= low <= best.mean <= high <= 1.0
        assert best.config["model"] == "large"
        assert (best.level, study.best(level=0.5).level) == (0.95, 0.5)
        assert best.since is None
        loose, tight = (study.best(level=level).interval for level in (0.99, 0.5))
        assert loose[1] - loose[0] > tight[1] - tight[0]

    def test_best_prefers_a_well_tried_arm_to_a_lucky_one(self, make_study: MakeStudy) -> None:
        """One perfect reward is not evidence."""
        study = make_study("s", letters("lucky", "steady"), seed=1)
        lucky = study.add_arm({"letter": "lucky"})
        rewarded = False
        for pull in study.ask(count=200):
            if pull.arm != lucky.id:
                study.tell(pull.id, 0.9)
            elif not rewarded:
                study.tell(pull.id, 1.0)
                rewarded = True
        means = {arm.config["letter"]: arm.mean for arm in study.arms()}
        assert means == {"lucky": 1.0, "steady": pytest.approx(0.9)}
        assert study.best().config == {"letter": "steady"}

    def test_best_speaks_in_the_study_s_own_reward_units(self, make_study: MakeStudy) -> None:
        """The same run with rewards ten times as large, moved down by five."""
        unit = make_study("unit", mixed_space(), seed=1, **QUICK)
        wide = make_study("wide", mixed_space(), seed=1, reward_range=(-5.0, 5.0), **QUICK)
        play(unit, 60, temperature_of)
        play(wide, 60, lambda pull: 10.0 * temperature_of(pull) - 5.0)
        one, other = unit.best(), wide.best()
        assert other.config == one.config
        assert other.mean == pytest.approx(10.0 * one.mean - 5.0)
        assert other.interval == pytest.approx([10.0 * end - 5.0 for end in one.interval])
        assert one.observed is not None
        assert other.observed == pytest.approx(10.0 * one.observed - 5.0)
        assert other.chance == pytest.approx(one.chance)

    def test_best_leaves_out_arms_that_are_not_served(self, make_study: MakeStudy) -> None:
        """A paused arm is not a recommendation; with all paused there is none."""
        study = make_study("s", letters("a", "b"), seed=1)
        play(study, 60, lambda pull: 0.9 if pull.config["letter"] == "a" else 0.1)
        best = study.best()
        assert best.config == {"letter": "a"}
        study.pause(best.arm)
        assert study.best().config == {"letter": "b"}
        assert study.best().chance == 1.0  # of those that are served
        study.retire(study.best().arm)
        with refused(study, NoRewards):
            study.best()

    # --- events ---------------------------------------------------------------------------------

    def test_changes_by_hand_are_events_in_order(self, make_study: MakeStudy) -> None:
        """The creation first, then what was done, with the details and in words."""
        study = make_study("s", letters("a", "b"), seed=1, **QUICK)
        arm = study.add_arm({"letter": "a"})
        for step in (study.pause, study.resume, study.retire):
            step(arm)
        study.update_space(letters("b", "c"))
        events = study.events()
        assert [event.kind for event in events] == ["created", "arm", *["state"] * 3, "space"]
        assert [str(event) for event in events] == [
            "the study was created",
            "arm 1 was added by hand",
            "arm 1 was paused",
            "arm 1 was resumed",
            "arm 1 was retired",
            "the space changed: parameter 'letter': the choice 'c' is added; parameter 'letter': "
            "the choice 'a' is removed",
        ]
        assert events[1].data == {"arm": 1, "config": {"letter": "a"}}
        assert events[2].data == {"arm": 1, "state": "paused"}
        changes = ["the choice 'c' is added", "the choice 'a' is removed"]
        assert events[5].data == {
            "space": letters("b", "c").to_dict(),
            "difference": [f"parameter 'letter': {change}" for change in changes],
        }
        assert events[0].at == study.created_at
        assert [event.at for event in events] == sorted(event.at for event in events)

    def test_requests_rewards_and_what_changes_nothing_are_no_events(
        self, make_study: MakeStudy
    ) -> None:
        """Nor do admissions of the policy count: they are decisions."""
        study = make_study("s", letters("a", "b"), seed=1, **QUICK)
        play(study, 20, lambda pull: 0.5)
        study.resume(1)
        study.update_space(letters("a", "b"))
        assert [event.kind for event in study.events()] == ["created"]

    def test_a_limit_keeps_the_newest_events(self, make_study: MakeStudy) -> None:
        """None of them, some, or more than there are."""
        study = make_study("s", letters("a", "b"), seed=1, **QUICK)
        study.pause(study.add_arm({"letter": "a"}))
        events = study.events()
        assert study.events(limit=0) == []
        assert study.events(limit=1) == events[-1:]
        assert study.events(limit=2) == events[-2:]
        assert study.events(limit=10_000) == events

    def test_a_change_of_the_world_is_an_event_and_best_starts_again(
        self, make_study: MakeStudy
    ) -> None:
        """In the study's own units; the recommendation rests on the rewards after it."""
        study = make_study(
            "s", letters("a", "b", "c"), seed=1, reward_range=(0.0, 10.0), policy=Informed(),
            **QUICK,
        )  # fmt: skip
        play(study, 20, lambda pull: 5.0)
        assert study.best().since is None
        change_world(study, scale=10.0)
        *_, event = study.events()
        assert 5.0 < event.data["before"] <= 10.0
        assert 0.0 <= event.data["after"] < event.data["before"]
        assert " fell from " in str(event)
        best = study.best()
        assert best.since == event.at
        assert best.n_rewards < sum(arm.n_rewards for arm in study.arms()) / 4

    # --- arms and pulls -------------------------------------------------------------------------

    def test_counters_are_sums_over_the_pulls(self, make_study: MakeStudy) -> None:
        """Of each arm and of the study."""
        study = make_study("s", mixed_space(), seed=3)
        for number, pull in enumerate(study.ask(count=40)):
            if number % 3:
                study.tell(pull.id, number / 40)
        pulls = list(study)
        for arm in study.arms():
            mine = [pull for pull in pulls if pull.arm == arm.id]
            rewards = [pull.reward for pull in mine if pull.reward is not None]
            assert all(pull.config == arm.config for pull in mine)
            assert (arm.n_pulls, arm.n_rewards) == (len(mine), len(rewards))
            assert arm.n_pending == sum(pull.state == "pending" for pull in mine)
            assert arm.mean == (pytest.approx(sum(rewards) / len(rewards)) if rewards else None)
        assert [arm.id for arm in study.arms()] == list(range(1, study.n_arms + 1))

    def test_length_and_iteration_follow_the_pulls(self, study: Study) -> None:
        """A new study is empty, true, and can be looped over as often as one likes."""
        assert (len(study), list(study), study.arms(), bool(study)) == (0, [], [], True)
        pulls = [study.ask() for _ in range(5)]
        assert len(study) == 5
        assert list(study) == list(study) == pulls

    def test_iteration_goes_through_many_pages(self, make_study: MakeStudy) -> None:
        """Every pull once, in order, however many there are."""
        study = make_study("s", letters("a", "b"), seed=1)
        asked = [pull.id for pull in [*study.ask(count=1500), *study.ask(count=1500)]]
        assert [pull.id for pull in study] == asked

    # --- export ---------------------------------------------------------------------------------

    def test_json_lines_hold_everything_that_happened(
        self, make_study: MakeStudy, tmp_path: Path
    ) -> None:
        """The settings first, then each event in order, to a path or to an open file."""
        study = make_study("s", letters("a", "b"), seed=4, reward_range=(0.0, 2.0))
        first = study.ask()
        study.tell(first.id, 2)
        study.pause(first.arm)
        study.ask()
        study.export(tmp_path / "log.jsonl")
        text = (tmp_path / "log.jsonl").read_text(encoding="utf-8")
        head, *entries = [json.loads(line) for line in text.splitlines()]
        assert (head["kind"], head["name"], head["seed"]) == ("study", "s", 4)
        assert (head["reward_range"], head["space"]) == ([0.0, 2.0], study.space.to_dict())
        assert [entry["kind"] for entry in entries] == ["ask", "tell", "state", "ask"]
        assert entries[0]["config"] == first.config
        assert entries[1]["reward"] == 2.0
        open_file = io.StringIO()
        study.export(open_file)
        assert open_file.getvalue() == text

    def test_csv_has_a_row_a_pull(self, make_study: MakeStudy, tmp_path: Path) -> None:
        """Values are plain; absent parameters and missing rewards are empty."""
        study = make_study("s", mixed_space(), seed=2)
        pulls = study.ask(count=12)
        study.tell(pulls[0].id, 0.1)
        study.export(tmp_path / "pulls.csv")
        with open(tmp_path / "pulls.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["id"] for row in rows] == [pull.id for pull in pulls]
        assert [row["reward"] for row in rows] == ["0.1"] + [""] * 11
        assert {row["state"] for row in rows[1:]} == {"pending"}
        for row, pull in zip(rows, pulls, strict=True):
            cells = {name: row[f"config.{name}"] for name in study.space.names}
            shown = {name: cell for name, cell in cells.items() if cell}
            assert shown == {name: str(value) for name, value in pull.config.items()}
        assert {bool(row["config.tokens"]) for row in rows} == {True, False}

    def test_csv_has_columns_for_parameters_of_earlier_spaces(self, make_study: MakeStudy) -> None:
        """A parameter that the space lost is still part of old pulls."""
        study = make_study("s", letters("a"), seed=2)
        study.ask()
        study.update_space(mixed_space())
        study.ask()
        file = io.StringIO()
        study.export(file, format="csv")
        first, second = csv.DictReader(file.getvalue().splitlines())
        assert (first["config.letter"], first["config.model"]) == ("a", "")
        assert second["config.letter"] == ""
        assert second["config.model"] in ("small", "large")

    def test_columns_have_what_the_reads_have(self, make_study: MakeStudy) -> None:
        """Pulls, arms and events as plain lists, with a column a parameter of any space."""
        study = make_study("s", letters("a"), seed=2)
        study.tell(study.ask(context={"user": 1}).id, 0.25)
        study.update_space(mixed_space())
        study.ask(count=3)
        pulls, arms = study.to_columns(), study.to_columns("arms")
        assert pulls["id"] == [pull.id for pull in study.pulls()]
        assert (pulls["reward"], pulls["context"][0]) == ([0.25, None, None, None], '{"user": 1}')
        assert pulls["config.letter"] == ["a", None, None, None]
        assert arms["id"] == [arm.id for arm in study.arms()]
        assert [name for name in arms if name.startswith("config.")] == [
            *(f"config.{name}" for name in mixed_space().names),
            "config.letter",
        ]
        assert study.to_columns("events")["text"] == [str(event) for event in study.events()]

    @pytest.mark.parametrize(("target", "form"), [("log.txt", None), ("log", None), ("a.csv", "x")])
    def test_an_unknown_format_is_refused(
        self, make_study: MakeStudy, tmp_path: Path, target: str, form: str | None
    ) -> None:
        """Only jsonl, csv and parquet; no file is made."""
        study = make_study("s", letters("a"), seed=2)
        before = facts_of(study)
        with pytest.raises(InvalidSetting):
            study.export(tmp_path / target, form)
        assert facts_of(study) == before
        assert list(tmp_path.glob(target)) == []
