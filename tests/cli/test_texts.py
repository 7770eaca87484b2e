"""What the command line writes: clean text, numbers, intervals, configurations, tables."""

from __future__ import annotations

from typing import Any

from imabo import Choice, Float, Space, errors
from imabo.cli.exits import exit_code
from imabo.cli.look import event_text, random_text
from imabo.cli.output import Table, clean, config_text, count, number, span, sparkline, when
from imabo.cli.step_in import read_config


def test_what_does_not_print_is_an_escape() -> None:
    assert clean("a\x1b[31mb\n") == "a\\x1b[31mb\\n"


def test_numbers_counts_and_times() -> None:
    assert (count(1234567), count(1, "arm"), count(2, "arm")) == ("1,234,567", "1 arm", "2 arms")
    shown = [number(value) for value in (0.123456, None, 2.0, 54321.0)]
    assert shown == ["0.1235", "-", "2", "54,321"]
    assert (span([0.25, 1 / 3]), span([None, 1.0]), span(None)) == (
        "[0.25, 0.3333]",
        "[-inf, 1]",
        "",
    )
    assert when(0.0) == "1970-01-01 00:00:00 UTC"


def test_configurations_and_events_on_a_line() -> None:
    config = {"model": "large", "x": 0.123456, "rerank": True}
    assert config_text(config) == "model=large x=0.1235 rerank=true"
    at = "1970-01-01T00:00:00.500000Z"
    event = {"kind": "state", "at": at, "data": {}, "text": "arm 3 was paused"}
    assert event_text(event) == "1970-01-01 00:00:00 UTC  state    arm 3 was paused"


def test_serving_at_random_is_said_once_it_is_known() -> None:
    overview: dict[str, Any] = {"random_mean": None, "random_interval": None}
    overview["n_random_more"] = 1300
    more = "more requests that try something new at random"
    assert random_text(overview) == f"not known yet: about 1,300 {more}"
    overview |= {"random_interval": [0.1, 0.83333], "n_random_more": 120}
    assert random_text(overview) == f"not known yet, between 0.1 and 0.8333: about 120 {more}"
    overview |= {"random_mean": 0.5, "random_interval": [0.4, 0.6], "n_random_more": 0}
    assert random_text(overview) == "0.5 [0.4, 0.6]"


def test_a_line_of_points_and_a_table() -> None:
    assert sparkline([0.0, 1.0, 2.0, 3.0], 10, plain=True) == "_-+#"
    assert sparkline([1.0, 1.0], 10, plain=True) == "--"
    assert len(sparkline(range(100), 10)) == 10
    rows = [["1", "0.5"], ["12", "0.25"]]
    table = Table(["arm", "mean"], frozenset({"arm"}), rows=list(rows))
    assert table.lines() == ["arm  mean", "  1  0.5", " 12  0.25"]


def test_pairs_and_json_give_the_same_configuration() -> None:
    space = Space(model=Choice("small", "large"), x=Float(0, 1))
    pairs = read_config(["model=small", "x=0.5"], space)
    assert pairs == read_config(['{"model": "small", "x": 0.5}'], space)


def test_what_is_not_found_has_a_code_of_its_own() -> None:
    assert exit_code(errors.UnknownStudy("no study is named 'x'", "there is none", "make it")) == 3
