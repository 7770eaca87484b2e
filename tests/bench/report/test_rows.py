from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import pytest

from imabo.errors import MissingData
from imabo_bench.report import write_report
from imabo_bench.report.rows import read_results, read_run
from tests.bench.report import synthetic


def test_all_rows_and_the_manifest_are_read(folder: Path) -> None:
    results = read_results(folder)
    assert len(results.runs) == 3 * 4 * 3
    assert results.manifest["versions"]["python"] == "3.11.7"
    assert results.notes == []


def test_a_last_line_cut_off_by_a_kill_is_left_out_with_a_note(folder: Path) -> None:
    rows = folder / "rows.jsonl"
    rows.write_bytes(rows.read_bytes()[:-200])
    results = read_results(folder)
    assert len(results.runs) == 35
    assert results.notes == ["Line 36 of the rows was cut off and is left out (not JSON)."]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{}", "no field 'checkpoints'"),
        ("[]", "list indices must be integers or slices, not str"),
        (json.dumps(synthetic.row("p", "m", 0, regret=[1.0])), "columns of lengths"),
        (json.dumps(synthetic.row("p", "m", 0, played=0)), "no round was played"),
    ],
)
def test_an_unusable_line_is_left_out_with_its_reason(folder: Path, line: str, reason: str) -> None:
    rows = folder / "rows.jsonl"
    rows.write_text(line + "\n" + rows.read_text())
    results = read_results(folder)
    assert len(results.runs) == 36
    (note,) = results.notes
    assert note.startswith("Line 1 of the rows is unusable")
    assert reason in note


def test_of_rows_for_the_same_run_the_last_counts(tmp_path: Path) -> None:
    twice = [synthetic.row("p", "m", 0, best_gap=gap) for gap in (0.1, 0.2)]
    results = read_results(synthetic.write(tmp_path, twice))
    assert [run.best_gap for run in results.runs] == [0.2]
    assert results.notes == ["1 rows were written twice; the later one counts."]


def test_compressed_rows_are_read_like_plain_ones(folder: Path) -> None:
    rows = folder / "rows.jsonl"
    (folder / "rows.jsonl.gz").write_bytes(gzip.compress(rows.read_bytes()))
    rows.unlink()
    assert len(read_results(folder).runs) == 36


@pytest.mark.parametrize("content", [None, "", "not a row\n"])
def test_a_folder_without_rows_is_missing_data(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "rows.jsonl").write_text(content)
    with pytest.raises(MissingData, match=r"holds no rows.*rows\.jsonl.*imabo bench run"):
        write_report(tmp_path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "manifest.json is missing"), ("{", "not JSON"), ("[]", "it is not an object")],
)
def test_rows_without_a_manifest_are_read_with_a_note(
    folder: Path, content: str | None, reason: str
) -> None:
    manifest = folder / "manifest.json"
    manifest.unlink()
    if content is not None:
        manifest.write_text(content)
    results = read_results(folder)
    assert results.manifest == {}
    assert reason in results.notes[0]


def test_nulls_are_unknown_and_unknown_fields_do_not_matter() -> None:
    run = read_run(synthetic.row("p", "m", 0, of_a_later_version=1))
    assert math.isnan(run.simple[0])
    assert not math.isnan(run.simple[1])


def test_proposal_qualities_that_cannot_be_placed_in_time_are_dropped() -> None:
    assert len(read_run(synthetic.row("p", "m", 0, proposal_quality=[0.5])).proposal_quality) == 0


def test_the_delay_is_told_without_its_window() -> None:
    delay = {"feedback_freq": 0.2, "window_quantile": 0.95, "window": 17.3}
    run = read_run(synthetic.row("p", "m", 0, delay=delay))
    assert run.delay == "feedback_freq 0.2, window_quantile 0.95"
