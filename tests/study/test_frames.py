"""A study read with the tools people have: columns, pandas, Polars, Parquet, CSV, a notebook."""

from __future__ import annotations

import csv
import io
import json
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow.parquet
import pytest

from imabo import Choice, Float, Int, Signal, Space, Study
from imabo.errors import InvalidSetting, MissingExtra
from imabo.export import cell

TRICKY = ("=HYPERLINK(1)", "007", "NA", "1-2", 'say "hi"', "plain text", "null", "é, ü", "+1", "@x")
SPACE = Space(
    text=Choice(*TRICKY),
    odd=Choice("1", 1, True, None),
    flag=Choice(True, False),
    top_k=Int(1, 9, when={"flag": True}),
    temperature=Float(0.0, 1.0),
)


@pytest.fixture(scope="module")
def study() -> Study:
    study = Study.create("s", SPACE, seed=0)
    for number, pull in enumerate(study.ask(count=60, context={"n": 1})):
        if number % 3:
            study.tell(pull.id, number / 100)
    study.pause(1)
    return study


def test_columns_are_plain_lists_of_the_same_length(study: Study) -> None:
    pulls = list(study)
    columns = study.to_columns()
    assert columns["id"] == [pull.id for pull in pulls]
    assert columns["reward"] == [pull.reward for pull in pulls]
    assert columns["config.top_k"] == [pull.config.get("top_k") for pull in pulls]
    assert json.loads(columns["context"][0]) == {"n": 1}
    assert {len(values) for values in columns.values()} == {60}
    assert len(study.to_columns("arms")["mean"]) == study.n_arms
    events = study.to_columns("events")
    assert events["text"] == [str(event) for event in study.events()]
    with pytest.raises(InvalidSetting, match="'pulls', 'arms', 'events'"):
        study.to_columns("pull")  # type: ignore[arg-type]


def test_pandas_has_the_values_with_their_types(study: Study) -> None:
    frame = study.to_pandas()
    assert str(frame["served_at"].dtype).endswith("UTC]")
    assert str(frame["config.top_k"].dtype) == "Int64"
    assert (frame["arm"].dtype, frame["config.flag"].dtype) == ("int64", "bool")
    assert frame["reward"].notna().sum() == study.n_rewards
    grouped = frame.groupby("arm")["reward"].mean()
    arms = study.to_pandas("arms").set_index("id")
    assert arms.loc[2, "mean"] == pytest.approx(grouped[2], nan_ok=True)
    assert set(study.to_pandas("events")["kind"]) == {"created", "state"}


def test_polars_reads_what_arrow_gives(study: Study) -> None:
    frame = polars.DataFrame(polars.from_arrow(study.to_arrow()))
    assert frame["config.top_k"].to_list() == [pull.config.get("top_k") for pull in study]
    assert frame["served_at"].to_list() == [pull.served_at for pull in study]
    # Values of several kinds are JSON, so that 1 and "1" stay apart.
    odd = [None if text is None else json.loads(text) for text in frame["config.odd"]]
    assert odd == [pull.config["odd"] for pull in study]
    assert polars.DataFrame(polars.from_arrow(study.to_arrow("arms"))).height == study.n_arms
    assert study.to_arrow("events").num_rows == 2


def test_parquet_is_parquet(study: Study, tmp_path: Path) -> None:
    study.export(tmp_path / "pulls.parquet")
    found = pyarrow.parquet.read_table(tmp_path / "pulls.parquet")
    assert found.equals(study.to_arrow())
    with (tmp_path / "again").open("wb") as file:
        study.export(file, "parquet")
    assert pandas.read_parquet(tmp_path / "again")["id"].tolist() == study.to_columns()["id"]
    with pytest.raises(InvalidSetting, match="not text"):
        study.export(io.StringIO(), "parquet")
    with pytest.raises(InvalidSetting, match=r"'jsonl', 'csv' or 'parquet'.*format='parquet'"):
        study.export(tmp_path / "pulls.paruqet")


def test_a_study_without_pulls_has_the_same_columns(tmp_path: Path) -> None:
    empty = Study.create("empty", SPACE)
    empty.export(tmp_path / "pulls.parquet")
    found = pyarrow.parquet.read_table(tmp_path / "pulls.parquet")
    assert (found.num_rows, "config.flag" in found.column_names) == (0, True)
    assert list(empty.to_pandas().columns) == found.column_names


def test_csv_is_read_back_to_the_same_values(study: Study, tmp_path: Path) -> None:
    study.export(tmp_path / "pulls.csv")
    with (tmp_path / "pulls.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    pulls = list(study)
    for row, pull in zip(rows, pulls, strict=True):
        text = row["config.text"]
        assert text[0] not in "=+-@\t\r"  # what a spreadsheet would run
        assert (json.loads(text) if text.startswith('"') else text) == pull.config["text"]
    frame = pandas.read_csv(tmp_path / "pulls.csv", parse_dates=["served_at"])
    assert frame["config.flag"].tolist() == [pull.config["flag"] for pull in pulls]
    assert frame["config.temperature"].tolist() == [pull.config["temperature"] for pull in pulls]
    assert frame["served_at"].tolist() == [pull.served_at for pull in pulls]
    plain = [pull.config["text"] for pull in pulls if pull.config["text"] in ("plain text", "é, ü")]
    assert [text for text in frame["config.text"] if text in ("plain text", "é, ü")] == plain
    assert frame["reward"].isna().sum() == 20


@pytest.mark.parametrize("text", [*TRICKY, " x", "a\tb", "2024-01-01", "1e5", "12:30", "-", "x-1"])
def test_pandas_never_takes_text_for_something_else(text: str) -> None:
    read = pandas.read_csv(io.StringIO(f"a\n{_csv(cell(text))}\n"))["a"][0]
    assert (json.loads(read) if read.startswith('"') else read) == text


def _csv(text: str) -> str:
    file = io.StringIO()
    csv.writer(file).writerow([text])
    return file.getvalue().rstrip("\r\n")


def test_a_missing_library_is_named(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"imabo\[pandas\]"):
        study.to_pandas()


# --- signals ------------------------------------------------------------------------------------


def signalled() -> Study:
    """Signals that have the names of other columns, of parameters, and of nothing else."""
    space = Space({"cost": Choice("low", "high"), "signal.cost": Float(0.0, 1.0)})
    names = ("cost", "id", "signals", "config", "latency_s")
    return Study.create("s", space, seed=0, signals={name: Signal() for name in names})


def test_every_signal_has_a_column_whatever_its_name() -> None:
    study = signalled()
    first, second, third = study.ask(count=3)
    study.tell(first.id, 1.0, signals={"cost": 0.1 + 0.2, "id": 7})
    study.signal(second.id, "signals", -1.5)
    columns = study.to_columns()
    assert columns["signal.cost"] == [0.1 + 0.2, None, None]
    assert columns["signal.id"] == [7.0, None, None]
    assert columns["signal.signals"] == [None, -1.5, None]
    assert columns["id"] == [first.id, second.id, third.id]
    assert columns["config.signal.cost"] == [pull.config["signal.cost"] for pull in study]
    assert columns["signals"] == [
        '{"cost": 0.30000000000000004, "id": 7.0}',
        '{"signals": -1.5}',
        None,
    ]
    assert not any(name.startswith("signal.") for name in study.to_columns("arms"))


def test_signals_are_numbers_in_every_format_before_any_came(tmp_path: Path) -> None:
    study = signalled()
    for is_told in (False, True):
        pull = study.ask()
        if is_told:
            study.signal(pull.id, "cost", 0.1 + 0.2)
        expected = study.to_columns()["signal.cost"]
        frame = study.to_pandas()
        assert (str(frame["signal.cost"].dtype), frame["signal.cost"].sum()) == (
            "float64",
            sum(value or 0.0 for value in expected),
        )
        study.export(tmp_path / "pulls.parquet")
        read = pyarrow.parquet.read_table(tmp_path / "pulls.parquet")
        assert read.schema.field("signal.cost").type == pyarrow.float64()
        assert (read["signal.cost"].to_pylist(), read.column_names) == (expected, [*frame.columns])
        study.export(tmp_path / "pulls.csv")
        cells = pandas.read_csv(tmp_path / "pulls.csv")
        assert list(cells.columns) == list(frame.columns)
        assert [None if pandas.isna(one) else one for one in cells["signal.cost"]] == expected


def test_what_is_no_longer_declared_is_in_the_json_alone() -> None:
    study = signalled()
    study.signal(study.ask().id, "latency_s", 2.0)
    study.update(signals={"cost": Signal()})
    columns = study.to_columns()
    assert "signal.latency_s" not in columns
    assert columns["signals"] == ['{"latency_s": 2.0}']


# --- notebooks ----------------------------------------------------------------------------------


class Cells(HTMLParser):
    """The text of a document's cells; tags must be closed as they were opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.cells: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[Any]) -> None:
        assert attrs == []  # neither a script nor an address can hide there
        self.open.append(tag)
        self.tags.add(tag)
        if tag in ("td", "th", "caption"):
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.cells[-1] += data


def test_a_notebook_shows_a_study_its_space_and_its_best_arm(study: Study) -> None:
    evil = Space({"<script>": Choice("<b>", "&amp;"), "n": Int(1, 9, when={"<script>": "<b>"})})
    strange = Study.create("<img src=x>", evil, seed=0)
    for shown in (study, strange, study.space, evil, study.best()):
        text = shown._repr_html_()
        found = Cells(text)
        assert {"table", "caption", "td"} <= found.tags <= {"table", "caption", "tr", "th", "td"}
        assert len(text) < 20_000
    assert "study '<img src=x>'" in Cells(strange._repr_html_()).cells
    cells = Cells(evil._repr_html_()).cells
    assert {"<script>", "<b>, &amp;", "<script> is <b>", "1 to 9"} <= set(cells)
    ranges = Space(x=Float(0.1, 1.0, log=True), y=Choice(1, 2, ordered=True), z=Int(0, 8, step=2))
    wanted = {"0.1 to 1.0; logarithmic", "1, 2; in order", "0 to 8; step 2"}
    assert wanted <= set(Cells(ranges._repr_html_()).cells)
    assert str(study.n_rewards) in Cells(study._repr_html_()).cells
    study_best = Cells(study.best()._repr_html_()).cells
    assert f"best: arm {study.best().arm}" in study_best


def test_a_closed_study_is_still_shown() -> None:
    study = Study.create("s", SPACE)
    study.close()
    assert "Study &#x27;s&#x27;" in study._repr_html_()


def test_numbers_are_numbers_before_any_came() -> None:
    study = Study.create("s", SPACE, seed=0)
    study.ask()
    kinds = study.to_pandas().dtypes
    assert [str(kinds[name]) for name in ("reward", "propensity")] == ["float64", "float64"]
    assert str(study.to_pandas("arms").dtypes["mean"]) == "float64"
