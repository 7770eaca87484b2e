"""What happened to a study: ``imabo events``, and what ``show``, ``best`` and ``watch`` say."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

from pyarrow import parquet

from tests.cli.calls import CHANGED, STUDY, Imabo
from tests.cli.terminals import Terminal

AT = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"
NOTICED = r"rewards (of|with) .* fell from [\d.]+ to [\d.]+"


def test_events_are_lines_with_the_newest_last(anywhere: Imabo) -> None:
    done = anywhere("events", CHANGED)
    assert (done.code, done.err) == (0, "")
    created, drift, paused = done.out.splitlines()
    assert re.fullmatch(f"{AT}  created  the study was created", created)
    assert re.fullmatch(f"{AT}  drift    {NOTICED}", drift)
    assert re.fullmatch(f"{AT}  state    arm 1 was paused", paused)


def test_a_limit_keeps_the_newest_and_says_so(anywhere: Imabo) -> None:
    whole = anywhere("events", CHANGED).out.splitlines()
    assert anywhere("events", CHANGED, "--limit=3").out.splitlines() == whole
    note, *newest = anywhere("events", CHANGED, "--limit=2").out.splitlines()
    assert note.startswith("Older ones are left out")
    assert newest == whole[1:]
    events = anywhere("events", CHANGED, "--limit=2", "--json").json["events"]
    assert [event["kind"] for event in events] == ["drift", "state"]
    for wrong in ("0", "10001", "x"):
        assert anywhere("events", CHANGED, f"--limit={wrong}").code == 2
    assert anywhere("events", CHANGED, "--limit=10000").out.splitlines() == whole


def test_without_a_study_all_that_happened_is_listed(anywhere: Imabo) -> None:
    events = anywhere("events", "--json").json["events"]
    assert {event["study"] for event in events} >= {STUDY, CHANGED}
    ids = [event["id"] for event in events]
    assert ids == sorted(ids)
    lines = anywhere("events", "--kind=created", "--kind=drift").out.splitlines()
    assert len(lines) == 4
    assert f"created  {STUDY}: the study was created" in lines[0]
    assert "\x1b" not in "".join(lines)
    first = anywhere("events", "--limit=1", "--after=0", "--json").json["events"]
    assert first == events[:1]
    *_, more = anywhere("events", "--limit=2", "--after=0").out.splitlines()
    assert more == f"There are more: --after {ids[1]}"


def test_events_are_written_to_a_file_as_json_lines(anywhere: Imabo, folder: Path) -> None:
    done = anywhere("events", CHANGED, "--out=events.jsonl")
    assert (done.code, done.out) == (0, "")
    assert done.err == "3 events in events.jsonl\n"
    lines = (folder / "events.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == anywhere("events", CHANGED, "--json").json[
        "events"
    ]
    done = anywhere("events", "--kind=created", "--out=all.jsonl", "--json")
    assert done.json == {"out": "all.jsonl", "events": 3}


def test_the_ending_of_the_file_says_what_is_written(anywhere: Imabo, folder: Path) -> None:
    events = anywhere("events", CHANGED, "--json").json["events"]
    assert anywhere("events", CHANGED, "--out=events.csv").err == "3 events in events.csv\n"
    with (folder / "events.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["kind"] for row in rows] == ["created", "drift", "state"]
    assert [json.loads(row["data"]) for row in rows] == [event["data"] for event in events]
    assert [int(row["id"]) for row in rows] == [event["id"] for event in events]
    assert anywhere("events", CHANGED, "--out=events.parquet").code == 0
    table = parquet.read_table(folder / "events.parquet")
    assert table.column_names == ["id", "study", "kind", "at", "data", "text"]
    assert table["text"].to_pylist() == [event["text"] for event in events]
    assert anywhere("events", STUDY, "--kind=drift", "--out=none.parquet").code == 0
    assert parquet.read_table(folder / "none.parquet").num_rows == 0
    refused = anywhere("events", CHANGED, "--out=events.xlsx")
    assert refused.code == 1
    assert "end it in .jsonl, .csv or .parquet" in refused.err
    assert not (folder / "events.xlsx").exists()


def test_a_kind_that_there_is_not_is_refused_with_the_one_that_was_meant(anywhere: Imabo) -> None:
    for where in ([], [CHANGED]):
        refused = anywhere("events", *where, "--kind=contrl")
        assert (refused.code, refused.out) == (1, "")
        assert "'contrl'" in refused.err
        assert "created, state" in refused.err
        assert "write 'control'" in refused.err


def test_a_study_that_there_is_not_has_none(anywhere: Imabo) -> None:
    assert anywhere("events", "nothing").code == 3


def test_show_and_best_say_since_when(anywhere: Imabo) -> None:
    shown = anywhere("show", CHANGED)
    assert re.search(f"best .*rewards? since a change noticed at {AT}", shown.out)
    assert re.search(f"drift +{NOTICED}", shown.out)
    assert [event["kind"] for event in anywhere("show", CHANGED, "--json").json["events"]] == [
        "created",
        "drift",
        "state",
    ]
    best = anywhere("best", CHANGED)
    assert re.search(f"^since a change noticed at {AT}$", best.out, re.MULTILINE)
    assert anywhere("best", CHANGED, "--json").json["since"] is not None
    for command in ("show", "best"):
        assert "since a change" not in anywhere(command, STUDY).out


def test_show_begins_with_the_four_answers_and_names_arms_by_what_sets_them_apart(
    anywhere: Imabo,
) -> None:
    shown, told = anywhere("show", STUDY).out, anywhere("show", STUDY, "--json").json
    for one in told["overview"]["answers"]:
        line = rf"^  {re.escape(one['question'])} +{re.escape(one['answer'])}$"
        assert re.search(line, shown, re.MULTILINE)
    for row in told["table"]["rows"]:
        assert row["label"][:12] in shown


def test_watch_shows_the_newest_change(anywhere: Imabo) -> None:
    line = anywhere("watch", CHANGED, "--count=1").out
    assert re.search(rf"  changed \d\d:\d\d:\d\d UTC: {NOTICED}$", line.rstrip())
    document = json.loads(anywhere("watch", CHANGED, "--count=1", "--json").out)
    assert document["drift"]["kind"] == "drift"
    assert "changed" not in anywhere("watch", STUDY, "--count=1").out


def test_the_live_view_shows_the_newest_change(folder: Path) -> None:
    terminal = Terminal("watch", CHANGED, "--count=1", folder=folder)
    assert terminal.end() == 0
    assert re.search(f"last change +{AT}  drift", terminal.text)
